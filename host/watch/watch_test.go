package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agent/db"
	"agent/host/stream"
	"agent/recovery"
	"agent/recovery/journal"
)

const patience = time.Minute

// world is a state folder with one run, and a watcher over it.
type world struct {
	t     *testing.T
	store *db.Store
	head  db.Head
	live  *stream.Live
	held  atomic.Bool
	w     *Watcher
}

func newWorld(t *testing.T, poll bool) *world {
	t.Helper()
	home := filepath.Join(t.TempDir(), "state")
	store, err := db.Open(t.Context(), home, db.Options{NoBallast: true})
	if err != nil {
		t.Fatal(err)
	}
	x := &world{t: t, store: store}
	x.live, err = stream.OpenLive(filepath.Join(home, "live"), "r-1")
	if err != nil {
		t.Fatal(err)
	}
	x.head, err = store.Create(t.Context(), db.ThreadRef{ID: "t-1", Folder: "/w", New: true}, []journal.Event{
		{Body: journal.RunCreated{Run: "r-1", Thread: "t-1", Folder: "/w", Model: "m", Mode: journal.ModeAsk}},
		{Body: journal.RunClaimed{Epoch: 1, PID: 1}},
		{Turn: 1, Body: journal.ModelRequested{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	x.held.Store(true)
	x.w, err = New(Options{Store: store, Live: filepath.Join(home, "live"), Poll: poll,
		Held: func(string) (bool, error) { return x.held.Load(), nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		x.w.Close()
		if err := errors.Join(x.live.Close(), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return x
}

func (x *world) add(events ...journal.Event) {
	x.t.Helper()
	var err error
	if x.head, err = x.store.Append(context.Background(), x.head, events, db.AppendOptions{}); err != nil {
		x.t.Fatal(err)
	}
}

// answered are the facts of a turn's answer with one call that starts, and settled those of its
// result.
func answered(turn int, text string) []journal.Event {
	call := journal.Proposal{ID: fmt.Sprintf("c-%08d", turn), Tool: "shell", Args: json.RawMessage(`{}`), Effect: journal.EffectRead,
		Fingerprint: "s1:" + strings.Repeat("0", 64), Decision: journal.DecisionAllow}
	return []journal.Event{
		{Turn: turn, Body: journal.ModelAnswered{Blocks: []journal.Block{{Kind: journal.BlockText, Text: text}},
			Calls: []journal.Proposal{call}, Stop: journal.AnswerCalls}},
		{Turn: turn, Body: journal.CallStarted{Place: journal.Place{Turn: turn, Attempt: 1}}},
	}
}

func settled(turn int) []journal.Event {
	return []journal.Event{
		{Turn: turn, Body: journal.CallSettled{Place: journal.Place{Turn: turn, Attempt: 1}, Fingerprint: "s1:" + strings.Repeat("0", 64),
			Result: journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, How: journal.HowExecuted, Content: "done"}}},
		{Turn: turn, Body: journal.TurnSettled{Checkpoint: fmt.Sprintf("k-%08d", turn)}},
		{Turn: turn + 1, Body: journal.ModelRequested{}},
	}
}

// end is the last fact.
func end(turn int) journal.Event { return journal.Event{Turn: turn, Body: journal.RunCompleted{}} }

// seer is an observer with what it has put together.
type seer struct {
	t      *testing.T
	x      *world
	f      *Feed
	c      *Cursor
	seq    int64
	status recovery.Status
	shown  map[string]string // live text by type, or type and call
	at     map[string]int64
}

func (x *world) observe(cursor string) *seer {
	x.t.Helper()
	s := &seer{t: x.t, x: x, shown: map[string]string{}, at: map[string]int64{}}
	s.connect(cursor)
	return s
}

func (s *seer) connect(cursor string) {
	s.t.Helper()
	var err error
	if s.c, err = ParseCursor(cursor); err != nil {
		s.t.Fatal(err)
	}
	if s.f, err = s.x.w.Run(s.t.Context(), "r-1"); err != nil {
		s.t.Fatal(err)
	}
}

// take takes what comes next, until ok. It gives io.EOF at the end of the run.
func (s *seer) take(ok func() bool) error {
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	for !ok() {
		lines, err := s.f.Next(ctx, s.c)
		if err != nil {
			return err
		}
		for _, l := range lines {
			s.line(l)
		}
	}
	return nil
}

func (s *seer) until(ok func() bool) {
	s.t.Helper()
	if err := s.take(ok); err != nil {
		s.t.Fatalf("after fact %d, %v: %v", s.seq, s.shown, err)
	}
}

func (s *seer) line(l Line) {
	var v struct {
		V    int
		Type string
		Run  string `json:"run_id"`
		Seq  int64
		Data map[string]any
	}
	if err := json.Unmarshal(l.JSON, &v); err != nil || v.V != 1 || v.Type != l.Type || v.Run != "r-1" {
		s.t.Errorf("line %s: %v", l.JSON, err)
	}
	switch {
	case l.Fact != nil:
		if l.Fact.Seq != s.seq+1 || v.Seq != l.Fact.Seq || l.Type != string(l.Fact.Body.Kind()) {
			s.t.Errorf("fact %d (%s) follows fact %d", l.Fact.Seq, l.JSON, s.seq)
		}
		s.seq = l.Fact.Seq
		if l.ID != s.c.String() && !strings.HasPrefix(l.ID, fmt.Sprint(s.seq)+"-") {
			s.t.Errorf("fact %d has the id %s", s.seq, l.ID)
		}
		if _, ok := l.Fact.Body.(journal.ModelAnswered); ok {
			delete(s.shown, TypeText)
		}
	case l.State != nil:
		s.status = l.State.Status
	case l.Live != nil:
		key := l.Type
		if l.Type == TypeOutput {
			key += " " + l.Live.ID
		}
		if l.Live.Start {
			s.shown[key] = ""
		} else if l.Live.Offset != s.at[key] {
			s.t.Errorf("%s goes on at %d, not at %d", key, l.Live.Offset, s.at[key])
		}
		s.shown[key] += string(l.Live.Data)
		s.at[key] = l.Live.End
		if v.Data["text"] != string(l.Live.Data) {
			s.t.Errorf("frame %s with %q", l.JSON, l.Live.Data)
		}
	}
}

// Promise 1 of Watch: every observer sees every fact exactly once and in order, over any number of
// reconnects, with and without file notification, and no status before the fact that it follows
// from.
func TestEveryObserverSeesEveryFactOnce(t *testing.T) {
	for _, poll := range []bool{false, true} {
		t.Run(fmt.Sprintf("poll=%t", poll), func(t *testing.T) {
			x := newWorld(t, poll)
			x.w.linger = time.Millisecond
			const observers, turns = 8, 30
			var all sync.WaitGroup
			last := int64(3 + 5*turns + 1)
			for i := range observers {
				s := x.observe("")
				random := rand.New(rand.NewPCG(7, uint64(i)))
				all.Go(func() {
					for {
						n := s.seq + 1 + random.Int64N(20)
						err := s.take(func() bool { return s.seq >= n })
						if s.status.Terminal() && s.seq != last {
							t.Errorf("observer %d: %s after fact %d of %d", i, s.status, s.seq, last)
						}
						if errors.Is(err, io.EOF) {
							break
						}
						if err != nil {
							t.Errorf("observer %d: %v", i, err)
							return
						}
						s.f.Close()
						s.connect(s.c.String())
					}
					if s.seq != last || s.status != recovery.StatusCompleted {
						t.Errorf("observer %d ended at fact %d of %d, %s", i, s.seq, last, s.status)
					}
					s.f.Close()
				})
			}
			for turn := 1; turn <= turns; turn++ {
				x.add(answered(turn, "text")...)
				x.add(settled(turn)...)
			}
			x.add(end(turns + 1))
			all.Wait()
		})
	}
}

// Who comes late, and is further behind than a feed remembers, reads the journal.
func TestAnObserverThatIsFarBehind(t *testing.T) {
	x := newWorld(t, false)
	early := x.observe("")
	defer early.f.Close()
	text := strings.Repeat("x", 60<<10)
	const turns = 40 // 2.4 MB of facts, which is more than a feed keeps
	for turn := 1; turn <= turns; turn++ {
		x.add(answered(turn, text+fmt.Sprint(turn))...)
		x.add(settled(turn)...)
	}
	x.add(end(turns + 1))
	late := x.observe("")
	defer late.f.Close()
	for _, s := range []*seer{late, early} {
		if err := s.take(func() bool { return false }); !errors.Is(err, io.EOF) || s.seq != 3+5*turns+1 {
			t.Errorf("fact %d of %d, %v", s.seq, 3+5*turns+1, err)
		}
	}
	early.f.mu.Lock()
	defer early.f.mu.Unlock()
	if early.f.size > keptBytes {
		t.Errorf("the feed keeps %d bytes of facts", early.f.size)
	}
}

// Promise 2: live text is state that its fact replaces, output likewise, and what a killed owner
// left of either is not shown again.
func TestLiveTextUntilItsFact(t *testing.T) {
	t.Run("notified", func(t *testing.T) { liveTextUntilItsFact(t, false) })
	t.Run("notification refused", func(t *testing.T) { liveTextUntilItsFact(t, true) })
}

func liveTextUntilItsFact(t *testing.T, poll bool) {
	x := newWorld(t, poll)
	s := x.observe("")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(x.live.Reasoning(1, "hm "))
	must(x.live.Text(1, "Half "))
	s.until(func() bool { return s.shown[TypeText] == "Half " && s.shown[TypeReasoning] == "hm " })
	must(x.live.Reset()) // the answer is asked for again
	must(x.live.Text(1, "Whole ä"))
	s.until(func() bool { return s.shown[TypeText] == "Whole ä" && s.shown[TypeReasoning] == "" })

	late := x.observe(s.c.String())
	late.seq = s.seq
	late.until(func() bool { return late.shown[TypeText] == "Whole ä" })

	x.add(answered(1, "Whole ä")...)
	s.until(func() bool { return s.seq == 5 })
	call := journal.Place{Turn: 1, Attempt: 1}
	must(x.live.Output(call, 0, []byte("one\n")))
	must(x.live.Output(call, 4, []byte("two\n")))
	key := TypeOutput + " c-00000001"
	s.until(func() bool { return s.shown[key] == "one\ntwo\n" })
	must(x.live.Output(call, 0, []byte("one\ntwo\nthree\n"))) // by the next owner, from its beginning
	s.until(func() bool { return s.shown[key] == "one\ntwo\nthree\n" })
	x.add(settled(1)...)
	s.until(func() bool { return s.seq == 8 })
	s.f.Close()

	// The file still has the text of an answer and the output of a call that are facts.
	must(x.live.Text(1, "Whole ä"))
	x.w.mu.Lock()
	clear(x.w.feeds) // as in another process
	x.w.mu.Unlock()
	again := x.observe("")
	defer again.f.Close()
	again.until(func() bool { return again.status == recovery.StatusRunning })
	if len(again.shown) != 0 {
		t.Errorf("shown again: %q", again.shown)
	}
	late.f.Close()
}

// Promise 3: a cursor that is malformed, ahead, or of another history is refused, and one that is
// taken on trust is not.
func TestCursors(t *testing.T) {
	x := newWorld(t, false)
	s := x.observe("")
	defer s.f.Close()
	s.until(func() bool { return s.seq == 3 })
	good := s.c.String()
	for _, text := range []string{"x", "-1", "+1", "01", "1-", "1-12345", "1-1234567g", "1-1234567A", "1-123456789", " 1", good + " "} {
		if c, err := ParseCursor(text); !errors.Is(err, ErrCursor) {
			t.Errorf("%q is the cursor %v, %v", text, c, err)
		}
	}
	sum := strings.TrimPrefix(good, "3-")
	for _, text := range []string{"4", "4-" + sum, "3-00000000", "2-" + sum} {
		c, err := ParseCursor(text)
		if err != nil {
			t.Fatal(err)
		}
		var other *CursorError
		if lines, err := s.f.Next(t.Context(), c); !errors.As(err, &other) || other.Last != 3 {
			t.Errorf("from %s: %d lines, %v", text, len(lines), err)
		}
	}
	for _, text := range []string{"2", good} {
		c := s.x.observe(text)
		c.seq = c.c.Seq()
		c.until(func() bool { return c.status == recovery.StatusRunning })
		if c.c.String() != good {
			t.Errorf("from %s to %s, not to %s", text, c.c, good)
		}
		c.f.Close()
	}
	if _, err := x.w.Run(t.Context(), "r-none"); !errors.As(err, new(*db.UnknownIDError)) {
		t.Errorf("a run that does not exist: %v", err)
	}
}

// Promise 5: the stream of a run that has ended ends, also when it is asked again, and a fact that
// comes later is for who asks again.
func TestTheEndOfAStream(t *testing.T) {
	x := newWorld(t, false)
	x.add(end(1))
	s := x.observe("")
	for range 3 {
		if err := s.take(func() bool { return false }); !errors.Is(err, io.EOF) || s.seq != 4 {
			t.Fatalf("fact %d, %v", s.seq, err)
		}
	}
	s.f.Close()
	if _, err := x.store.PutInbox(t.Context(), "r-1", "cancel", json.RawMessage(`{}`), "somebody"); err != nil {
		t.Fatal(err) // it changes the database and no fact
	}
	if err := s.take(func() bool { return false }); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
}

// What changes without a fact is seen too: an owner that died.
func TestStateWithoutAFact(t *testing.T) {
	x := newWorld(t, true)
	s := x.observe("")
	defer s.f.Close()
	s.until(func() bool { return s.status == recovery.StatusRunning })
	held := true
	x.held.Store(false)
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	for held {
		lines, err := s.f.Next(ctx, s.c)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range lines {
			held = held && (l.State == nil || l.State.Held)
		}
	}
}

// The state of a run has the runs below it that have not ended, and what they ask: those of its
// whole family where it is the root, and of its own where it is not.
func TestStateOfAFamily(t *testing.T) {
	x := newWorld(t, false)
	s := x.observe("")
	defer s.f.Close()
	var below []Below
	see := func(what string, ok func() bool) {
		t.Helper()
		ctx, stop := context.WithTimeout(t.Context(), patience)
		defer stop()
		for !ok() {
			lines, err := s.f.Next(ctx, s.c)
			if err != nil {
				t.Fatalf("%s: %v; last %+v", what, err, below)
			}
			for _, l := range lines {
				if l.State != nil {
					below = l.State.Below
				}
			}
		}
	}
	s.until(func() bool { return s.status == recovery.StatusRunning })
	x.add(answered(1, "")[0], journal.Event{Turn: 1, Body: journal.CallStarted{Place: journal.Place{Turn: 1, Attempt: 1}, Child: "r-2"}})
	child := x.below("r-2", "r-1", "delegate c-00000001")
	see("the child", func() bool {
		return len(below) == 1 && below[0].Role == "delegate c-00000001" && below[0].Status == recovery.StatusRunning
	})
	grand := x.below("r-3", "r-2", "delegate c-00000009")
	see("below the child", func() bool { return len(below) == 2 && below[1].Parent == "r-2" })
	grand(journal.RequestOpened{Request: journal.Request{ID: "p-1", Opened: time.Now(), Question: journal.Question{
		Kind: journal.RequestAskUser, Message: "?", Schema: json.RawMessage(`{"type":"string"}`)}}})
	see("the question", func() bool {
		return len(below) == 2 && below[1].Request == "p-1" && below[1].Kind == journal.RequestAskUser
	})
	of, err := x.w.Run(t.Context(), "r-2")
	if err != nil {
		t.Fatal(err)
	}
	defer of.Close()
	if state := of.state.State; len(state.Below) != 1 || state.Below[0].Run != "r-3" {
		t.Errorf("below r-2: %+v", state.Below)
	}
	grand(journal.RequestAnswered{ID: "p-1", Answer: json.RawMessage(`"blue"`)}, journal.RunCompleted{})
	see("the end of one", func() bool { return len(below) == 1 && below[0].Run == "r-2" })
	child(journal.RunCompleted{})
	see("the end of all", func() bool { return len(below) == 0 })
}

// below records a run below another, and returns what adds facts to it.
func (x *world) below(run, parent, role string) func(...journal.Body) {
	x.t.Helper()
	h, err := x.store.Create(context.Background(), db.ThreadRef{ID: "t" + run[1:], Folder: "/w", New: true}, []journal.Event{
		{Body: journal.RunCreated{Run: run, Thread: "t" + run[1:], Folder: "/w", Model: "m", Mode: journal.ModeAsk,
			Family: journal.Family{Parent: parent, Root: "r-1", RootThread: "t-1", Role: role}}},
		{Body: journal.RunClaimed{Epoch: 1, PID: 1}},
	})
	if err != nil {
		x.t.Fatal(err)
	}
	return func(bodies ...journal.Body) {
		x.t.Helper()
		events := make([]journal.Event, len(bodies))
		for i, b := range bodies {
			events[i].Body = b
		}
		if h, err = x.store.Append(context.Background(), h, events, db.AppendOptions{}); err != nil {
			x.t.Fatal(err)
		}
	}
}

// A run has one feed a process, however many observe it, and it ends some time after the last of
// them.
func TestAFeedEndsAfterItsLastObserver(t *testing.T) {
	x := newWorld(t, false)
	x.w.linger = time.Millisecond
	a, b := x.observe(""), x.observe("")
	if a.f != b.f {
		t.Error("two feeds of one run")
	}
	a.f.Close()
	b.until(func() bool { return b.seq == 3 })
	b.f.Close()
	select {
	case <-b.f.ctx.Done():
	case <-time.After(patience):
		t.Fatal("the feed goes on without an observer")
	}
	c := x.observe("")
	defer c.f.Close()
	if c.f == b.f {
		t.Error("an observer joined a feed that had ended")
	}
	c.until(func() bool { return c.seq == 3 })
	x.w.Close()
	if _, err := x.w.Run(t.Context(), "r-1"); !errors.Is(err, ErrClosed) {
		t.Errorf("a feed of a closed watcher: %v", err)
	}
	if err := c.take(func() bool { return false }); !errors.Is(err, ErrClosed) {
		t.Errorf("an observer of a closed watcher: %v", err)
	}
}

// An observer that read the journal itself may be ahead of its feed: it gets neither a state nor
// text from before what it has seen.
func TestAnObserverAheadOfItsFeed(t *testing.T) {
	x := newWorld(t, false)
	if err := x.live.Text(1, "half an answ"); err != nil {
		t.Fatal(err)
	}
	f, err := newFeed(t.Context(), x.w, "r-1") // it stands still, as between two looks
	if err != nil {
		t.Fatal(err)
	}
	defer f.stop()
	x.add(answered(1, "half an answer")...)
	x.add(settled(1)...)
	x.add(end(2))
	c, err := ParseCursor("8")
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan []Line, 1)
	go func() {
		lines, err := f.Next(t.Context(), c)
		if err != nil {
			t.Error(err)
		}
		got <- lines
	}()
	for len(f.hints) == 0 { // it asks for a look instead
		select {
		case lines := <-got:
			t.Fatalf("from before fact 8: %s", lines[0].JSON)
		default:
			runtime.Gosched()
		}
	}
	if err := f.look(); err != nil {
		t.Fatal(err)
	}
	if lines := <-got; len(lines) != 1 || lines[0].Fact == nil || lines[0].Fact.Seq != 9 {
		t.Errorf("after the look: %d lines, %s", len(lines), lines[0].JSON)
	}
}

// Observers join and leave while live text begins again and again: none of the two ever waits for
// the other.
func TestJoiningWhileTextBegins(t *testing.T) {
	x := newWorld(t, false)
	first := x.observe("")
	defer first.f.Close()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 3_000 {
				f, err := x.w.Run(ctx, "r-1")
				if err != nil {
					t.Error(err)
					return
				}
				f.Close()
			}
		})
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	go func() {
		for i := 0; ctx.Err() == nil; i++ {
			e := stream.Event{Call: &journal.Place{Turn: 1, Index: i, Attempt: 1}, Output: []byte("x")}
			first.f.mu.Lock()
			first.f.live.take(&e, x.w.newGen)
			first.f.live.forget(*e.Call)
			first.f.mu.Unlock()
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
		go panic("observers that join and a look wait for each other") // the test's own end would wait for them too
		select {}
	}
}

// What a feed keeps counts as it is kept, and not only as observers get it.
func TestLargeFactsInAFeed(t *testing.T) {
	x := newWorld(t, false)
	s := x.observe("")
	defer s.f.Close()
	large := json.RawMessage(`{"x":"` + strings.Repeat("abcdefgh", 32<<10) + `"}`) // 256 KiB, which no observer gets
	const turns = 10
	for turn := 1; turn <= turns; turn++ {
		facts := answered(turn, "a")
		b, _ := facts[0].Body.(journal.ModelAnswered)
		b.Blocks = append(b.Blocks, journal.Block{Kind: journal.BlockReasoning, Opaque: large})
		facts[0].Body = b
		x.add(append(facts, settled(turn)...)...)
	}
	s.until(func() bool { return s.seq == 3+5*turns })
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	kept := 0
	for _, l := range s.f.window {
		if b, ok := l.Fact.Body.(journal.ModelAnswered); ok && len(b.Blocks) > 1 {
			kept += len(b.Blocks[1].Opaque)
		}
	}
	if kept > keptBytes || kept == 0 {
		t.Errorf("%d bytes are kept", kept)
	}
}

// The number of a fact is not one of another run, however large it is.
func TestACursorIsOfItsRunAlone(t *testing.T) {
	x := newWorld(t, false)
	_, err := x.store.Create(t.Context(), db.ThreadRef{ID: "t-2", Folder: "/w", New: true}, []journal.Event{
		{Body: journal.RunCreated{Run: "r-2", Thread: "t-2", Folder: "/w", Model: "m", Mode: journal.ModeAsk}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := x.observe("")
	defer s.f.Close()
	for _, text := range []string{"16777217", "33554433", "9223372036854775807"} {
		c, err := ParseCursor(text)
		if err != nil {
			t.Fatal(err)
		}
		if lines, err := s.f.Next(t.Context(), c); !errors.As(err, new(*CursorError)) {
			t.Errorf("from %s: %d lines, %v", text, len(lines), err)
		}
	}
	if _, err := ParseCursor("0-12345678"); !errors.Is(err, ErrCursor) {
		t.Errorf("a digest before the first fact: %v", err)
	}
}

// A journal that became shorter, as where the database was put back, is an error.
func TestAJournalThatBecameShorter(t *testing.T) {
	x := newWorld(t, false)
	f, err := newFeed(t.Context(), x.w, "r-1")
	if err != nil {
		t.Fatal(err)
	}
	defer f.stop()
	if _, err := f.replaced(t.Context(), 3, 5); err == nil {
		t.Error("two facts that are not there were read")
	}
}
