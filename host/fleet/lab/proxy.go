package lab

import (
	"crypto/tls"
	"errors"
	"io"
	"log"
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
	p := &Proxy{left: map[string]int{}}
	p.Lab = front(l, nil, func(engine *httputil.ReverseProxy) http.Handler {
		engine.ModifyResponse = func(r *http.Response) error { return errors.Join(p.lose(r), late(r)) }
		return engine
	})
	return p
}

// front begins a server in front of the engine, in the clear or with TLS. It gives the lab of those
// who ask the engine by it.
func front(l *Lab, secure *tls.Config, with func(*httputil.ReverseProxy) http.Handler) *Lab {
	l.Helper()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.Fatal(err)
	}
	clear := new(http.Protocols)
	clear.SetUnencryptedHTTP2(true)
	engine := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: l.Address()})
	engine.Transport = &http.Transport{Protocols: clear}
	engine.FlushInterval = -1
	engine.ModifyResponse = late
	engine.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	s := &http.Server{Handler: with(engine), Protocols: clear, ErrorLog: log.New(io.Discard, "", 0)}
	l.Cleanup(func() { _ = s.Close() }) // nobody asks any more
	serve := func() error { return s.Serve(socket) }
	if secure != nil {
		s.TLSConfig, s.Protocols = secure, new(http.Protocols)
		s.Protocols.SetHTTP2(true)
		serve = func() error { return s.ServeTLS(socket, "", "") }
	}
	go func() { _ = serve() }() // it ends with the test
	return &Lab{
		TB: l.TB, Programs: l.Programs, Dir: l.Dir, LogURL: l.LogURL, IP: "127.0.0.1", Port: socket.Addr().(*net.TCPAddr).Port,
		hosts: l.hosts,
	}
}

// late has the status of a reply that is nothing else come behind it, as that of every other does:
// a proxy does not pass on that the header is all.
func late(r *http.Response) error {
	for _, name := range []string{"Grpc-Status", "Grpc-Message", "Grpc-Status-Details-Bin"} {
		if v, ok := r.Header[name]; ok {
			if r.Trailer == nil {
				r.Trailer = http.Header{}
			}
			r.Trailer[name] = v
			delete(r.Header, name)
		}
	}
	return nil
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
