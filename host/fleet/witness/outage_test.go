package witness_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agent/fleet/log/fake"
	"agent/fleet/log/replay/replaytest"
	"agent/fleet/seal"
	"agent/fleet/witness"
	"agent/host/witness/line"
)

// A lost answer is found out by reading; what was not stored is for later, and then goes through.
func TestLostAnswers(t *testing.T) {
	b := begin(t, witness.Options{})
	f := replaytest.New("r-root")
	d := b.driver()
	b.log.LoseAfter(1)
	d.wantOK(d.append(1, 1, f.Does("r-root", "created", "claimed")), 1)
	b.log.LoseBefore(1)
	next := f.Does("r-root", "started")
	if r := d.append(2, 1, next); !strings.Contains(r.Later, "since") || !strings.Contains(r.Later, fake.ErrLost.Error()) {
		t.Fatal(show(r))
	}
	d.wantOK(d.append(2, 1, next), 2)
}

// An outage is "later", with since when, until the log answers; then the same append goes through.
func TestOutage(t *testing.T) {
	var mu sync.Mutex
	now := time.Date(2026, 11, 27, 14, 2, 0, 0, time.UTC)
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}
	b := begin(t, witness.Options{Now: clock})
	f := replaytest.New("r-root")
	d := b.driver()
	d.wantOK(d.append(1, 1, f.Does("r-root", "created", "claimed")), 1)
	b.log.Down(errors.New("no route to host"))
	next := f.Does("r-root", "started")
	since := ""
	for range 3 {
		r := d.append(2, 1, next)
		if r.Later == "" || !strings.Contains(r.Later, "no route to host") || since != "" && r.Later != since {
			t.Fatalf("%s, and before %s", show(r), since)
		}
		since = r.Later
	}
	if !strings.Contains(since, "2026-11-27T14:02:") {
		t.Error(since)
	}
	if r := d.hello(); r.Later != since {
		t.Errorf("%s", show(r))
	}
	b.log.Up()
	d.wantOK(d.append(2, 1, next), 2)
	b.log.Down(errors.New("again"))
	if r := d.hello(); r.Later == "" || strings.Contains(r.Later, since[:52]) {
		t.Errorf("a new outage began with the old one: %s", show(r))
	}
	b.log.Up()
}

// slow is a log that does not answer creations until it is let, and then at once, also where the
// time of the request is over.
type slow struct {
	*fake.Log
	let chan struct{}
}

func (s slow) Create(ctx context.Context, root string, place int64, entry []byte) error {
	select {
	case <-s.let:
		return s.Log.Create(context.WithoutCancel(ctx), root, place, entry)
	default:
		<-ctx.Done()
		return ctx.Err()
	}
}

// A log that hangs is one that cannot be reached; requests of other runs do not wait for it, and an
// end of the witness ends it.
func TestLogHangs(t *testing.T) {
	logs := slow{fake.New(), make(chan struct{}, 9)}
	path := filepath.Join(t.TempDir(), "s", "w")
	l, err := witness.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	o := witness.Options{By: "h-05", Namespace: "ns", Timeout: 50 * time.Millisecond} // time: the log answers at once, or never
	go func() { ended <- witness.Serve(ctx, l, logs, seal.NewKey(), o) }()
	b := &bench{T: t, path: path}
	f := replaytest.New("r-root")
	d := b.driver()
	first := f.Does("r-root", "created")
	if r := d.append(1, 1, first); !strings.Contains(r.Later, "no answer within 50ms") {
		t.Error(show(r))
	}
	logs.let <- struct{}{}
	d.wantOK(d.append(1, 1, first), 1)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := d.in.ReadByte(); err != io.EOF {
		t.Errorf("the connection is still open: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

// What no driver says is refused by name, and the connection closed; others go on.
func TestNonsense(t *testing.T) {
	b := begin(t, witness.Options{})
	good := b.driver()
	f := replaytest.New("r-root")
	good.wantOK(good.append(1, 1, f.Does("r-root", "created", "claimed")), 1)
	for text, want := range map[string]string{
		"":                                   "no JSON",
		"garbage":                            "no JSON",
		"[]":                                 "no JSON",
		"\x00\xff":                           "no JSON",
		`{}`:                                 "version 0",
		`{"v":2,"op":"hello","news":1}`:      "version 2 of the lines is not known here",
		`{"v":1}`:                            "is no id of a run",
		`{"v":1,"op":"hello","root":"../x"}`: "is no id of a run",
		`{"v":1,"op":"hello","root":"r-root","more":1}`:                           "unknown field",
		`{"v":1,"op":"hello","root":"r-root"} {}`:                                 "no JSON",
		`{"v":1,"op":"hello","root":"r-root","place":1}`:                          "neither place nor records",
		`{"v":1,"op":"read","root":"r-root"}`:                                     "is no request",
		`{"v":1,"op":"append","root":"r-root"}`:                                   "places begin with 1",
		`{"v":1,"op":"append","root":"r-root","place":-1}`:                        "places begin with 1",
		`{"v":1,"op":"append","root":"r-root","place":1e99}`:                      "is no request",
		`{"v":1,"op":"append","root":"r-root","place":1,"records":[{"what":{}}]}`: "unknown field",
	} {
		d := b.driver()
		d.wantRefused(d.say(text), want)
		if _, err := d.in.ReadByte(); err != io.EOF {
			t.Errorf("%q: the connection is still open: %v", text, err)
		}
	}
	for text, want := range map[string]string{ // these keep the connection
		`{"v":1,"op":"append","root":"r-root","place":2,"epoch":1}`:                                "brings no fact",
		`{"v":1,"op":"append","root":"r-root","place":2,"epoch":1,"records":[{}]}`:                 "not one member",
		`{"v":1,"op":"append","root":"r-root","place":2,"records":[{"fact":{"kind":1}}]}`:          "epoch",
		`{"v":1,"op":"append","root":"r-root","place":9,"epoch":1,"records":[{"environment":{}}]}`: "the log ends with place 1",
	} {
		d := b.driver()
		r := d.say(text)
		if !strings.Contains(r.Refused, want) {
			t.Errorf("%s: %s", text, show(r))
		}
		d.wantOK(d.hello(), 1)
	}
	good.wantOK(good.append(2, 1, f.Does("r-root", "started")), 2)
}

// A line that has no end within its limit is refused; one that is cut off does no harm.
func TestLongLine(t *testing.T) {
	if testing.Short() {
		t.Skip("it sends 64 MiB")
	}
	b := begin(t, witness.Options{})
	d := b.driver()
	go func() {
		chunk := bytes.Repeat([]byte("x"), 1<<20)
		for {
			if _, err := d.conn.Write(chunk); err != nil {
				return // the witness closed it
			}
		}
	}()
	d.wantRefused(d.hear(), "the line is too long: a request may have 67108864 bytes")
	cut := b.driver()
	if _, err := io.WriteString(cut.conn, `{"v":1,`); err != nil {
		t.Fatal(err)
	}
	if err := cut.conn.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	cut.wantRefused(cut.hear(), "has no end")
	other := b.driver()
	other.wantOK(other.hello(), 0)
}

// A large entry, within the limit, comes back.
func TestLargeEntry(t *testing.T) {
	b := begin(t, witness.Options{})
	f := replaytest.New("r-root")
	d := b.driver()
	d.wantOK(d.append(1, 1, f.Does("r-root", "created")), 1)
	d.wantOK(d.append(2, 1, f.DoesLong("r-root", strings.Repeat("0123456789abcdef", 1<<19))), 2)
	d.wantOK(b.serve(witness.Options{}).driver().hello(), 2)
}

// The worker refuses runs that are not its own, and sees every answer in order.
func TestHooks(t *testing.T) {
	var mu sync.Mutex
	var seen []witness.Event
	gone := false
	b := begin(t, witness.Options{
		Allow: func(root string) error {
			mu.Lock()
			defer mu.Unlock()
			if gone || root != "r-root" {
				return errors.New("run " + root + " moved to h-11")
			}
			return nil
		},
		On: func(e witness.Event) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, e)
		},
	})
	f := replaytest.New("r-root")
	d := b.driver()
	d.wantOK(d.hello(), 0)
	d.wantOK(d.append(1, 1, f.Does("r-root", "created", "claimed")), 1)
	d.wantRefused(d.ask(line.Request{Op: line.Hello, Root: "r-other"}), "run r-other moved to h-11")
	mu.Lock()
	gone = true
	mu.Unlock()
	d.wantRefused(d.append(2, 1, f.Does("r-root", "x")), "moved to h-11")
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != 4 || seen[0].Op != line.Hello || seen[0].Agent != "0.1.0" || seen[1].Place != 1 || seen[1].Reply.OK == nil ||
		seen[1].Why != "claim" || seen[1].Epoch != 1 || seen[2].Reply.Refused == "" || seen[3].Place != 2 {
		t.Errorf("%+v", seen)
	}
}

// A log that is damaged, or another fleet's, is refused by name and not tried again.
func TestBadLog(t *testing.T) {
	b := begin(t, witness.Options{})
	if err := b.log.Create(t.Context(), "r-root", 1, []byte("nonsense")); err != nil {
		t.Fatal(err)
	}
	d := b.driver()
	d.wantRefused(d.hello(), "place 1 of the log of run r-root: it is no entry")
	foreign := *b
	foreign.log, foreign.key = fake.New(), seal.NewKey()
	f := replaytest.New("r-root")
	one := foreign.serve(witness.Options{}).driver()
	one.wantOK(one.append(1, 1, f.Does("r-root", "created")), 1)
	foreign.key = b.key
	other := foreign.serve(witness.Options{}).driver()
	other.wantRefused(other.hello(), "it belongs to another fleet")
}

// shortened is a log that was restored from a copy.
type shortened struct {
	*fake.Log
	last atomic.Int64
}

func (s *shortened) Last(ctx context.Context, root string) (int64, error) {
	last, err := s.Log.Last(ctx, root)
	return min(last, s.last.Load()), err
}

// A log that ends before what was seen of it is not gone on with, by this witness or by another.
func TestLogWentBack(t *testing.T) {
	back := &shortened{Log: fake.New()}
	back.last.Store(9)
	path := filepath.Join(t.TempDir(), "s", "w")
	l, err := witness.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- witness.Serve(ctx, l, back, seal.NewKey(), witness.Options{By: "h-05", Namespace: "ns"})
	}()
	f := replaytest.New("r-root")
	d := (&bench{T: t, path: path}).driver()
	d.wantOK(d.append(1, 1, f.Does("r-root", "created")), 1)
	d.wantOK(d.append(2, 1, f.Does("r-root", "started")), 2)
	back.last.Store(1)
	d.wantRefused(d.append(3, 1, f.Clone().Does("r-root", "x")), "was it restored from a copy?")
	_ = d.conn.Close()
	fresh := begin(t, witness.Options{}).driver() // one that has seen nothing of it
	fresh.wantRefused(fresh.append(3, 1, f.Clone().Does("r-root", "x")), "the log ends with place 0")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The socket is this user's alone, and of one process at a time.
func TestListen(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "own", "w")
	l, err := witness.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if _, err := witness.Listen(path); err == nil || !strings.Contains(err.Error(), "another process listens there") {
		t.Errorf("twice: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	left.SetUnlinkOnClose(false)
	if err := left.Close(); err != nil { // as by a process that was killed
		t.Fatal(err)
	}
	if l, err = witness.Listen(path); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "own", "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(open, "w"): "others can enter the folder",
		"relative":               "begins with /",
		file:                     "no socket is there",
		filepath.Join(dir, "own", strings.Repeat("x", 99)): "choose a shorter one",
		filepath.Join(file, "w"):                           "not a directory",
	} {
		if _, err := witness.Listen(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
