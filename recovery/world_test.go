package recovery

import (
	"agent/recovery/journal"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// sim is a host and a world that are made of choices: which answers the model gives, how calls end,
// where the owner dies, what is found afterwards, what people say. It drives a run through the
// package as a host would, one fact at a time, so that an owner can die between any two of them.
type sim struct {
	pick  func(n int, what string) int // a choice from 0 to n-1; 0 is the harmless one
	next  func(*State) Action
	judge func(*Call, *journal.Request, Evidence) Judgement

	s      *State
	events []journal.Event
	check  *checker
	now    time.Time
	rough  int                      // so many steps may still go wrong; then the environment behaves
	turns  int                      // after so many answers the model is done
	world  map[journal.Place]*deeds // what really happened, by turn and index
	flying map[journal.Place]bool   // calls that act inside the owner, or are attached to
	asked  int
	base   int64 // the epoch of the owner who recorded the base
	look   int64
	others []journal.Unknown // what an earlier run of the thread left unknown
	wrong  string            // the first thing that must not be
}

// deeds is what one call did to the world.
type deeds struct {
	tool    string
	effects int
	fate    fate // of the present attempt
}

type fate int

const (
	fateNever   fate = iota // it did nothing, and there is proof
	fateRunning             // its process goes on without the host
	fateEnded               // its process ended and left its record
	fateDid                 // it did what it does, and there is no record
	fateDidNot              // it did nothing, and there is no record
)

func newSim(pick func(int, string) int) *sim {
	m := &sim{
		pick: pick, next: Next, judge: Judge, s: &State{Acting: acting}, check: newChecker(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		world: map[journal.Place]*deeds{}, flying: map[journal.Place]bool{},
	}
	return m
}

// live carries one run from its creation to its end.
func (m *sim) live() {
	m.rough, m.turns = m.pick(120, "rough steps"), 1+m.pick(6, "turns")
	mode := journal.Modes()[3-m.pick(4, "mode")]
	m.add(journal.RunCreated{
		Run: "r-1", Thread: "t-1", Prompt: "do it", Folder: "/w", Model: "m", Mode: mode,
		Limits: journal.Limits{MaxTurns: m.pick(4, "limit")}, Authored: m.pick(4, "authored") == 1, Setup: m.setup(),
	})
	if m.pick(4, "inherit") == 1 {
		m.others = []journal.Unknown{{
			Run: "r-0", ID: "c-old", Place: journal.Place{Turn: 2, Attempt: 1}, Tool: "post", Args: json.RawMessage(`{"what":"a"}`), Fingerprint: "post:a",
			Alive: m.pick(2, "alive") == 1, Resolved: []journal.Word{"", journal.WordLeave, journal.WordHappened}[m.pick(3, "resolved")],
		}}
		if m.pick(3, "done") == 1 {
			first := &m.others[0]
			first.Alive, first.Resolved, first.Done, first.Outcome = false, "", true, journal.OutcomeOK
		}
	}
	m.drive(600)
}

// setup is a model without a wire, or one with a window so small that it fills.
func (m *sim) setup() journal.Setup {
	if m.pick(3, "provider") == 0 {
		return journal.Setup{}
	}
	return journal.Setup{
		Provider: "anthropic", System: "You work.", Window: []int64{0, 60, 120, 400}[m.pick(4, "window")],
		NoCompact: m.pick(6, "no compaction") == 1,
	}
}

// drive goes on until the run is done, and says that it is stuck after so many steps.
func (m *sim) drive(steps int) {
	for range steps {
		if m.wrong != "" {
			return
		}
		if m.rough > 0 {
			m.rough--
			m.disturb()
		}
		if _, done := m.step().(Done); done || m.wrong != "" {
			return
		}
	}
	m.fail("stuck: %s, next is %s", m.s.Status, sayAction(m.next(m.s)))
}

func (m *sim) fail(format string, args ...any) {
	if m.wrong == "" {
		m.wrong = fmt.Sprintf(format, args...)
	}
}

func (m *sim) add(b journal.Body) bool {
	turn := len(m.s.Turns)
	switch b.(type) {
	case journal.ModelRequested, journal.ModelAnswered, journal.ModelFailed, journal.MessageAdded:
		turn++
	}
	m.now = m.now.Add(time.Second)
	e := journal.Event{Seq: m.s.Seq + 1, Turn: turn, Time: m.now, Body: b}
	if err := m.s.Apply(e); err != nil {
		m.fail("a fact that the host had reason to record is refused: %v", err)
		return false
	}
	m.events = append(m.events, e)
	if err := m.check.see(e); err != "" {
		m.fail("fact %d: %s", e.Seq, err)
	}
	return true
}

// disturb lets something happen that the owner did not choose.
func (m *sim) disturb() {
	switch m.pick(12, "disturbance") {
	case 1:
		m.crash()
	case 5, 6, 7, 8:
		if len(m.flying) > 0 {
			m.crash()
		}
	case 3:
		if m.s.Status == StatusRunning || m.s.Status == StatusWaiting {
			why := []journal.Stop{journal.StopCancelled, journal.StopDeadline, journal.StopPanic}[m.pick(3, "why")]
			if m.pick(6, "stop") == 1 {
				m.add(journal.RunStopping{Why: why, By: "ana", Reason: "it shall end"})
			}
		}
	case 4:
		if unknown := m.s.UnknownCalls(); len(unknown) > 0 && m.s.Status != StatusQueued {
			c := unknown[m.pick(len(unknown), "which")]
			m.add(journal.CallResolved{Place: c.Place, Word: []journal.Word{journal.WordHappened, journal.WordLeave}[m.pick(2, "word")], By: "ana"})
		}
	case 10:
		if m.s.Status == StatusRunning || m.s.Status == StatusWaiting {
			m.looks(nil)
		}
	case 9:
		if m.s.Status == StatusWaiting && len(m.others) > 0 && m.others[0].Resolved != journal.WordHappened {
			b := journal.CallResolved{Place: m.others[0].Place, Run: m.others[0].Run, Word: journal.WordHappened, By: "ana"}
			m.add(b)
			m.passOn(b)
		}
	}
}

// passOn lets a person's decision reach the other run that it is about, or not yet.
func (m *sim) passOn(b journal.CallResolved) {
	if b.Run == "" || len(m.others) == 0 || m.pick(2, "passed on") > 0 {
		return
	}
	m.others = slices.Clone(m.others)
	m.others[0].Resolved, m.others[0].By = b.Word, b.By
	if b.Word == journal.WordRun {
		m.others = nil
	}
}

// ownerGone ends the owner. What it was doing comes to one of the ends that are possible for the
// tool.
func (m *sim) ownerGone() {
	for _, at := range m.inFlight() {
		d := m.world[at]
		switch d.tool {
		case "shell":
			if d.fate == fateRunning {
				d.fate = []fate{fateRunning, fateEnded, fateDid}[m.pick(3, "fate")]
			} else {
				d.fate = []fate{fateNever, fateRunning, fateEnded, fateDid, fateDidNot}[m.pick(5, "fate")]
			}
		default:
			d.fate = []fate{fateDidNot, fateDid}[m.pick(2, "fate")]
		}
		if d.fate == fateDid || d.fate == fateEnded {
			d.effects++
		}
		delete(m.flying, at)
	}
}

// crash ends the owner, and lets another one claim the run.
func (m *sim) crash() {
	m.ownerGone()
	if m.s.Status != StatusQueued && m.pick(16, "a person commits") == 1 {
		m.commit(nil)
	}
	if !m.s.Status.Terminal() && m.pick(16, "restored") == 1 { // a database that went back in time, with this run as it is now
		m.add(journal.RunRestored{Reason: "it is behind its mark", By: "ana", Nothing: m.pick(4, "nothing after") == 1})
		m.claim()
		return
	}
	if !m.s.Status.Terminal() && m.pick(40, "moved") == 1 { // to another store, or back from one
		m.move()
		return
	}
	if m.s.Status == StatusRunning && m.pick(3, "mark") > 0 {
		m.add(journal.RunInterrupted{Cause: []journal.Cause{journal.CauseCrash, journal.CauseShutdown}[m.pick(2, "cause")]})
	}
	if m.s.Status == StatusRunning || m.s.Status == StatusWaiting {
		m.claim()
	}
}

// move has the run leave for another store, where it is claimed.
func (m *sim) move() {
	if m.s.Status != StatusInterrupted {
		m.add(journal.RunInterrupted{Cause: journal.CauseMoved})
	}
	if m.s.Open != nil {
		m.add(journal.RequestClosed{ID: m.s.Open.ID, Status: "cancelled", Reason: "it is asked again where the run goes", Again: true})
	}
	m.add(journal.RunExported{To: "agent-store-1-there", Pack: "k-9q3d7abc"})
	m.claim()
}

// inFlight lists what flies, always in the same order, so that the same choices make the same
// history.
func (m *sim) inFlight() []journal.Place {
	return slices.SortedFunc(maps.Keys(m.flying), func(a, b journal.Place) int { return cmp.Compare(a.Index, b.Index) })
}

func (m *sim) claim() {
	if m.s.Moved != nil { // it is taken back, or came to where it went
		m.add(journal.RunRestored{Reason: "it came here", Pack: m.s.Moved.Pack, Nothing: m.pick(4, "taken back") > 0})
		if m.pick(2, "behind") == 1 {
			m.add(journal.WorkspaceBehind{Folder: "/there", Files: []journal.BehindFile{{Path: "a.txt"}}})
		}
	}
	b := journal.RunClaimed{Epoch: m.s.Epoch + 1, PID: 1, Unknown: slices.Clone(m.others)}
	if m.rough > 0 && m.pick(8, "tighten") == 1 {
		b.Mode = journal.Modes()[m.pick(1+slices.Index(journal.Modes(), m.s.Mode), "mode")]
	}
	m.add(b)
	if len(m.others) > 0 && m.pick(3, "ended since") == 1 {
		m.add(journal.RunNoted{Text: "nothing of it runs any more", Gone: m.others[0].ID})
	}
	if !m.s.Created.Authored && m.pick(6, "message") == 1 {
		m.add(journal.MessageAdded{Text: "use the other file", By: "ana"})
	}
	if m.pick(8, "changed since") == 1 {
		m.add(journal.RunNoted{Text: "the tools of this binary differ"})
	}
}

func (m *sim) step() Action {
	action := m.next(m.s)
	switch a := action.(type) {
	case Record:
		for _, b := range a.Facts {
			if o, ok := b.(journal.RequestOpened); ok {
				b = m.request(o)
			}
			if r, ok := b.(journal.CallResolved); ok {
				m.passOn(r)
			}
			if !m.add(b) || m.rough > 0 && m.pick(10, "between facts") == 1 {
				break
			}
		}
	case Claim:
		m.claim()
	case Start:
		m.start(a.Calls)
	case Recover:
		c := a.Calls[m.pick(len(a.Calls), "which")]
		for _, b := range m.judge(c, m.s.Open, m.evidence(c)).Facts(c) {
			m.add(b)
			if m.rough > 0 && m.pick(10, "in recovery") == 1 {
				m.crash()
				break
			}
		}
		if c.Phase == journal.PhaseStarted && c.Judged == journal.VerdictAttach {
			m.flying[key(c)] = true
		}
	case Await:
		if len(a.Calls) == 1 && m.pick(6, "the tool") == 1 {
			m.elicits(a.Calls[0])
		} else if len(a.Calls) > 0 {
			m.finish(a.Calls[m.pick(len(a.Calls), "which")], false)
		}
	case StopCalls:
		m.finish(a.Calls[m.pick(len(a.Calls), "which")], true)
	case CallModel:
		if len(m.s.Messages()) < 1+len(m.s.Turns)-m.summarised() {
			m.fail("a turn is missing in what the model is shown")
		}
		if wrong := unpaired(m.s.Messages()); wrong != "" {
			m.fail("the model is shown %s", wrong)
		}
		if m.modelFails() {
			return action
		}
		m.answer()
	case Compact:
		m.summarise(a)
	case AskPerson:
		m.say(a.Request)
	}
	return action
}

// elicits has a call ask a person while it is under way.
func (m *sim) elicits(c *Call) {
	at := c.Place
	m.add(m.request(journal.RequestOpened{Request: journal.Request{
		Question: journal.Question{Kind: journal.RequestElicit, Message: "which branch?", Schema: json.RawMessage(`{"type":"object"}`)}, Call: &at,
	}}))
}

func key(c *Call) journal.Place { return journal.Place{Turn: c.Turn, Index: c.Index} }

func (m *sim) request(o journal.RequestOpened) journal.RequestOpened {
	m.asked++
	o.Request.ID, o.Request.Opened, o.Request.Binding = fmt.Sprintf("p-%d", m.asked), m.now, "bound"
	return o
}

func (m *sim) start(calls []*Call) {
	for _, c := range calls {
		if c.Approved != "" && m.rough > 0 && m.pick(8, "void") == 1 {
			m.add(journal.ApprovalVoided{Place: c.Place, Reason: "the folder changed"})
			return
		}
		if m.rough > 0 && m.pick(12, "cannot be prepared") == 1 {
			m.add(NotRun(c, journal.OutcomeError, "its folder is gone"))
			return
		}
		at := c.Place
		at.Attempt++
		if c.Effect != journal.EffectRead {
			m.looks(nil)
		}
		if !m.add(journal.CallStarted{Place: at, Binding: c.Approved}) {
			return
		}
		m.begin(c)
		if m.rough > 0 && m.pick(10, "between starts") == 1 {
			m.crash()
			return
		}
	}
}

// begin has the call act. It may have acted before only where that does no harm.
func (m *sim) begin(c *Call) {
	d := m.world[key(c)]
	if d == nil {
		d = &deeds{tool: c.Tool}
		m.world[key(c)] = d
	}
	if d.fate == fateRunning || d.effects > 0 && c.Effect != journal.EffectRead && !c.RetrySafe {
		m.fail("call %s acts a second time: it has acted %d times", c.Place, d.effects)
	}
	d.fate = fateDidNot
	m.flying[key(c)] = true
}

// evidence is what can truly be found of a lost call, sometimes less.
func (m *sim) evidence(c *Call) Evidence {
	e := Evidence{ToolKnown: true, Restored: true, EffectNow: c.Effect, RetryNow: c.RetrySafe}
	if m.rough > 0 {
		e.ToolKnown, e.Restored = m.pick(8, "tool gone") != 1, m.pick(8, "arguments lost") != 1
		e.RetryNow = c.RetrySafe && m.pick(4, "not safe any more") != 1
	}
	d := m.world[key(c)]
	if d == nil {
		return e // a journal that was cut: nothing is known about the world
	}
	ok := journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, Content: "done"}
	switch {
	case !e.ToolKnown:
	case d.tool == "shell":
		m.sight(d, &e, ok)
	case d.tool == "write" && m.pick(4, "someone else wrote") == 1:
		e.Inspection = Inspection{Answer: InspectionUnclear}
	case d.tool == "write" && d.fate == fateDid:
		e.Inspection = Inspection{Answer: InspectionHappened, Result: &ok}
	case d.tool == "write":
		e.Inspection = Inspection{Answer: InspectionNotHappened}
	}
	return e
}

// sight is what a runner's files say.
func (m *sim) sight(d *deeds, e *Evidence, ok journal.Result) {
	if d.fate == fateRunning && m.pick(3, "ended since") == 1 {
		d.fate = fateEnded
		d.effects++
	}
	switch d.fate {
	case fateNever:
		e.Process.State = ProcessNever
	case fateRunning:
		e.Process.State = ProcessRunning
	case fateEnded:
		e.Process.State, e.Process.Result = ProcessEnded, &ok
	case fateDid, fateDidNot:
		e.Process.State = ProcessLost
	}
}

// finish ends a call under its owner.
func (m *sim) finish(c *Call, stopped bool) {
	d := m.world[key(c)]
	r := journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, How: journal.HowExecuted, Content: "done"}
	if c.Judged == journal.VerdictAttach {
		r.How = journal.HowAttached
	}
	end := 0
	if m.rough > 0 || stopped {
		end = m.pick(4, "end")
	}
	switch end {
	case 1:
		r.Outcome, r.Content = journal.OutcomeError, "exit status 1"
	case 2, 3:
		if c.Effect != journal.EffectRead {
			r.Outcome, r.Applied, r.Content = journal.OutcomeUnknown, journal.AppliedUnknown, "stopped on its way"
		}
	}
	if d != nil {
		if end != 3 {
			d.effects++
		}
		d.fate = fateEnded
	}
	delete(m.flying, key(c))
	m.add(journal.CallSettled{Place: c.Place, Fingerprint: c.Fingerprint, Result: r})
	if c.Effect != journal.EffectRead && m.base == m.s.Epoch && m.wrong == "" {
		m.looks(&c.Place)
	}
}

// looks records what a look at the workspace found, if anything: the first of an owner is the base.
func (m *sim) looks(during *journal.Place) {
	m.look++
	if during == nil && m.base != m.s.Epoch {
		m.base = m.s.Epoch
		m.add(journal.FilesBase{Look: m.look, Mode: []journal.KeepMode{journal.KeepAll, journal.KeepTools}[m.pick(2, "kept")]})
		return
	}
	if m.pick(8, "committed") == 1 {
		m.commit(during)
	}
	if m.pick(2, "files changed") == 0 {
		return
	}
	proof := journal.ProofOutside
	if during != nil {
		at := *during
		during, proof = &at, journal.ProofWhile
	}
	before, after := &journal.FileVersion{Mode: 0o644, Size: m.look, Kept: fmt.Sprintf("k-%d", m.look)}, &journal.FileVersion{Kind: journal.FileFolder, Mode: 0o755}
	m.add(journal.FilesChanged{Look: m.look, During: during, Changes: []journal.FileChange{journal.NewFileChange("a\xff", proof, before, after)}})
}

// commit records that a commit holds work of the run.
func (m *sim) commit(during *journal.Place) {
	b := journal.CommitSeen{Checkpoint: "k-93ff3ee0aaaa", Commit: "93ff3ee", Tree: "4b825dc", Relation: journal.CommitMade, Proof: journal.CommitByBlobs}
	if during != nil {
		at := *during
		b.During, b.Proof = &at, journal.CommitByWindow
	}
	m.add(b)
}

// modelFails lets a request bring no answer.
func (m *sim) modelFails() bool {
	if m.s.Created.Setup.Provider == "" || m.rough == 0 || m.pick(4, "the model") != 1 {
		return false
	}
	faults := []journal.Fault{journal.FaultOverloaded, journal.FaultCut, journal.FaultContext, journal.FaultKey, journal.FaultFiltered}
	m.fails(faults[m.pick(len(faults), "fault")])
	return true
}

func (m *sim) fails(f journal.Fault) {
	b := journal.ModelFailed{Fault: f, Detail: string(f), Tries: m.s.Tries() + 1}
	b.Wait, b.Again = Retry(f, b.Tries, 0, 0)
	if m.pick(2, "charged") == 1 {
		b.Usage = m.s.Charge("")
	}
	m.add(b)
}

// summarised is the number of turns that the last summary stands for.
func (m *sim) summarised() int {
	for _, e := range slices.Backward(m.events) {
		if b, ok := e.Body.(journal.ContextCompacted); ok {
			return b.Through
		}
	}
	return 0
}

// summarise asks the model for a summary. What it must stand for is settled, and what it leaves is
// shown in pairs.
func (m *sim) summarise(a Compact) {
	got, shown := m.s.SummaryMessages(a.Through), m.s.Messages()
	if len(got) < 2 {
		m.fail("a summary of nothing")
	}
	overflow, _ := m.s.shown.Overflow()
	if n := len(got) - 1; !overflow && !reflect.DeepEqual(got[:n], shown[:n]) {
		m.fail("the summary is made from something else than the model was shown")
	}
	if m.rough > 0 && m.pick(4, "the summary") == 1 {
		m.fails([]journal.Fault{journal.FaultOverloaded, journal.FaultContext, journal.FaultKey}[m.pick(3, "fault")])
		return
	}
	m.add(journal.ContextCompacted{Through: a.Through, Summary: "what was before"})
	if wrong := unpaired(m.s.Messages()); wrong != "" {
		m.fail("after the summary: %s", wrong)
	}
}

// unpaired says which call or result stands alone in a transcript; "" when none does.
func unpaired(messages []journal.Message) string {
	open := map[string]bool{}
	for _, msg := range messages {
		for _, b := range msg.Blocks {
			switch {
			case b.Call != nil:
				open[b.Call.ID] = true
			case b.Result != nil && !open[b.Result.ID]:
				return "a result without its call: " + b.Result.ID
			case b.Result != nil:
				delete(open, b.Result.ID)
			}
		}
	}
	for id := range open {
		return "a call without its result: " + id
	}
	return ""
}

// answer is the model's: a few calls, or the end.
func (m *sim) answer() {
	m.turns--
	b := journal.ModelAnswered{Blocks: []journal.Block{{Kind: journal.BlockText, Text: "I act."}}, Stop: journal.AnswerCalls}
	for i := range m.pick(5, "calls") {
		if m.turns >= 0 {
			b.Calls = append(b.Calls, m.proposal(i))
		}
	}
	if len(b.Calls) == 0 {
		ends := []journal.AnswerStop{journal.AnswerEnd, journal.AnswerFailed}
		if m.s.Created.Setup.Provider != "" {
			ends = append(ends, journal.AnswerLength, journal.AnswerPause, journal.AnswerRefuse)
		}
		b.Stop = ends[m.pick(len(ends), "end")]
	}
	if m.s.Created.Setup.Provider != "" && m.pick(2, "counted") == 1 {
		b.Usage = &journal.Usage{Input: m.s.shown.Tokens(m.s.run()) + 20, Output: 10}
	}
	m.add(b)
}

func (m *sim) proposal(i int) journal.Proposal {
	tool := []string{"read", "shell", "write", "post", "put", "ask"}[m.pick(6, "tool")]
	what := []string{"a", "b"}[m.pick(2, "what")]
	switch m.pick(6, "spelled") {
	case 1: // the same with a limit that does not act
		what += " limit"
	case 2: // both, and something that changes nothing by itself
		what = "say a b"
	case 3: // what cannot be read, where it is a script
		what = "opaque"
	}
	p := journal.Proposal{
		ID: fmt.Sprintf("c-%d-%d", len(m.s.Turns)+1, i), Tool: tool, Args: json.RawMessage(`{ "what": "` + what + `" }`),
		Fingerprint: tool + ":" + what, Effect: journal.EffectWriteExternal, Decision: journal.DecisionAllow,
	}
	switch tool {
	case "read":
		p.Effect = journal.EffectRead
	case "write":
		p.Effect = journal.EffectWriteLocal
	case "put":
		p.RetrySafe = true
	case "ask":
		p.Effect = journal.EffectWriteLocal
		p.Question = &journal.Question{Kind: journal.RequestConfirm, Message: "go on?", Schema: json.RawMessage(schemaYesNo)}
		return p
	}
	if m.pick(10, "invalid") == 1 {
		p.Invalid = "arguments do not fit"
	}
	p.Decision, p.Why = permitted(m.s, p.Effect)
	if m.pick(8, "rule asks") == 1 {
		p.Decision = journal.DecisionAsk
	}
	return p
}

// acting reads what the world's calls do: words, of which "limit" is no part of what acts and "say"
// changes nothing. Of a shell each word is a command, and "opaque" is a script that cannot be read.
func acting(tool string, args json.RawMessage, _ string) Acts {
	var a struct{ What string }
	if err := json.Unmarshal(args, &a); err != nil {
		return Acts{}
	}
	words := slices.DeleteFunc(strings.Fields(a.What), func(w string) bool { return w == "limit" })
	acts := Acts{Text: strings.Join(words, " ")}
	if tool == "shell" && acts.Text == "opaque" {
		acts.Opaque = "it is opaque"
		return acts
	}
	if tool == "shell" {
		for _, w := range words {
			acts.Commands = append(acts.Commands, Command{Names: []string{w}, Idle: w == "say"})
		}
	}
	return acts
}

// permitted is the rule of the modes.
func permitted(s *State, e journal.Effect) (journal.Decision, string) {
	switch {
	case e == journal.EffectRead:
		return journal.DecisionAllow, ""
	case s.Mode == journal.ModePlan:
		return journal.DecisionDeny, "plan only reads"
	case s.Created.Authored, s.Mode == journal.ModeYolo, s.Mode == journal.ModeAuto && e == journal.EffectWriteLocal:
		return journal.DecisionAllow, ""
	}
	return journal.DecisionAsk, "it changes something"
}

// say is what people make of a question.
func (m *sim) say(r *journal.Request) {
	if r.Kind == journal.RequestElicit && m.pick(4, "the tool") == 1 { // it does not wait for the answer any longer
		m.add(journal.RequestClosed{ID: r.ID, Status: "cancelled", Reason: "the tool took it back"})
		if c, err := m.s.Call(*r.Call); err == nil {
			m.finish(c, false)
		}
		return
	}
	if m.rough > 0 {
		switch m.pick(6, "the question is") {
		case 1: // left open by its owner; another looks after it
			m.crash()
			return
		case 2:
			m.add(journal.RequestClosed{ID: r.ID, Status: []string{"expired", "cancelled"}[m.pick(2, "how")], Reason: "nobody answered"})
			return
		case 3: // answered while nobody drives the run
			m.ownerGone()
			m.add(journal.RunInterrupted{Cause: journal.CauseAnswered})
			m.claim()
			return
		}
	}
	answers := []string{"true", "false"}
	if r.Kind == journal.RequestTwin || r.Kind == journal.RequestCopy {
		answers = nil
		for _, c := range r.Choices {
			answers = append(answers, fmt.Sprintf("%q", c))
		}
	}
	m.add(journal.RequestAnswered{ID: r.ID, Answer: json.RawMessage(answers[m.pick(len(answers), "answer")]), By: "ana"})
}
