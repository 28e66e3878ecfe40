package serve

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"agent/host/serve/holder"
	"agent/host/view"
)

// DefaultPort is that of the page.
const DefaultPort = 7433

// CheckPort refuses a number that is no port.
func CheckPort(n int) error {
	if n < 0 || n > 65535 {
		return errors.New("choose a port from 1 to 65535, or 0 to have one chosen")
	}
	return nil
}

// door is where browsers come in, once the page is wanted: a port of the loopback addresses alone.
type door struct {
	serve func(net.Listener)

	mu       sync.Mutex
	port     int // 0: it was not opened
	shutting bool
}

// listen opens the door at a port, or at one that the system chooses. Where it is open, it stays
// where it is.
func (d *door) listen(port int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.shutting:
		return http.ErrServerClosed
	case d.port != 0:
		return nil
	}
	open, err := loopback(port)
	if err != nil {
		return err
	}
	d.port = open[0].Addr().(*net.TCPAddr).Port
	for _, l := range open {
		d.serve(l)
	}
	return nil
}

// at is the port; 0 where the door was not opened.
func (d *door) at() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.port
}

// shut has the door opened no more. What is open is closed with the server.
func (d *door) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shutting = true
}

// address is that of the page; empty where it is not shown.
func (d *door) address() string {
	if port := d.at(); port != 0 {
		return fmt.Sprintf("http://127.0.0.1:%d", port)
	}
	return ""
}

// loopback listens on the loopback address and, where this machine has it, on that of IPv6: a
// browser takes localhost for either, so nobody else may answer at one of them.
func loopback(port int) ([]net.Listener, error) {
	const tries = 10 // of ports that the system chooses, each free at one of the addresses at least
	for i := 1; ; i++ {
		first, err := listenAt("127.0.0.1", port)
		if err != nil {
			return nil, err
		}
		second, err := listenAt("::1", first.Addr().(*net.TCPAddr).Port)
		taken := errors.As(err, new(*PortError))
		switch {
		case err == nil:
			return []net.Listener{first, second}, nil
		case !taken: // there is no IPv6
			return []net.Listener{first}, nil
		}
		err = errors.Join(err, first.Close())
		if port != 0 || i == tries {
			return nil, err
		}
	}
}

func listenAt(ip string, port int) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(port)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, &PortError{IP: ip, Port: port, Holder: holder.Of(port, path.Join("locks", lockName)), Asked: "agent serve --web"}
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("show the page: port %d is not for programs of ordinary users; choose one from 1024 with --port, or 0 to have one chosen", port)
	case err != nil:
		return nil, fmt.Errorf("listen on port %d of %s: %w", port, ip, err)
	}
	return l, nil
}

// PortError says that another process has the port of the page.
type PortError struct {
	IP     string
	Port   int
	Holder holder.Holder
	Asked  string // the command that wanted the page
}

func (e *PortError) Error() string {
	return fmt.Sprintf("show the page: %s listens on port %d of %s", e.Holder, e.Port, e.IP)
}

// Fixes are the commands that choose another port, and the one that shows the page which is there.
func (e *PortError) Fixes() []view.Fix {
	all := []view.Fix{{Does: "any free port", Command: e.Asked + " --port 0"}, {Does: "one you choose", Command: e.Asked + " --port N"}}
	if e.Holder.State != "" {
		all = append(all, view.Fix{Does: "the page there", Command: "AGENT_HOME=" + view.ShellWord(e.Holder.State) + " agent web"})
	}
	return all
}

// near says whether the process at the other end of a connection is this user's.
func near(c net.Conn) bool {
	from, here := c.RemoteAddr().(*net.TCPAddr)
	if !here {
		return ours(c)
	}
	to, here := c.LocalAddr().(*net.TCPAddr)
	return here && from.IP.IsLoopback() && neighbour(plain(from), plain(to))
}

func plain(a *net.TCPAddr) netip.AddrPort {
	at := a.AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

// portOf is the port at which a request came in; 0 for the socket.
func portOf(r *http.Request) int {
	if at, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok {
		return at.Port
	}
	return 0
}

// hosts are the names by which this server may be called at a port; 0 is the socket, which has
// none.
func hosts(port int) []string {
	names := []string{"localhost", "127.0.0.1", "[::1]"}
	if port == 0 {
		return names
	}
	with := slices.Clone(names)
	for i := range with {
		with[i] += ":" + strconv.Itoa(port)
	}
	if port == 80 { // which a browser leaves out
		return append(with, names...)
	}
	return with
}

func wrongHost(port int) *problem {
	p := &problem{Code: "host", Detail: "Host must be localhost, 127.0.0.1 or [::1]"}
	if port != 0 {
		p.Detail = fmt.Sprintf("this is http://127.0.0.1:%d, and answers by no other name or port; from another machine, forward this port to the same one there", port)
		p.Next = []string{fmt.Sprintf("ssh -L %d:127.0.0.1:%d HOST", port, port)}
	}
	return p
}

// elapsed measures time since now, by a clock that nobody sets.
func elapsed() func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}
