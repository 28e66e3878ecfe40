// Package serve shows runs to programs and takes their answers: an HTTP server on a unix socket in
// the state folder. It drives no run, and has runs go on in processes of their own. What it shows
// comes from the journal and the live files, and what it is given becomes a row of the database,
// which whoever drives the run takes up. So its end touches no run, however it comes.
//
// A request is looked at in this order, and the first thing that is wrong refuses it: the process
// at the other end, Host, Origin, the credential, the method, the type of the body, its size, its
// JSON.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"agent/host"
	"agent/host/app"
	"agent/host/carry"
	"agent/host/launch"
	"agent/host/serve/login"
	"agent/host/serve/once"
	"agent/host/watch"
)

// Options say what is served.
type Options struct {
	App    *app.App
	Folder *app.Folder // open; it stays the caller's
	// Finish sees to the end of a run that nobody drives, once that was asked for; nil has another
	// process do it.
	Finish func(run string) error
	Say    func(format string, args ...any) // prints a line for the person who started it
	// Carrier has runs go on in processes of their own, as Recover says; nil leaves them to others.
	// An empty Recover is that of the configuration.
	Carrier Carrier
	Recover host.Carry
	// Web shows the page from the start, else it is shown once a login is asked for. Port is where;
	// 0 has the system choose one.
	Web  bool
	Port int
	// Link is given a link that logs a browser in, once the page is shown; nil wants none. Web is
	// set with it.
	Link func(url string)

	desk     *login.Desk   // of the server before this one in the same process; nil without one
	restarts int           // how many there were, each ended by ErrRoom
	take     time.Duration // for tests: instead of takeWait
}

// Carrier has runs go on in processes of their own.
type Carrier interface {
	GoOn(at **launch.Accepted) host.GoOn
	One(ctx context.Context, r host.Carried) carry.Result
	// Start has a process of its own carry out a job, and waits for its answer.
	Start(ctx context.Context, job launch.Job) (launch.Answer, error)
}

const (
	mostStreams   = 1000
	mostOpening   = 16                // streams that begin at once
	mostRequests  = 64                // at once, streams apart
	mostStrangers = 32                // at once, that need no credential
	mostLarge     = 2                 // starts at once of more than mostBody, which others wait for
	mostConns     = mostStreams + 100 // that are open
	mostHeader    = 16 << 10
	headerWait    = 5 * time.Second
	idleWait      = time.Minute
	lookEvery     = 2 * time.Second // for runs that lost their owner
	endWait       = 2 * time.Second // for requests under way, at the end
)

// Server is an HTTP server over one state folder.
type Server struct {
	o       Options
	watcher *watch.Watcher
	lock    io.Closer // of locks/serve
	token   [32]byte  // its digest
	mux     *http.ServeMux
	log     *slog.Logger
	logFile io.Closer
	started time.Time

	access map[string]route // by path: what it wants of who asks
	desk   *login.Desk
	door   door
	socket fs.FileInfo // as it was made

	starting  starting
	same      once.Group[launched] // starts, by what they ask for
	list      list
	streams   chan struct{} // a place for each
	opening   chan struct{}
	requests  chan struct{}
	strangers chan struct{}
	large     chan struct{}
	stopped   context.Context // done when streams are to end
	stop      context.CancelFunc
	running   sync.WaitGroup
	outdated  atomic.Bool // it ends, since a newer agent has brought the database up to date
}

// New makes a server and takes the lock of the one server that a state folder has: *TakenError says
// who has it.
func New(o Options) (s *Server, err error) {
	lock, err := takeLock(o.Folder)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.Close())
		}
	}()
	s = &Server{
		o: o, lock: lock, started: o.Folder.Host.Now().Truncate(time.Second),
		streams: make(chan struct{}, mostStreams), opening: make(chan struct{}, mostOpening),
		requests: make(chan struct{}, mostRequests), strangers: make(chan struct{}, mostStrangers), large: make(chan struct{}, mostLarge),
		desk: cmp.Or(o.desk, login.New(elapsed())), starting: starting{runs: map[string]int{}, wait: startWait},
	}
	if s.token, err = readToken(o.Folder.Home); err != nil {
		return nil, err
	}
	if s.log, s.logFile, err = o.App.OpenLog(o.Folder.Home); err != nil {
		return nil, err
	}
	s.watcher, err = watch.New(watch.Options{Store: o.Folder.Store, Live: filepath.Join(o.Folder.Home, "live"), Held: o.Folder.Held})
	if err != nil {
		return nil, errors.Join(err, s.logFile.Close())
	}
	s.list.s = s
	s.mux = s.handlers()
	s.stopped, s.stop = context.WithCancel(context.Background())
	return s, nil
}

// Serve serves until ctx is done, or with ErrRoom until there is room on a disk that was full. Runs
// are not touched by its end.
func (s *Server) Serve(ctx context.Context) error {
	l, err := listen(s.o.Folder.Home)
	if err != nil {
		return s.close(err)
	}
	s.socket, _ = os.Lstat(filepath.Join(s.o.Folder.Home, socketName)) // without it, it counts as found
	h := &http.Server{
		Handler: s, ReadHeaderTimeout: headerWait, IdleTimeout: idleWait, MaxHeaderBytes: mostHeader - 4<<10, // which net/http adds
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     slog.NewLogLogger(slog.DiscardHandler, slog.LevelError), // every request has its own line
	}
	failed := make(chan error, 5) // the socket, two loopback addresses, the place, and the disk
	s.door.serve = func(l net.Listener) {
		s.running.Go(func() { failed <- h.Serve(&limited{Listener: l, most: mostConns}) })
	}
	if err := s.show(l); err != nil {
		return s.close(errors.Join(err, h.Close(), l.Close()))
	}
	s.running.Go(func() { s.lookAfter(failed) })
	s.running.Go(func() { s.watchPlace(failed) })
	select {
	case err = <-failed:
		if errors.Is(err, ErrRoom) {
			s.o.Say("%v: the server starts again", err)
			s.log.Info("the server starts again", "reason", err.Error())
		}
	case <-ctx.Done():
		defer s.o.Say("the server has ended (%s)%s", context.Cause(ctx), s.goesOn())
	}
	s.door.shut()
	s.stop()
	wait, done := context.WithTimeout(context.Background(), endWait)
	defer done()
	if h.Shutdown(wait) != nil { // what is still under way is cut: everything that was acknowledged is durable
		_ = h.Close() // it closes connections, whose ends nobody waits for
	}
	return s.close(err)
}

// show has the socket answered, and the page where that is wanted, and says where they are.
func (s *Server) show(socket net.Listener) error {
	if s.o.Web {
		err := s.door.listen(s.o.Port)
		var taken *PortError
		if errors.As(err, &taken) && s.o.Link != nil {
			taken.Asked = "agent web"
		}
		if err != nil {
			return err
		}
	}
	s.announce()
	s.door.serve(socket)
	if s.o.Link == nil {
		return nil
	}
	s.o.Link(s.door.address() + loginPart + s.desk.Code())
	return nil
}

// goesOn says which runs the end of the server leaves as they are.
func (s *Server) goesOn() string {
	rows, err := s.o.Folder.Store.Alive(context.Background())
	rows = slices.DeleteFunc(rows, func(r app.RunRow) bool { return r.Root != "" })
	if err != nil || len(rows) == 0 {
		return "; no run is touched by that"
	}
	text := "; not touched by that:"
	for _, r := range rows {
		text += fmt.Sprintf(" %s (%s)", r.ID, r.Status)
	}
	return text
}

// close lets go of everything, the lock last.
func (s *Server) close(err error) error {
	s.stop()
	s.running.Wait()
	s.watcher.Close()
	err = errors.Join(err, s.withdraw(), s.logFile.Close())
	return errors.Join(err, s.lock.Close())
}

// watchPlace ends the server once it cannot serve the state folder any more.
func (s *Server) watchPlace(failed chan<- error) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if err := s.unfit(); err != nil {
			failed <- fmt.Errorf("serve: restart me: %w", err)
			return
		}
		select {
		case <-tick.C:
		case <-s.stopped.Done():
			return
		}
	}
}

// unfit says why this server has to be started again: a newer agent has brought the database up
// to date, and what is written there then, this one does not know; or nobody finds it any more.
func (s *Server) unfit() error {
	err := app.CheckFormat(s.stopped, s.o.Folder.Store)
	var newer *app.NewerError
	switch {
	case errors.As(err, &newer):
		s.outdated.Store(true)
		return fmt.Errorf("the database was brought up to date by a newer version (format %d; this one knows %d)", newer.Have, newer.Know)
	case err != nil && s.stopped.Err() == nil:
		s.log.Warn("look at the format", "reason", s.o.App.Redacted(err.Error()))
	}
	if !s.found() {
		return fmt.Errorf("%s was removed or replaced", filepath.Join(s.o.Folder.Home, socketName))
	}
	return nil
}

// lookAfter marks runs that lost their owner, so that whoever watches one sees that, and has runs
// go on that go on by themselves. On a full disk it waits for room.
func (s *Server) lookAfter(failed chan<- error) {
	runs := &supervisor{Server: s, first: true, tried: map[string]attempt{}, named: map[string]string{}}
	if !s.o.Folder.CanWrite() && !runs.full() {
		return
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if runs.full() && runs.restUntilRoom() {
			failed <- ErrRoom
			return
		}
		if err := runs.look(s.stopped); err != nil && s.stopped.Err() == nil {
			s.log.Warn("have runs go on", "reason", s.o.App.Redacted(err.Error()))
		}
		select {
		case <-tick.C:
		case <-s.stopped.Done():
			return
		}
		if !s.o.Folder.CanWrite() {
			continue
		}
		marks, err := s.o.Folder.Reconcile(s.stopped, true)
		for _, m := range marks {
			s.log.Warn("run lost its owner", "run", m.Run, "cause", m.Cause)
		}
		if err != nil && s.stopped.Err() == nil {
			s.log.Warn("look for runs without an owner", "reason", s.o.App.Redacted(err.Error()))
		}
	}
}

// limited lets no more connections be open than a number, and closes what comes beyond.
type limited struct {
	net.Listener
	most int

	mu   sync.Mutex
	open int
}

// Accept waits for a connection of this user's processes.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if near(c) && l.take() {
			return &counted{Conn: c, leave: sync.OnceFunc(l.leave)}, nil
		}
		_ = c.Close() // nobody waits for its end
	}
}

func (l *limited) take() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open >= l.most {
		return false
	}
	l.open++
	return true
}

func (l *limited) leave() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
}

type counted struct {
	net.Conn
	leave func()
}

// Write writes what is answered.
func (c *counted) Write(b []byte) (int, error) {
	if text := unread(b); len(text) != len(b) {
		_, err := c.Conn.Write(text)
		return len(b), err
	}
	return c.Conn.Write(b)
}

func (c *counted) Close() error {
	c.leave()
	return c.Conn.Close()
}
