package lab

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
)

// Proxy is between some clients and the engine, and loses replies.
type Proxy struct {
	*Lab // of the clients: it asks the engine by the proxy

	mu   sync.Mutex
	left map[string]int // replies that are still to be lost, by the method
	lost int
}

// Proxy begins a proxy in front of the engine.
func (l *Lab) Proxy() *Proxy {
	l.Helper()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.Fatal(err)
	}
	p := &Proxy{left: map[string]int{}}
	p.Lab = &Lab{TB: l.TB, Programs: l.Programs, Dir: l.Dir, LogURL: l.LogURL, IP: "127.0.0.1", Port: socket.Addr().(*net.TCPAddr).Port}
	clear := new(http.Protocols)
	clear.SetUnencryptedHTTP2(true)
	engine := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: l.Address()})
	engine.Transport = &http.Transport{Protocols: clear}
	engine.FlushInterval = -1
	engine.ModifyResponse = p.lose
	engine.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	s := &http.Server{Handler: engine, Protocols: clear}
	l.Cleanup(func() { _ = s.Close() })
	go func() { _ = s.Serve(socket) }() // it ends with the test
	return p
}

// Lose has the next replies to a method be lost, after the engine has done what it was asked.
func (p *Proxy) Lose(method string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left[method] = n
}

// Lost is how many replies were lost.
func (p *Proxy) Lost() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// lose is called with each reply.
func (p *Proxy) lose(r *http.Response) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	method := r.Request.URL.Path[strings.LastIndex(r.Request.URL.Path, "/")+1:]
	if p.left[method] == 0 {
		return nil
	}
	p.left[method]--
	p.lost++
	return http.ErrAbortHandler
}
