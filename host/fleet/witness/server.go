package witness

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"agent/fleet/log"
	"agent/fleet/seal"
	"agent/host/witness/line"
)

// Options say for whom a witness is.
type Options struct {
	By        string // this host
	Namespace string // of the log

	// Allow refuses the runs that this host may not drive, such as one that moved away; nil allows
	// every run. It is asked at each request.
	Allow func(root string) error

	// Hold has a request that would go to the log wait, and says why; "" for none. The driver asks
	// again. nil holds nothing.
	Hold func(line.Request) string

	// On sees each request with its answer, those of one root in order, before the driver gets
	// it. It must not wait for the driver.
	On func(Event)

	Now     func() time.Time // nil for the system's clock
	Timeout time.Duration    // for one request to the log; 0 for 8 seconds
}

// Event is a request that was answered.
type Event struct {
	Op    string
	Root  string
	Agent string // version of the driver, in a hello
	Place int64
	Why   string
	Epoch int64
	Reply line.Reply
	Took  time.Duration
}

// server answers drivers.
type server struct {
	log log.Log
	key seal.Key
	Options
	packers seal.Packers

	mu       sync.Mutex
	families map[string]*family
	since    time.Time // the log could not be reached; zero if it can
	open     map[net.Conn]bool
	ended    bool
}

// Serve answers the drivers that connect until the context ends, and then closes the listener and
// every connection. The error is that of the listener.
func Serve(ctx context.Context, l net.Listener, logs log.Log, k seal.Key, o Options) error {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Timeout == 0 {
		o.Timeout = 8 * time.Second // three of them are less than a driver waits
	}
	s := &server{log: logs, key: k, Options: o, families: map[string]*family{}, open: map[net.Conn]bool{}}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	closed := make(chan error, 1)
	go func() {
		<-ctx.Done()
		closed <- l.Close()
		s.end()
	}()
	var drivers sync.WaitGroup
	err := s.accept(ctx, l, &drivers)
	ended := ctx.Err() != nil
	stop()
	drivers.Wait()
	if unclosed := <-closed; !errors.Is(unclosed, net.ErrClosed) {
		err = errors.Join(err, unclosed)
	}
	if ended && errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (s *server) accept(ctx context.Context, l net.Listener, drivers *sync.WaitGroup) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		if !s.begin(c) {
			_ = c.Close() // the server ends
			continue
		}
		drivers.Go(func() {
			s.talk(ctx, c)
			s.mu.Lock()
			delete(s.open, c)
			s.mu.Unlock()
		})
	}
}

func (s *server) begin(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[c] = !s.ended
	return !s.ended
}

func (s *server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for c := range s.open {
		_ = c.Close() // whoever talks on it hears of it
	}
}

// reached notes whether the log answered, and gives since when it does not.
func (s *server) reached(yes bool) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case yes:
		s.since = time.Time{}
	case s.since.IsZero():
		s.since = s.Now()
	}
	return s.since
}

// hold gives the family of a root to a connection that names it; drop takes it back, and forgets
// it with the last one.
func (s *server) hold(root string) *family {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.families[root]
	if f == nil {
		f = newFamily(s, root)
		s.families[root] = f
	}
	f.held++
	return f
}

func (s *server) drop(f *family) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.held--; f.held == 0 {
		delete(s.families, f.root)
	}
}
