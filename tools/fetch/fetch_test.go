package fetch

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/tools/toolstest"
)

const publicIP = "93.184.216.34"

// world is an internet of one server: names resolve as the test says, and every address that is
// dialled leads to it.
type world struct {
	t     *testing.T
	names map[string][]string
	mu    sync.Mutex
	dials []string
	to    netip.AddrPort
}

func newWorld(t *testing.T, at net.Addr) *world {
	return &world{
		t: t, to: netip.MustParseAddrPort(at.String()),
		names: map[string][]string{"example.com": {publicIP}, "other.example": {publicIP}},
	}
}

func (w *world) options() Options {
	return Options{
		Agent: "agent/test", own: func() []netip.Prefix { return nil },
		lookup: func(_ context.Context, _, host string) ([]netip.Addr, error) {
			var list []netip.Addr
			for _, a := range w.names[host] {
				list = append(list, netip.MustParseAddr(a))
			}
			return list, nil
		},
		route: func(a netip.AddrPort) netip.AddrPort {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.dials = append(w.dials, a.String())
			return w.to
		},
	}
}

func (w *world) dialled() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.dials, " ")
}

func serve(t *testing.T, h http.HandlerFunc) *world {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return newWorld(t, s.Listener.Addr())
}

// speak is a server that says the given bytes to every connection once it has read a request's
// headers.
func speak(t *testing.T, say func(c net.Conn)) *world {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					say(c)
				}
			})
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
		all.Wait()
	})
	return newWorld(t, l.Addr())
}

func do(t *testing.T, o Options, r Request) (*Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return o.Do(ctx, r)
}

func TestDo(t *testing.T) {
	var seen *http.Request
	var body string
	w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		seen, body = r, string(b)
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Set-Cookie", "a=b")
		w.WriteHeader(201)
		fmt.Fprint(w, "made")
	})
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	got, err := do(t, w.options(), Request{
		URL: "http://example.com/x?y=z#part", Method: "PUT", Body: "hello", Key: "k-1", Headers: map[string]string{"X-A": "b", "user-agent": "mine"},
	})
	if err != nil || got.Status != 201 || string(got.Body) != "made" || !got.Sent || got.Hops != 0 || got.First != 201 {
		t.Fatalf("%+v %v", got, err)
	}
	if seen.Host != "example.com" || seen.RequestURI != "/x?y=z" || body != "hello" || seen.ContentLength != 5 ||
		seen.Header.Get("Idempotency-Key") != "k-1" || seen.Header.Get("X-A") != "b" || seen.UserAgent() != "mine" || seen.Method != "PUT" {
		t.Errorf("%+v", seen)
	}
	if _, err = do(t, w.options(), Request{URL: "http://example.com/", Key: "k-1"}); err != nil {
		t.Fatal(err)
	}
	if seen.Header.Get("Idempotency-Key") != "" || seen.UserAgent() != "agent/test" || seen.Header.Get("Cookie") != "" || seen.Method != "GET" {
		t.Errorf("%+v", seen.Header)
	}
}

// A name is judged by the address that is dialled, each time (RELIABILITY S14).
func TestRebinding(t *testing.T) {
	w := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	o := w.options()
	asked := 0
	o.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
		asked++
		if asked == 1 {
			return []netip.Addr{netip.MustParseAddr(publicIP)}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	if got, err := do(t, o, Request{URL: "http://rebound.example/"}); err != nil || string(got.Body) != "hello" || asked != 1 {
		t.Fatalf("%+v %v, resolved %d times", got, err, asked)
	}
	got, err := do(t, o, Request{URL: "http://rebound.example/", Method: "POST"})
	if err == nil || got.Sent || !strings.Contains(err.Error(), "127.0.0.1 is this machine") || !strings.Contains(err.Error(), `private = ["rebound.example:80"]`) {
		t.Errorf("%+v %v", got, err)
	}
	if d := w.dialled(); d != publicIP+":80" {
		t.Errorf("dialled %s", d)
	}
}

func TestNamesOfPrivateAddresses(t *testing.T) {
	w := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	for _, a := range []string{
		"127.0.0.1", "::1", "::ffff:127.0.0.1", "10.0.0.1", "169.254.169.254", "100.100.100.200", "0.0.0.0", "fd00::1", "64:ff9b::7f00:1", "fe80::1",
	} {
		w.names["bad.example"] = []string{a}
		if got, err := do(t, w.options(), Request{URL: "http://bad.example/"}); err == nil || got.Sent {
			t.Errorf("%s was asked", a)
		}
	}
	if d := w.dialled(); d != "" {
		t.Errorf("dialled %s", d)
	}
	// Of several addresses only those of the internet are dialled.
	w.names["dual.example"] = []string{"::1", "127.0.0.1", publicIP, "10.0.0.1"}
	if got, err := do(t, w.options(), Request{URL: "http://dual.example/"}); err != nil || string(got.Body) != "hello" {
		t.Errorf("%+v %v", got, err)
	}
	if d := w.dialled(); d != publicIP+":80" {
		t.Errorf("dialled %s", d)
	}
	// The resolver's form of an IPv4 address is the IPv4 address.
	w.names["mapped.example"] = []string{"::ffff:" + publicIP}
	if got, err := do(t, w.options(), Request{URL: "http://mapped.example/"}); err != nil || string(got.Body) != "hello" {
		t.Errorf("%+v %v", got, err)
	}
}

// What is about to be dialled is looked at once more by the address that the system gets.
func TestControl(t *testing.T) {
	d := dialer{Options{own: func() []netip.Prefix { return nil }}, Target{"http", "example.com", 80}}
	for address, ok := range map[string]bool{"127.0.0.1:80": false, "[::1]:80": false, "[::ffff:10.0.0.1]:80": false, publicIP + ":80": true, "x": false} {
		if err := d.control("tcp", address, nil); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	got, err := do(t, Options{lookup: func(context.Context, string, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}}, Request{URL: "http://example.com:" + s.URL[strings.LastIndex(s.URL, ":")+1:]})
	if err == nil || got.Sent {
		t.Errorf("%+v", got)
	}
	// And with the person's permission it is asked.
	at := strings.TrimPrefix(s.URL, "http://")
	host, port := netip.MustParseAddrPort(at).Addr(), netip.MustParseAddrPort(at).Port()
	o := Options{Private: func() []Private { return []Private{{Host: host.String(), Port: port}} }}
	if got, err := do(t, o, Request{URL: s.URL}); err != nil || got.Status != 404 {
		t.Errorf("%+v %v", got, err)
	}
}

func TestRedirects(t *testing.T) {
	var methods []string
	w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		methods = append(methods, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Idempotency-Key")+r.Header.Get("Content-Type")+string(b)))
		to, code := r.URL.Query().Get("to"), 302
		fmt.Sscan(r.URL.Query().Get("code"), &code)
		if to != "" {
			w.Header()["Location"] = []string{to}
			w.WriteHeader(code)
			fmt.Fprint(w, "moved")
			return
		}
		fmt.Fprint(w, "end")
	})
	for _, c := range []struct {
		method, code, to string
		status           int
		left             string
		requests         string
	}{
		{"GET", "301", "/end", 200, "", "GET /, GET /end"},
		{"GET", "308", "http://EXAMPLE.com:80/end", 200, "", "GET /, GET /end"},
		{"HEAD", "307", "/end", 200, "", "HEAD /, HEAD /end"},
		{"GET", "302", "http://169.254.169.254/latest", 302, "points to http://169.254.169.254/latest", "GET /"},
		{"GET", "302", "http://[::ffff:127.0.0.1]/", 302, "another place", "GET /"},
		{"GET", "302", "//other.example/a", 302, "points to http://other.example/a, which is another place", "GET /"},
		{"GET", "302", "http://example.com:81/", 302, "another place", "GET /"},
		{"GET", "302", "https://example.com:8443/", 302, "another place", "GET /"},
		{"GET", "302", "file:///etc/passwd", 302, "cannot be used", "GET /"},
		{"GET", "302", "http://u:p@example.com/", 302, "cannot be used", "GET /"},
		{"GET", "302", "http://2130706433/", 302, "cannot be used", "GET /"},
		{"GET", "302", "http://exa mple/", 302, "cannot be read", "GET /"},
		{"GET", "304", "/end", 304, "", "GET /"},
		{"GET", "300", "/end", 300, "", "GET /"},
		{"POST", "303", "/end", 200, "", "POST / keytext/xbody, GET /end"},
		{"POST", "302", "/end", 200, "", "POST / keytext/xbody, GET /end"},
		{"POST", "307", "/end", 307, "sent again to http://example.com/end; what writes is not sent twice", "POST / keytext/xbody"},
		{"POST", "308", "/end", 308, "not sent twice", "POST / keytext/xbody"},
		{"POST", "303", "http://other.example/end", 303, "another place", "POST / keytext/xbody"},
		{"DELETE", "302", "/end", 302, "not sent twice", "DELETE / keytext/xbody"},
		{"PUT", "303", "/end", 200, "", "PUT / keytext/xbody, GET /end"},
	} {
		methods = nil
		r := Request{URL: "http://example.com/?code=" + c.code + "&to=" + strings.NewReplacer("&", "%26", " ", "%20").Replace(c.to), Method: c.method}
		if Writes(c.method) {
			r.Body, r.Key, r.Headers = "body", "key", map[string]string{"Content-Type": "text/x"}
		}
		got, err := do(t, w.options(), r)
		if err != nil || got.Status != c.status || !strings.Contains(got.Left, c.left) || (c.left == "") != (got.Left == "") {
			t.Errorf("%s %s %s: %v, %+v", c.method, c.code, c.to, err, got)
		}
		if all := strings.Join(methods, ", "); all != c.requests {
			t.Errorf("%s %s %s: the server got %s", c.method, c.code, c.to, all)
		}
	}
	methods = nil
	if got, err := do(t, w.options(), Request{URL: "http://example.com/?to=?to=?to=/"}); err != nil || got.Hops != 3 {
		t.Errorf("%+v %v", got, err)
	}
}

// A chain of redirects ends, and a name that comes to lead elsewhere on the way is judged again.
func TestRedirectChains(t *testing.T) {
	n := 0
	w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		n++
		http.Redirect(w, r, fmt.Sprintf("/%d", n), http.StatusFound)
	})
	got, err := do(t, w.options(), Request{URL: "http://example.com/"})
	if err != nil || n != 6 || got.Hops != 5 || got.Status != 302 || !strings.Contains(got.Left, "5 redirects were followed") {
		t.Errorf("%d requests: %+v %v", n, got, err)
	}
	n = 0
	o := w.options()
	o.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
		if n == 0 {
			return []netip.Addr{netip.MustParseAddr(publicIP)}, nil
		}
		return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, nil
	}
	got, err = do(t, o, Request{URL: "http://example.com/", Method: "POST"})
	if err == nil || n != 1 || !got.Sent || got.First != 302 || !strings.Contains(err.Error(), "metadata service") {
		t.Errorf("%d requests: %+v %v", n, got, err)
	}
}

// Over TLS the name is verified, HTTP/2 is spoken for reads and HTTP/1.1 for what writes, and http
// may lead to https.
func TestTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Method, " ", r.Proto) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	w := newWorld(t, s.Listener.Addr())
	o := w.options()
	got, err := do(t, o, Request{URL: "https://example.com/", Method: "POST"})
	if err == nil || got.Sent || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("%+v %v", got, err)
	}
	o.roots = x509.NewCertPool()
	o.roots.AddCert(s.Certificate())
	for method, want := range map[string]string{"GET": "GET HTTP/2.0", "POST": "POST HTTP/1.1"} {
		if got, err := do(t, o, Request{URL: "https://example.com/", Method: method}); err != nil || string(got.Body) != want {
			t.Errorf("%s %v", got.Body, err)
		}
	}
	if _, err := do(t, o, Request{URL: "https://other.example/"}); err == nil {
		t.Error("a certificate of another name was taken")
	}
	plain := httptest.NewServer(http.RedirectHandler("https://example.com/", http.StatusMovedPermanently))
	defer plain.Close()
	o.route = func(a netip.AddrPort) netip.AddrPort {
		if a.Port() == 80 {
			return netip.MustParseAddrPort(plain.Listener.Addr().String())
		}
		return w.to
	}
	if got, err := do(t, o, Request{URL: "http://example.com/"}); err != nil || got.URL != "https://example.com/" || got.Hops != 1 {
		t.Errorf("%+v %v", got, err)
	}
}

func packed(t *testing.T, make func(io.Writer) io.WriteCloser, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := make(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zip(w io.Writer) io.WriteCloser  { return gzip.NewWriter(w) }
func zlb(w io.Writer) io.WriteCloser  { return zlib.NewWriter(w) }
func bare(w io.Writer) io.WriteCloser { f, _ := flate.NewWriter(w, 9); return f }

func TestCodings(t *testing.T) {
	bomb := packed(t, zip, make([]byte, 64<<20))
	for _, c := range []struct {
		coding string
		body   []byte
		want   string
		cut    bool
		broken bool
	}{
		{"gzip", packed(t, zip, []byte("hello")), "hello", false, false},
		{"deflate", packed(t, zlb, []byte("hello")), "hello", false, false},
		{"deflate", packed(t, bare, []byte("hello")), "hello", false, false},
		{"GZIP", packed(t, zip, []byte("hello")), "hello", false, false},
		{"identity", []byte("hello"), "hello", false, false},
		{"gzip", nil, "", false, false},
		{"gzip", []byte("not gzip at all"), "", false, true},
		{"gzip", packed(t, zip, []byte("hello"))[:20], "", false, true},
		{"gzip", bomb, strings.Repeat("\x00", 1000), true, false},
		{"gzip", bytes.Repeat(packed(t, zip, nil), 200_000), "", true, false}, // members that hold nothing
		{"br", []byte("hello"), "hello", false, false},
		{"gzip, gzip", []byte("hello"), "hello", false, false},
	} {
		w := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", c.coding)
			_, _ = w.Write(c.body) // the client may have gone
		})
		got, err := do(t, w.options(), Request{URL: "http://example.com/", MaxBytes: 1000})
		if err != nil || got.Cut != c.cut || (got.Broken != nil) != c.broken || !c.broken && string(got.Body) != c.want {
			t.Errorf("%s %.20q: %v, cut %v, broken %v, %d bytes", c.coding, c.body, err, got.Cut, got.Broken, len(got.Body))
		}
		if known := c.coding == "br" || c.coding == "gzip, gzip"; known != (got.Coded != "") {
			t.Errorf("%s: %+v", c.coding, got.Coded)
		}
	}
}

// The bound counts what is taken: a body of just so many bytes is whole, and an endless one ends.
func TestSizes(t *testing.T) {
	for _, n := range []int{999, 1000, 1001} {
		w := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", n)) })
		got, err := do(t, w.options(), Request{URL: "http://example.com/", MaxBytes: 1000})
		if err != nil || len(got.Body) != min(n, 1000) || got.Cut != (n > 1000) || got.Broken != nil {
			t.Errorf("%d: %d bytes, cut %v, %v", n, len(got.Body), got.Cut, err)
		}
	}
	w := speak(t, func(c net.Conn) {
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\n\r\n")
		for {
			if _, err := c.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
	})
	if got, err := do(t, w.options(), Request{URL: "http://example.com/", MaxBytes: 1 << 40}); err != nil || len(got.Body) != MaxBytes || !got.Cut {
		t.Errorf("%d bytes, cut %v, %v", len(got.Body), got.Cut, err)
	}
}

// A server that does not answer, or byte by byte, or breaks off, holds nobody up.
func TestSlowAndBroken(t *testing.T) {
	hang := func(c net.Conn) { _, _ = io.Copy(io.Discard, c) } // until the client goes
	for name, c := range map[string]struct {
		say    func(c net.Conn)
		method string
		err    string
		broken string
		body   string
	}{
		"silent":      {say: hang, err: "the time is up: 1s for the whole request"},
		"silent post": {say: hang, method: "POST", err: "the time is up"},
		"slow loris": {say: func(c net.Conn) {
			for {
				if _, err := fmt.Fprint(c, "H"); err != nil {
					return
				}
				hang(c)
			}
		}, err: "the time is up"},
		"slow body": {say: func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
			hang(c)
		}, broken: "no byte for 100ms", body: "abc"},
		"short body": {say: func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
		}, broken: "unexpected EOF", body: "abc"},
		"broken chunks": {say: func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n")
		}, broken: "chunk", body: "abc"},
		"no headers":      {say: func(net.Conn) {}, err: "EOF"},
		"no http":         {say: func(c net.Conn) { fmt.Fprint(c, "SSH-2.0-x\r\n") }, err: "malformed HTTP"},
		"header flood":    {say: func(c net.Conn) { flood(c, "HTTP/1.1 200 OK\r\n", "X-Y: "+strings.Repeat("z", 1000)+"\r\n") }, err: "header"},
		"one long header": {say: func(c net.Conn) { flood(c, "HTTP/1.1 200 OK\r\nX: ", strings.Repeat("z", 1000)) }, err: "header"},
		"early hints":     {say: func(c net.Conn) { flood(c, "", "HTTP/1.1 103 Early Hints\r\n\r\n") }, err: "header"},
		"two lengths": {say: func(c net.Conn) {
			fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab")
		}, err: "Content-Length"},
	} {
		w := speak(t, c.say)
		o := w.options()
		timeout := 20 * time.Second
		if strings.Contains(c.err, "time") {
			timeout = time.Second
		}
		if strings.Contains(c.broken, "no byte") {
			o.idle = 100 * time.Millisecond
		}
		got, err := do(t, o, Request{URL: "http://example.com/", Timeout: timeout, Method: c.method})
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || c.err == "" && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c.broken != "" && (got.Broken == nil || !strings.Contains(got.Broken.Error(), c.broken) || string(got.Body) != c.body) {
			t.Errorf("%s: %v, %q", name, got.Broken, got.Body)
		}
		if !got.Sent {
			t.Errorf("%s: it is not said that the request may have left", name)
		}
		if d := w.dialled(); strings.Count(d, ":80") != 1 {
			t.Errorf("%s: dialled %s", name, d)
		}
	}
}

func flood(c net.Conn, first, again string) {
	fmt.Fprint(c, first)
	for range 100_000 {
		if _, err := fmt.Fprint(c, again); err != nil {
			return
		}
	}
}

// What never left is told from what may have (DESIGN 7: applied no, and unknown).
func TestSent(t *testing.T) {
	w := newWorld(t, toolstest.Unheard(t))
	for _, url := range []string{"http://example.com/", "http://nowhere.example/", "http://10.0.0.1/", "https://example.com/"} {
		if got, err := do(t, w.options(), Request{URL: url, Method: "POST"}); err == nil || got.Sent {
			t.Errorf("%s: %+v", url, got)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got, err := w.options().Do(ctx, Request{URL: "http://example.com/", Method: "POST"}); !errors.Is(err, context.Canceled) || got.Sent {
		t.Errorf("%v %+v", err, got)
	}
	// A host that stops on the way is reported as that, so that a read is left to be asked again.
	ctx, cancel = context.WithCancel(context.Background())
	w = speak(t, func(c net.Conn) {
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc")
		cancel()
		_, _ = io.Copy(io.Discard, c) // until the client goes
	})
	if got, err := w.options().Do(ctx, Request{URL: "http://example.com/"}); !errors.Is(err, context.Canceled) || !got.Sent {
		t.Errorf("%v %+v", err, got)
	}
}

func TestNoBody(t *testing.T) {
	w := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Length", "1000")
		if r.Method != "HEAD" {
			w.Header().Del("Content-Length")
			w.WriteHeader(204)
		}
	})
	for _, method := range []string{"HEAD", "GET", "DELETE"} {
		got, err := do(t, w.options(), Request{URL: "http://example.com/", Method: method})
		if err != nil || got.Broken != nil || len(got.Body) != 0 || got.Cut {
			t.Errorf("%s: %+v %v", method, got, err)
		}
	}
}
