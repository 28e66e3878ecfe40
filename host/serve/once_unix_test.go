//go:build unix

package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/host/watch"
)

// observer reads a run's stream by pieces: it cuts each connection after some bytes and goes on
// behind the last event that it has whole.
type observer struct {
	home   string
	token  string
	run    string
	dice   *rand.Rand
	ids    []string // of facts, in the order in which they came
	datas  []string
	last   string
	cuts   int
	done   bool
	noted  func(seq int) // learns of each fact
	broken error
}

// read opens the stream once and reads until it cuts it, or it ends.
func (o *observer) read(ctx context.Context, c *http.Client) error {
	r, err := http.NewRequestWithContext(ctx, "GET", "http://localhost/v1/runs/"+o.run+"/events?after=0", nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+o.token)
	if o.last != "" {
		r.Header.Set("Last-Event-ID", o.last)
	}
	a, err := c.Do(r)
	if err != nil {
		return err // the server is being killed
	}
	defer a.Body.Close()
	if a.StatusCode == http.StatusNoContent {
		o.done = true
		return nil
	}
	if a.StatusCode != http.StatusOK {
		o.broken = fmt.Errorf("the stream after %s is refused with %d", o.last, a.StatusCode)
		return o.broken
	}
	text, err := io.ReadAll(io.LimitReader(a.Body, o.dice.Int64N(9_000)))
	o.cuts++
	events, _ := parse(text)
	for _, e := range events {
		if e.id != "" {
			o.ids, o.datas, o.last = append(o.ids, e.id), append(o.datas, e.data), e.id
			o.noted(len(o.ids))
		}
		o.done = o.done || e.kind == watch.TypeOutcome
	}
	return err
}

// watch reads until the run has ended, over whatever happens to the server.
func (o *observer) watch(ctx context.Context) {
	c := client(o.home)
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !o.done && o.broken == nil {
		if o.read(ctx, c) == nil {
			continue
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			o.broken = ctx.Err()
		}
	}
}

// judge compares what an observer has with the journal.
func (o *observer) judge(t *testing.T, want []watch.Line) error {
	t.Helper()
	if o.broken != nil {
		return o.broken
	}
	for i := range max(len(want), len(o.ids)) {
		switch {
		case i >= len(o.ids):
			return fmt.Errorf("fact %s never came", want[i].ID)
		case i >= len(want):
			return fmt.Errorf("%s came, which is behind the end or came twice", o.ids[i])
		case o.ids[i] != want[i].ID:
			return fmt.Errorf("%s came where %s is next", o.ids[i], want[i].ID)
		case o.datas[i] != string(want[i].JSON):
			return fmt.Errorf("fact %s is %s in the journal, and came as %s", o.ids[i], want[i].JSON, o.datas[i])
		}
	}
	return nil
}

const (
	onceTurns = 60
	onceKills = 6
)

// story writes a run while observers read it, never far ahead of them, and returns what the journal
// has in the end. seen is the count of the slowest observer, and changed says that it went on.
func (w *world) story(run string, seen func() int, changed <-chan struct{}) []watch.Line {
	w.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for n := 1; n <= onceTurns; n++ {
		for int(w.journals.Last(run))-seen() > 60 {
			select {
			case <-changed:
			case <-late.C:
				w.t.Fatalf("the observers have %d facts of %d", seen(), w.journals.Last(run))
			}
		}
		w.add(run, turn(run, n, strings.Repeat("text ", 40), strings.Repeat("printed ", 20))...)
	}
	w.complete(run, onceTurns+1)
	lines, err := w.facts(run)
	if err != nil {
		w.t.Fatal(err)
	}
	return lines
}

// observe has observers read a run while it is written, and calls kill whenever they came further.
func (w *world) observe(run string, count int, kill func(ctx context.Context, at int)) (want []watch.Line, list []*observer) {
	w.t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	var mu sync.Mutex
	counts := make([]int, count)
	slowest := func() int {
		mu.Lock()
		defer mu.Unlock()
		least := counts[0]
		for _, n := range counts {
			least = min(least, n)
		}
		return least
	}
	changed := make(chan struct{}, 1)
	advanced := make(chan struct{}, 1)
	var reading, killing sync.WaitGroup
	for i := range count {
		o := &observer{home: w.home, token: readFile(w.t, filepath.Join(w.home, tokenName)), run: run, dice: rand.New(rand.NewPCG(uint64(i), 13))}
		o.noted = func(n int) {
			mu.Lock()
			counts[i] = n
			mu.Unlock()
			for _, c := range []chan struct{}{changed, advanced} {
				select {
				case c <- struct{}{}:
				default:
				}
			}
		}
		list = append(list, o)
		reading.Go(func() { o.watch(ctx) })
	}
	killing.Go(func() {
		for k := 1; k <= onceKills; k++ {
			for slowest() < k*onceTurns*5/(onceKills+1) {
				select {
				case <-advanced:
				case <-ctx.Done():
					return
				}
			}
			kill(ctx, k)
		}
	})
	want = w.story(run, slowest, changed)
	killing.Wait()
	reading.Wait()
	return want, list
}

// served starts a server in a process of its own, and returns once it listens.
func (w *world) served(ctx context.Context) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), childHome+"="+w.home)
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "up\n" {
		return c, errors.Join(fmt.Errorf("the server says %q", line), err, ctx.Err())
	}
	return c, nil
}

func kill(c *exec.Cmd) {
	_ = c.Process.Kill() // it is there until Wait
	_ = c.Wait()         // it was killed
}

// Observers that cut their connections anywhere, while the server is killed again and again, see
// each fact of the journal once, in order, and as it is there. // promise 1
func TestEachFactOnce(t *testing.T) {
	w := newWorld(t)
	run := w.run("r-00000001", "p")
	w.hold(run)
	now, err := w.served(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { kill(now) }()
	kills := 0
	want, list := w.observe(run, 4, func(ctx context.Context, _ int) {
		kill(now)
		kills++
		if now, err = w.served(ctx); err != nil {
			t.Error(err)
		}
	})
	cuts := 0
	for i, o := range list {
		if err := o.judge(t, want); err != nil {
			t.Errorf("observer %d: %v", i, err)
		}
		cuts += o.cuts
	}
	if len(want) < 300 || kills != onceKills || cuts < 20 {
		t.Errorf("%d facts, %d kills, %d cuts", len(want), kills, cuts)
	}
	t.Logf("%d facts, %d kills, %d cuts", len(want), kills, cuts)
}

// forgetful is a server that knows by itself what it sent, and goes on from there.
type forgetful struct {
	http.Handler
	mu   sync.Mutex
	last map[string]string // by run, the id of the last fact that any observer was sent
}

func (f *forgetful) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	r.Header.Del("Last-Event-ID")
	if last := f.last[r.URL.Path]; last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	f.mu.Unlock()
	f.Handler.ServeHTTP(&noting{w, f, r.URL.Path}, r)
}

type noting struct {
	http.ResponseWriter
	f    *forgetful
	path string
}

func (n *noting) Write(b []byte) (int, error) {
	n.f.mu.Lock()
	for line := range strings.Lines(string(b)) {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			n.f.last[n.path] = strings.TrimSpace(id)
		}
	}
	n.f.mu.Unlock()
	return n.ResponseWriter.Write(b)
}

func (n *noting) Unwrap() http.ResponseWriter { return n.ResponseWriter }

// A server that goes on at the fact after the last one that it sent, as it remembers, is caught by
// the same observer. // the control of promise 1
func TestForgetfulServerIsCaught(t *testing.T) {
	w := newWorld(t)
	run := w.run("r-00000001", "p")
	w.hold(run)
	for n := 1; n <= onceTurns; n++ {
		w.add(run, turn(run, n, strings.Repeat("text ", 40), "")...)
	}
	w.complete(run, onceTurns+1)
	s, err := New(Options{App: w.app, Folder: w.folder, Say: func(string, ...any) {}})
	if err != nil {
		t.Fatal(err)
	}
	l, err := listen(w.home)
	if err != nil {
		t.Fatal(err)
	}
	h := &http.Server{Handler: &forgetful{Handler: s, last: map[string]string{}}}
	var serving sync.WaitGroup
	serving.Go(func() { _ = h.Serve(l) }) // until it is closed
	o := &observer{home: w.home, token: readFile(t, filepath.Join(w.home, tokenName)), run: run, dice: rand.New(rand.NewPCG(1, 13)), noted: func(int) {}}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	o.watch(ctx)
	want, err := w.facts(run)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.judge(t, want); err == nil {
		t.Error("what a forgetful server left out was not seen")
	} else {
		t.Log(err)
	}
	if err := errors.Join(h.Close(), s.close(nil)); err != nil {
		t.Error(err)
	}
	serving.Wait()
}

// facts are the lines of a run's journal.
func (w *world) facts(run string) ([]watch.Line, error) {
	var lines []watch.Line
	for c := watch.After(0); ; {
		page, err := watch.Facts(w.t.Context(), w.folder.Store, run, c, 256)
		if lines = append(lines, page...); err != nil || len(page) == 0 {
			return lines, err
		}
	}
}
