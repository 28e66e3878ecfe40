package command_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdPages starts a web server over the folder site of the script, and ends it with the script:
//
//	pages FILE...  sets $PAGES to its address, $PAGES_HOST to its host and port,
//	               and writes both into the files
//
// It notes every request in pages.log: method, path, key. A request that writes is answered
// with 201. One below /hold is answered once the file let is there; one below /away leads to
// another host.
func cmdPages(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: pages FILE...")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	p := &pages{work: ts.Getenv("WORK")}
	s := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	ts.Defer(func() {
		if err := s.Close(); err != nil {
			ts.Logf("end the web server: %v", err)
		}
		<-ended
	})
	ts.Setenv("PAGES", "http://"+l.Addr().String())
	ts.Setenv("PAGES_HOST", l.Addr().String())
	into := strings.NewReplacer("$PAGES_HOST", l.Addr().String(), "$PAGES", "http://"+l.Addr().String())
	for _, file := range args {
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(into.Replace(ts.ReadFile(file))), 0o600))
	}
}

type pages struct {
	work string
	mu   sync.Mutex
}

func (p *pages) note(r *http.Request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(p.work, "pages.log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s %s %s\n", r.Method, r.URL.Path, r.Header.Get("Idempotency-Key"))
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}

// ServeHTTP answers one request.
func (p *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := p.note(r); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if strings.HasPrefix(r.URL.Path, "/hold") {
		again := time.NewTicker(5 * time.Millisecond)
		defer again.Stop()
		for {
			if _, err := os.Stat(filepath.Join(p.work, "let")); err == nil {
				break
			}
			select {
			case <-again.C:
			case <-r.Context().Done():
				return
			}
		}
	}
	switch {
	case strings.HasPrefix(r.URL.Path, "/away"):
		http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintln(w, "made")
	case strings.HasPrefix(r.URL.Path, "/hold"):
		fmt.Fprintln(w, "held")
	default:
		http.FileServer(http.Dir(filepath.Join(p.work, "site"))).ServeHTTP(w, r)
	}
}
