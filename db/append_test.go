package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"modernc.org/sqlite"
	"pgregory.net/rapid"

	"agent/db/sqlitefile"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/scripts/testkit/seed"
)

// JRN-13: the place, the epoch and the status that a writer saw are what its write is conditional
// on.
// EN-30.
func TestLostRace(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	h := startRun(t, s, "r-racerace")
	a, b := turnFacts(1, "c-11111111", "out")
	next := appendAll(t, s, h, a, AppendOptions{})

	stale := func(name string, h Head) {
		_, err := s.Append(ctx, h, b, AppendOptions{})
		if !errors.Is(err, ErrLostRace) {
			t.Errorf("%s: %v", name, err)
		}
	}
	stale("sequence number of before", Head{No: next.No, Run: next.Run, Epoch: next.Epoch, Seq: h.Seq, Digest: h.Digest, Status: next.Status})
	clear(b)
	_, b = turnFacts(1, "c-11111111", "out")
	other := next
	other.Epoch = 0
	stale("epoch of before", other)
	other = next
	other.Status, b = recovery.StatusWaiting, events(journal.RunNoted{Text: "noted"})
	stale("another status", other)
	_, b = turnFacts(1, "c-11111111", "out")
	if got := loadAll(t, s, h.Run); len(got) != int(next.Seq) {
		t.Errorf("a lost race left something: %d facts, %d were written", len(got), next.Seq)
	}
	appendAll(t, s, next, b, AppendOptions{})
}

// OWN: a claim moves the epoch, and the owner of before cannot write any more.
func TestClaimFencesTheOwnerBefore(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	old := startRun(t, s, "r-fencefen")
	h := appendAll(t, s, old, events(journal.RunInterrupted{Cause: journal.CauseTakeover, Detail: "taken over"}, journal.RunClaimed{Epoch: 2, PID: 7, Boot: "later", Host: "there"}), AppendOptions{})
	if h.Epoch != 2 || h.Status != recovery.StatusRunning {
		t.Fatalf("after the claim: %+v", h)
	}
	a, _ := turnFacts(1, "c-11111111", "out")
	if _, err := s.Append(ctx, old, a, AppendOptions{}); !errors.Is(err, ErrLostRace) {
		t.Errorf("the owner of before wrote: %v", err)
	}
	if _, err := s.Append(ctx, h, events(journal.RunClaimed{Epoch: 2}), AppendOptions{}); !errors.As(err, new(*CorruptError)) {
		t.Errorf("an epoch was claimed twice: %v", err)
	}
	row, err := s.Run(ctx, h.Run)
	if err != nil {
		t.Fatal(err)
	}
	if row.PID != 7 || row.Boot != "later" || row.OwnerHost != "there" || row.Cause != "" || row.Detail != "" {
		t.Errorf("the row does not name the owner: %+v", row)
	}
}

// A mark is the one fact that somebody else writes, and it loses against everything.
func TestMarkInterrupted(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	old := startRun(t, s, "r-markmark")
	a, _ := turnFacts(1, "c-11111111", "out")
	h := appendAll(t, s, old, a, AppendOptions{})
	at := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	if marked, err := s.MarkInterrupted(ctx, old, journal.CauseCrash, "gone", at); err != nil || marked {
		t.Fatalf("a run that went on was marked: %v %v", marked, err)
	}
	if marked, err := s.MarkInterrupted(ctx, h, journal.CauseReboot, "gone", at); err != nil || !marked {
		t.Fatalf("a run that stands still was not marked: %v %v", marked, err)
	}
	row, err := s.Run(ctx, h.Run)
	if err != nil {
		t.Fatal(err)
	}
	if row.Status != recovery.StatusInterrupted || row.Cause != journal.CauseReboot || row.Detail != "gone" || !row.Updated.Equal(at) {
		t.Errorf("%+v", row)
	}
	if row.Open == nil || row.Open.ID != "c-11111111" || row.Open.Phase != journal.PhaseStarted {
		t.Errorf("the place where it stood is %v", row.Open)
	}
	if h, err = s.Head(ctx, h.Run); err != nil {
		t.Fatal(err)
	}
	if marked, err := s.MarkInterrupted(ctx, h, journal.CauseCrash, "again", at); err != nil || marked {
		t.Errorf("it was marked twice: %v %v", marked, err)
	}
	if marked, err := s.MarkInterrupted(ctx, h, journal.CauseCorrupt, "a bit", at); err != nil || !marked {
		t.Errorf("the cause was not kept: %v %v", marked, err)
	}
	if row, err = s.Run(ctx, h.Run); err != nil || row.Cause != journal.CauseCorrupt || row.LastSeq != h.Seq {
		t.Errorf("%+v %v", row, err)
	}
	got := loadAll(t, s, h.Run)
	if last := got[len(got)-1]; last.Turn != 1 || last.Body != (journal.RunInterrupted{Cause: journal.CauseReboot, Detail: "gone"}) {
		t.Errorf("the fact is %+v", last)
	}
}

// RUN: a thread takes a new run only when the one before it has ended, also when two come at once.
func TestOneUnfinishedRunInAThread(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	h := startRun(t, s, "r-firstone")
	h = appendAll(t, s, h, events(journal.RunInterrupted{Cause: journal.CauseCrash}), AppendOptions{})
	second := func(run string) error {
		_, err := s.Create(ctx, ThreadRef{ID: h.Thread}, events(createdFact(run, h.Thread), journal.RunClaimed{Epoch: 1}))
		return err
	}
	var busy *ThreadBusyError
	if err := second("r-secondon"); !errors.As(err, &busy) || busy.Run != "r-firstone" || busy.Status != recovery.StatusInterrupted {
		t.Fatalf("%v", err)
	}
	h = appendAll(t, s, h, events(journal.RunClaimed{Epoch: 2}, journal.RunCancelled{Reason: "enough"}), AppendOptions{})
	var created, refused atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			err := second(fmt.Sprintf("r-second%02d", i))
			switch {
			case err == nil:
				created.Add(1)
			case errors.As(err, new(*ThreadBusyError)):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if created.Load() != 1 || refused.Load() != 7 {
		t.Errorf("%d runs were created and %d refused", created.Load(), refused.Load())
	}
	if err := second("r-firstone"); !errors.As(err, new(*ThreadBusyError)) {
		t.Error(err)
	}
	_, err := s.Create(ctx, ThreadRef{ID: "t-other000", New: true, Folder: "/x"}, events(createdFact("r-firstone", "t-other000")))
	if !errors.Is(err, ErrIDTaken) {
		t.Errorf("an id was given twice: %v", err)
	}
	if _, err := s.Create(ctx, ThreadRef{ID: "t-nowhere0"}, events(createdFact("r-xxxxxxxx", "t-nowhere0"))); !errors.As(err, new(*UnknownIDError)) {
		t.Errorf("a run was created in a thread that does not exist: %v", err)
	}
	if _, err := s.Thread(ctx, "t-other000"); !errors.As(err, new(*UnknownIDError)) {
		t.Errorf("the refused run left its thread: %v", err)
	}
}

// A terminal run takes nothing but a person's decision on an unknown call.
func TestTerminalIsFinal(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	h := startRun(t, s, "r-endended")
	a, _ := turnFacts(1, "c-11111111", "")
	h = appendAll(t, s, h, a, AppendOptions{})
	at := journal.Place{Turn: 1, Attempt: 1}
	fp := a[0].Body.(journal.ModelAnswered).Calls[0].Fingerprint
	h = appendAll(t, s, h, inTurn(1, journal.CallSettled{Place: at, Fingerprint: fp, Result: journal.Result{Outcome: journal.OutcomeUnknown, Applied: journal.AppliedUnknown, How: journal.HowTold}},
		journal.RunFailed{Reason: "the host panicked"}), AppendOptions{})
	if _, err := s.Append(ctx, h, events(journal.RunClaimed{Epoch: 2}), AppendOptions{}); err == nil {
		t.Error("a run that has ended was claimed")
	}
	row, err := s.Run(ctx, h.Run)
	if err != nil || row.Unknown != 1 || row.StopReason != "the host panicked" || row.Ended.IsZero() {
		t.Fatalf("%+v %v", row, err)
	}
	unknown, err := s.Doubts(ctx, h.Thread, "")
	if err != nil || len(unknown) != 1 || unknown[0].ID != "c-11111111" || string(unknown[0].Args) != `{"command":"make test"}` || unknown[0].StartedAt.IsZero() {
		t.Fatalf("%+v %v", unknown, err)
	}
	if rest, err := s.Doubts(ctx, h.Thread, h.Run); err != nil || len(rest) != 0 {
		t.Errorf("the run itself is not left out: %v %v", rest, err)
	}
	h = appendAll(t, s, h, inTurn(1, journal.CallResolved{Place: at, Word: journal.WordLeave}), AppendOptions{})
	h = appendAll(t, s, h, inTurn(1, journal.CallResolved{Place: at, Word: journal.WordHappened}), AppendOptions{})
	if h.Status != recovery.StatusFailed {
		t.Errorf("a word changed the status to %s", h.Status)
	}
	if unknown, err = s.Doubts(ctx, h.Thread, ""); err != nil || len(unknown) != 1 || unknown[0].Resolved != journal.WordHappened {
		t.Errorf("%v %v", unknown, err)
	}
	if row, err = s.Run(ctx, h.Run); err != nil || row.Unknown != 0 {
		t.Errorf("%d calls are still unknown (%v)", row.Unknown, err)
	}
	if _, err := s.Append(ctx, h, inTurn(1, journal.CallResolved{Place: at, Word: journal.WordHappened}), AppendOptions{}); !errors.As(err, new(*CorruptError)) {
		t.Errorf("a second word: %v", err)
	}
	// Run once more with success, nothing is in doubt any more; that counts nothing a second time,
	// and nothing follows on it.
	h = appendAll(t, s, h, inTurn(1, journal.CallResolved{Place: at, Word: journal.WordRun}), AppendOptions{})
	if unknown, err = s.Doubts(ctx, h.Thread, ""); err != nil || len(unknown) != 0 {
		t.Errorf("%v %v", unknown, err)
	}
	if row, err = s.Run(ctx, h.Run); err != nil || row.Unknown != 0 {
		t.Errorf("%d calls are unknown (%v)", row.Unknown, err)
	}
	for _, w := range []journal.Word{journal.WordLeave, journal.WordHappened, journal.WordRun} {
		if _, err := s.Append(ctx, h, inTurn(1, journal.CallResolved{Place: at, Word: w}), AppendOptions{}); !errors.As(err, new(*CorruptError)) {
			t.Errorf("%s after it was run once more: %v", w, err)
		}
	}
}

// What others' JSON and bytes become on their way to the disk is what the caller sees too.
func TestAppendGivesBackWhatWasStored(t *testing.T) {
	s := openStore(t, stateDir(t))
	h := startRun(t, s, "r-bytesbyt")
	p := call("c-11111111", "{ \"b\" : 1,\n \"a\" : \"<&>\" }")
	a := inTurn(1, journal.ModelAnswered{Stop: journal.AnswerCalls, Calls: []journal.Proposal{p},
		Blocks: []journal.Block{{Kind: journal.BlockText, Text: "bad \xff byte, \u2028 and <html>"}}},
		journal.CallStarted{Place: journal.Place{Turn: 1, Attempt: 1}, Before: json.RawMessage(` {"x" : [ ] } `)})
	h = appendAll(t, s, h, a, AppendOptions{})
	b := inTurn(1, journal.CallSettled{Place: journal.Place{Turn: 1, Attempt: 1}, Fingerprint: p.Fingerprint, Result: journal.Result{
		Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, How: journal.HowExecuted, Content: "also \xff\xfe bad", Full: []byte("everything \xff\x00")}})
	appendAll(t, s, h, b, AppendOptions{})
	got := loadAll(t, s, h.Run)
	if diff := cmp.Diff(append(a, b...), got[3:]); diff != "" {
		t.Errorf("(-in memory +on disk):\n%s", diff)
	}
	if args := string(a[0].Body.(journal.ModelAnswered).Calls[0].Args); args != `{"b":1,"a":"<&>"}` {
		t.Errorf("arguments are %s", args)
	}
	r := b[0].Body.(journal.CallSettled).Result
	if r.Blob == "" || r.Full != nil || r.Size != 13 {
		t.Errorf("%+v", r)
	}
	out, size, err := s.Output(context.Background(), "c-11111111")
	if err != nil {
		t.Fatal(err)
	}
	whole := make([]byte, size)
	if _, err := out.ReadAt(whole, 0); err != nil || string(whole) != "everything \xff\x00" {
		t.Errorf("%q %v", whole, err)
	}
}

// The rows beside the journal say what its fold says, for any journal that the fold accepts.
func TestProjectionsFollowTheFold(t *testing.T) {
	longAlone(t)
	s := openStore(t, stateDir(t))
	n := 0
	reached := map[journal.Kind]int{}
	checks(t, 25)
	history := func(t *rapid.T) {
		n++
		run := fmt.Sprintf("r-prop%04d", n)
		thread := "t-" + run[2:]
		state := &recovery.State{}
		var h Head
		var batch, all []journal.Event
		flush := func() {
			if len(batch) == 0 {
				return
			}
			var err error
			if h.No == 0 {
				h, err = s.Create(context.Background(), ThreadRef{ID: thread, Folder: "/", New: true}, batch[:1])
				if err == nil && len(batch) > 1 {
					h, err = s.Append(context.Background(), h, batch[1:], AppendOptions{State: state})
				}
			} else {
				h, err = s.Append(context.Background(), h, batch, AppendOptions{State: state})
			}
			if err != nil {
				t.Fatal(err)
			}
			compare(t, s, h, state)
			batch = nil
		}
		for range rapid.IntRange(10, 60).Draw(t, "facts") {
			fits := possible(state, all, run, thread, n)
			if len(fits) == 0 {
				break
			}
			if forward := slices.DeleteFunc(slices.Clone(fits), sideways); len(forward) > 0 && rapid.IntRange(0, 5).Draw(t, "forward") > 0 {
				fits = forward
			}
			e := rapid.SampledFrom(fits).Draw(t, "fact")
			if err := state.Apply(e); err != nil {
				t.Fatal(err)
			}
			all, batch = append(all, e), append(batch, e)
			if rapid.Bool().Draw(t, "commit") {
				flush()
			}
		}
		flush()
		for _, e := range all {
			reached[e.Body.Kind()]++
		}
	}
	missing := slices.DeleteFunc(journal.Kinds(), func(k journal.Kind) bool {
		switch k {
		case journal.KindRunNoted, journal.KindRunStopping, journal.KindRunCompleted, journal.KindRunFailed, journal.KindRunCancelled, journal.KindApprovalVoided,
			journal.KindMessageAdded, journal.KindRunParked,
			journal.KindPhaseStarted, journal.KindPhaseEnded, journal.KindArtifactsChecked, journal.KindArtifactRestored, journal.KindPhaseRewound:
			return true // change nothing that is compared here, or end the history
		}
		return false
	})
	next := seed.Rapid(t)
	for range 8 { // one is enough, nearly always
		rapid.Check(t, history)
		missing = slices.DeleteFunc(missing, func(k journal.Kind) bool { return reached[k] > 0 })
		if len(missing) == 0 || t.Failed() {
			return
		}
		next()
	}
	t.Errorf("no history has a %s: %v", missing, reached)
}

func compare(t *rapid.T, s *Store, h Head, state *recovery.State) {
	row, err := s.Run(context.Background(), h.Run)
	if err != nil {
		t.Fatal(err)
	}
	calls, err := s.Calls(context.Background(), h.Run)
	if err != nil {
		t.Fatal(err)
	}
	type view struct {
		Status                                 recovery.Status
		Seq, Epoch                             int64
		Turns, Calls, Unknown, Fruitless, Open int
		Cause                                  journal.Cause
		Phases, Model, Folder                  string
	}
	made := state.Created
	want := view{state.Status, state.Seq, state.Epoch, len(state.Turns), 0, len(state.UnknownCalls()), state.Fruitless, 0, state.Cause, "", made.Model, made.Folder}
	for _, turn := range state.Turns {
		for _, c := range turn.Calls {
			want.Calls++
			want.Phases += fmt.Sprintf("%s %s %d %s;", c.Place, c.Phase, c.Attempt, c.Resolved)
		}
	}
	if state.Open != nil {
		want.Open = 1
	}
	got := view{row.Status, row.LastSeq, row.Epoch, row.Turns, row.Calls, row.Unknown, row.Fruitless, 0, row.Cause, "", row.Model, row.Folder}
	for _, c := range calls {
		got.Phases += fmt.Sprintf("%s %s %d %s;", c.Place, c.Phase, c.Attempt, c.Resolved)
	}
	if row.Pending != nil {
		got.Open = 1
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-fold +rows):\n%s", diff)
	}
}

// sideways is for facts that bring no turn to its end; there are so many of them that few histories
// would get far.
func sideways(e journal.Event) bool {
	switch b := e.Body.(type) {
	case journal.RunClaimed, journal.RunInterrupted, journal.RunRestored, journal.CallJudged, journal.ModelFailed, journal.ContextCompacted,
		journal.FilesBase, journal.FilesChanged, journal.CommitSeen, journal.RunExported, journal.WorkspaceBehind:
		return true
	case journal.RequestOpened:
		return b.Request.Kind == journal.RequestMaxTurns || b.Request.Call.Index == 0
	}
	return false
}

// possible lists the facts that the fold accepts next.
func possible(s *recovery.State, all []journal.Event, run, thread string, n int) []journal.Event {
	var out []journal.Event
	add := func(turn int, bodies ...journal.Body) {
		for _, b := range bodies {
			e := journal.Event{Seq: s.Seq + 1, Turn: turn, Time: time.UnixMicro(s.Seq + 1).UTC(), Body: b}
			if _, err := recovery.Fold(append(slices.Clone(all), e)); err == nil {
				out = append(out, e)
			}
		}
	}
	turn := len(s.Turns)
	add(0, createdFact(run, thread))
	add(turn, journal.RunClaimed{Epoch: s.Epoch + 1, PID: 1}, journal.RunInterrupted{Cause: journal.CauseCrash},
		journal.RunRestored{Reason: "it is behind its mark", Folder: "/there"},
		journal.RunExported{To: "agent-store-1-s-there.1.key", Pack: "m-1"}, journal.WorkspaceBehind{Folder: "/there", Files: []journal.BehindFile{{Path: "a"}}})
	if s.Epoch > 0 {
		other := journal.ModelChange{Name: fmt.Sprintf("work/m%d", s.Epoch), Provider: "chat"}
		add(turn, journal.RunClaimed{Epoch: s.Epoch + 1, PID: 1, Model: &other, Folder: fmt.Sprintf("/moved/%d", s.Epoch)})
	}
	asked := call(fmt.Sprintf("c-%04d%03d1", n, turn), "[]")
	asked.Decision = journal.DecisionAsk
	add(turn+1, journal.ModelRequested{}, journal.ModelAnswered{Stop: journal.AnswerCalls, Calls: []journal.Proposal{
		call(fmt.Sprintf("c-%04d%03d0", n, turn), "{}"), asked}})
	add(turn+1, journal.ModelFailed{Fault: journal.FaultCut, Again: true, Tries: s.Tries() + 1})
	add(turn, journal.ContextCompacted{Through: turn, Summary: "what was before"})
	for index := range 2 {
		at := journal.Place{Turn: max(1, turn), Index: index}
		c, err := s.Call(at)
		if err != nil {
			break
		}
		at.Attempt = c.Attempt
		next := at
		next.Attempt++
		add(turn, journal.CallStarted{Place: next, Binding: c.Approved},
			journal.CallSettled{Place: at, Fingerprint: c.Fingerprint, Result: journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, How: journal.HowExecuted}},
			journal.CallSettled{Place: at, Fingerprint: c.Fingerprint, Result: journal.Result{Outcome: journal.OutcomeUnknown, Applied: journal.AppliedUnknown, How: journal.HowTold}},
			journal.CallResolved{Place: at, Word: journal.WordHappened}, journal.CallResolved{Place: at, Word: journal.WordLeave},
			journal.RequestOpened{Request: journal.Request{ID: fmt.Sprintf("p-%04d%04d", n, s.Seq), Question: journal.Question{Kind: journal.RequestPermission}, Call: &at, Binding: "bound"}})
		for _, v := range []journal.Verdict{journal.VerdictAgain, journal.VerdictAttach, journal.VerdictSkip, journal.VerdictRun} {
			add(turn, journal.CallJudged{Place: at, Verdict: v})
		}
	}
	if s.Open != nil {
		add(turn, journal.RequestAnswered{ID: s.Open.ID, Answer: json.RawMessage(`"yes"`)}, journal.RequestClosed{ID: s.Open.ID, Status: RequestCancelled},
			journal.RequestClosed{ID: s.Open.ID, Status: RequestCancelled, Again: true})
	}
	add(turn, journal.RequestOpened{Request: journal.Request{ID: fmt.Sprintf("p-%04d%04d", n, s.Seq), Question: journal.Question{Kind: journal.RequestMaxTurns}}})
	add(turn, journal.TurnSettled{Checkpoint: "k-" + strings.Repeat("0", 8)})
	made := journal.NewFileChange("docs/a\xff.md", journal.ProofOutside, nil, &journal.FileVersion{Mode: 0o644, Size: 3, Kept: "k-1"})
	add(turn, journal.FilesBase{Look: s.Seq, Mode: journal.KeepAll, Paths: 1}, journal.FilesChanged{Look: s.Seq, Changes: []journal.FileChange{made}},
		journal.CommitSeen{Checkpoint: "k-" + strings.Repeat("0", 12), Repo: "/w/.git", Commit: fmt.Sprintf("%040d", s.Seq), Tree: strings.Repeat("1", 40)})
	return out
}

// One commit carries many callers: 64 at once need far fewer commits than 64 one after the other,
// and one caller's lost race costs nobody else.
func TestGroupCommit(t *testing.T) {
	var commits atomic.Int64
	const runs, turns = 64, 4
	s := openStore(t, stateDir(t), func(o *Options) {
		o.Hit = func(point fault.Point) {
			if point == fault.AfterCommit {
				commits.Add(1)
			}
		}
	})
	heads := make([]Head, runs)
	for i := range heads {
		heads[i] = startRun(t, s, fmt.Sprintf("r-group%03d", i))
	}
	commits.Store(0)
	var wg sync.WaitGroup
	for i := range heads {
		wg.Go(func() {
			h := heads[i]
			for n := 1; n <= turns; n++ {
				a, b := turnFacts(n, fmt.Sprintf("c-%04d%04d", i, n), "out")
				if i%8 == 0 {
					stale := h
					stale.Seq--
					if _, err := s.Append(context.Background(), stale, inTurn(n, journal.RunNoted{Text: "lost"}), AppendOptions{}); !errors.Is(err, ErrLostRace) {
						t.Errorf("run %d: %v", i, err)
					}
				}
				h = appendAll(t, s, h, a, AppendOptions{})
				h = appendAll(t, s, h, b, AppendOptions{})
			}
			heads[i] = h
		})
	}
	wg.Wait()
	if n := commits.Load(); n > runs*turns*2/4 {
		t.Errorf("%d batches took %d commits", runs*turns*2, n)
	}
	for _, h := range heads {
		if got := loadAll(t, s, h.Run); len(got) != int(h.Seq) {
			t.Errorf("run %s has %d facts and %d were written", h.Run, len(got), h.Seq)
		}
	}
}

// One caller's failure leaves nothing behind and costs the others of its commit nothing.
func TestFailureInASharedCommit(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	h := ask(t, s, startRun(t, s, "r-sharedsh"), "p-sharedsh")
	other := startRun(t, s, "r-shareoth")
	if _, err := s.Answer(ctx, "p-sharedsh", json.RawMessage(`1`), "first"); err != nil {
		t.Fatal(err)
	}
	results := make([]chan error, 2)
	for i := range results {
		results[i] = make(chan error, 1)
	}
	err := s.file.Between(func(*sqlitefile.Statements) error { // while this runs, the two queue up, and then share a commit
		go func() {
			_, err := s.Append(ctx, h, events(journal.RunNoted{Text: "lost"}, journal.RequestAnswered{ID: "p-sharedsh", Answer: json.RawMessage(`2`)}), AppendOptions{})
			results[0] <- err
		}()
		waitFor(s, 1)
		go func() {
			_, err := s.Append(ctx, other, events(journal.RunNoted{Text: "kept"}), AppendOptions{})
			results[1] <- err
		}()
		waitFor(s, 2)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-results[0]; !errors.As(err, new(*ConflictError)) {
		t.Error(err)
	}
	if err := <-results[1]; err != nil {
		t.Error(err)
	}
	if got := loadAll(t, s, h.Run); len(got) != int(h.Seq) {
		t.Errorf("the failed batch left %d facts", len(got)-int(h.Seq))
	}
	if got := loadAll(t, s, other.Run); len(got) != int(other.Seq)+1 {
		t.Error("the other batch is not there")
	}
}

// A verdict to run puts the call back before its start; after another claim it counts as started
// again until it is judged afresh, as the fold has it.
func TestPhaseAfterAVerdict(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	h := startRun(t, s, "r-verdictv")
	a, _ := turnFacts(1, "c-11111111", "")
	h = appendAll(t, s, h, a, AppendOptions{})
	phase := func() journal.Phase {
		c, err := s.Call(ctx, "c-11111111")
		if err != nil {
			t.Fatal(err)
		}
		return c.Phase
	}
	again := append(events(journal.RunInterrupted{Cause: journal.CauseCrash}, journal.RunClaimed{Epoch: 2}),
		inTurn(1, journal.CallJudged{Place: journal.Place{Turn: 1, Attempt: 1}, Verdict: journal.VerdictAgain})...)
	h = appendAll(t, s, h, again, AppendOptions{})
	if p := phase(); p != journal.PhaseProposed {
		t.Errorf("after the verdict the call is %s", p)
	}
	claim := events(journal.RunInterrupted{Cause: journal.CauseCrash}, journal.RunClaimed{Epoch: 3})
	for i := range claim {
		claim[i].Seq = h.Seq + int64(i) + 1
	}
	state, err := recovery.Fold(append(loadAll(t, s, h.Run), claim...))
	if err != nil {
		t.Fatal(err)
	}
	appendAll(t, s, h, claim, AppendOptions{State: state})
	if p := phase(); p != state.Turns[0].Calls[0].Phase || p != journal.PhaseStarted {
		t.Errorf("after another claim the call is %s and the fold has %s", p, state.Turns[0].Calls[0].Phase)
	}
}

// A question that stands for a call keeps a verdict to run it once more over the next claim. The
// end of the question makes the call a started one again, in its row as in the fold.
func TestPhaseAfterAQuestionOverAClaim(t *testing.T) {
	for name, end := range map[string]journal.Body{
		"answered": journal.RequestAnswered{ID: "p-overclaim", Answer: json.RawMessage(`"yes"`)},
		"closed":   journal.RequestClosed{ID: "p-overclaim", Status: RequestCancelled},
	} {
		s := openStore(t, stateDir(t))
		h := startRun(t, s, "r-overclaim")
		a, _ := turnFacts(1, "c-11111111", "")
		h = appendAll(t, s, h, a, AppendOptions{})
		at := journal.Place{Turn: 1, Attempt: 1}
		permission := journal.Request{ID: "p-overclaim", Question: journal.Question{Kind: journal.RequestPermission}, Call: &at, Binding: "bound"}
		for _, step := range []struct {
			facts []journal.Event
			phase journal.Phase
		}{
			{events(journal.RunInterrupted{Cause: journal.CauseCrash}, journal.RunClaimed{Epoch: 2}), journal.PhaseStarted},
			{inTurn(1, journal.CallJudged{Place: at, Verdict: journal.VerdictAgain}, journal.RequestOpened{Request: permission}), journal.PhaseProposed},
			{events(journal.RunInterrupted{Cause: journal.CauseCrash}, journal.RunClaimed{Epoch: 3}), journal.PhaseProposed},
			{inTurn(1, end), journal.PhaseStarted},
		} {
			for i := range step.facts {
				step.facts[i].Seq = h.Seq + int64(i) + 1
			}
			state, err := recovery.Fold(append(loadAll(t, s, h.Run), step.facts...))
			if err != nil {
				t.Fatal(err)
			}
			h = appendAll(t, s, h, step.facts, AppendOptions{State: state})
			c, err := s.Call(t.Context(), "c-11111111")
			if err != nil {
				t.Fatal(err)
			}
			if folded := state.Turns[0].Calls[0].Phase; c.Phase != step.phase || folded != step.phase {
				t.Errorf("%s: after %s the call is %s, and %s in the fold", name, step.facts[len(step.facts)-1].Body.Kind(), c.Phase, folded)
			}
		}
	}
}

// Several turns of a run, also beside those of another, can be written in one commit: each result
// finds the row of its call.
func TestTurnsOfOneCommit(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	h, other := startRun(t, s, "r-together"), startRun(t, s, "r-other000")
	var facts []journal.Event
	for n := 1; n <= 3; n++ {
		a, b := turnFacts(n, fmt.Sprintf("c-0000000%d", n), fmt.Sprint("result ", n))
		facts = append(append(facts, a...), b...)
		if n == 1 {
			h, facts = appendAll(t, s, h, facts, AppendOptions{}), nil
			a, _ := turnFacts(1, "c-99999999", "")
			appendAll(t, s, other, a, AppendOptions{})
		}
	}
	appendAll(t, s, h, facts, AppendOptions{})
	for n := 1; n <= 3; n++ {
		c, err := s.Call(ctx, fmt.Sprintf("c-0000000%d", n))
		if err != nil || c.Run != h.Run || c.Turn != n || c.Phase != journal.PhaseSettled || c.Result == nil || c.Result.Content != fmt.Sprint("result ", n) {
			t.Errorf("call of turn %d: %+v, %v", n, c, err)
		}
	}
	if c, err := s.Call(ctx, "c-99999999"); err != nil || c.Phase != journal.PhaseStarted {
		t.Errorf("call of the other run: %+v, %v", c, err)
	}
}

// The caller's context is looked at before its batch is queued; after that the batch is written.
func TestContextBeforeTheQueue(t *testing.T) {
	s := openStore(t, stateDir(t))
	h := startRun(t, s, "r-contextc")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Append(ctx, h, inTurn(0, journal.RunNoted{Text: "x"}), AppendOptions{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancel(context.Background())
	s.o.Hit = func(fault.Point) { cancel() }
	if _, err := s.Append(ctx, h, inTurn(0, journal.RunNoted{Text: "y"}), AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := loadAll(t, s, h.Run); !reflect.DeepEqual(got[len(got)-1].Body, journal.RunNoted{Text: "y"}) {
		t.Error("the batch is not there")
	}
}

// Large bodies leave the row, very large ones the database, and come back whole. JRN-16
// EX-45.
func TestLargeBodies(t *testing.T) {
	ctx := context.Background()
	for name, size := range map[string]int{"row": 1 << 10, "blob": 100 << 10, "file": 600 << 10} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, stateDir(t))
			h := startRun(t, s, "r-largelar")
			a, b := turnFacts(1, "c-11111111", strings.Repeat("0123456789abcdef", size/16))
			set := b[0].Body.(journal.CallSettled)
			set.Result.Full = []byte(strings.Repeat("fedcba9876543210", size/16))
			b[0].Body = set
			h = appendAll(t, s, h, a, AppendOptions{})
			h = appendAll(t, s, h, b, AppendOptions{})
			got := loadAll(t, s, h.Run)
			if diff := cmp.Diff(append(a, b...), got[3:]); diff != "" {
				t.Error("what is read is not what was written")
			}
			out, n, err := s.Output(ctx, "c-11111111")
			if err != nil || n != int64(size) {
				t.Fatal(n, err)
			}
			if whole := make([]byte, n); true {
				if _, err := out.ReadAt(whole, 0); err != nil || string(whole) != string(set.Result.Full) {
					t.Error("the output is not what was written", err)
				}
			}
			if list, leftover := damages(t, s); len(list) > 0 || len(leftover) > 0 {
				t.Errorf("%q %q", list, leftover)
			}
			if n := bodySize(t, s); name == "file" != (n > 0) {
				t.Errorf("%d bytes lie in files", n)
			}
			if fileSize(t, s.file.Path()) > 300<<10 {
				t.Errorf("the database has %d bytes", fileSize(t, s.file.Path()))
			}
		})
	}
}

// A commit that fails stops the writer for good: nobody knows what is on the disk.
func TestFailStop(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	h := startRun(t, s, "r-failstop")
	broken := fmt.Errorf("the disk: %w", sqliteError(t, s))
	err := s.write(ctx, func(*tx) error { return broken })
	if !errors.As(err, new(*CommitError)) {
		t.Fatal(err)
	}
	if _, err := s.Append(ctx, h, inTurn(0, journal.RunNoted{Text: "x"}), AppendOptions{}); !errors.As(err, new(*CommitError)) {
		t.Errorf("the store went on: %v", err)
	}
	if _, err := s.Answer(ctx, "p-xxxxxxxx", json.RawMessage(`1`), ""); !errors.As(err, new(*CommitError)) {
		t.Errorf("the store went on: %v", err)
	}
	if got := loadAll(t, s, h.Run); len(got) != int(h.Seq) {
		t.Errorf("%d facts", len(got))
	}
}

// sqliteError makes an error of the database that is not about a constraint.
func sqliteError(t *testing.T, s *Store) error {
	t.Helper()
	_, err := s.file.Readers().Exec("SELECT * FROM nowhere")
	if !errors.As(err, new(*sqlite.Error)) {
		t.Fatal(err)
	}
	return err
}

func TestClosedStore(t *testing.T) {
	ctx := context.Background()
	dir := stateDir(t)
	s := openStore(t, dir)
	h := startRun(t, s, "r-closedcl")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(ctx, h, inTurn(0, journal.RunNoted{Text: "x"}), AppendOptions{}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := s.Runs(ctx, Filter{}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	for _, end := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(s.file.Path() + end); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", end, err)
		}
	}
}

// RUN-05: a fact that cannot follow where the run stands is refused as what it is, before anything
// is written.
func TestOnlyWhatCanFollowIsWritten(t *testing.T) {
	s := openStore(t, stateDir(t))
	h := ask(t, s, startRun(t, s, "r-follows1"), "p-follows1")
	for _, b := range []journal.Body{journal.RunCompleted{}, journal.ModelRequested{}, journal.RunCreated{Run: "r-follows1"}} {
		_, err := s.Append(t.Context(), h, events(b), AppendOptions{})
		if !errors.As(err, new(*CorruptError)) || !strings.Contains(err.Error(), "the run is waiting") {
			t.Errorf("%s: %v", b.Kind(), err)
		}
	}
	appendAll(t, s, h, events(journal.RunNoted{Text: "noted"}), AppendOptions{})
}
