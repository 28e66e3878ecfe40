package command

import (
	"fmt"
	"strings"
	"time"

	"agent/host/stream"
	"agent/host/view"
	"agent/recovery"
)

// teller puts facts into lines for a person: as they happen, and later from the journal.
type teller struct {
	out   *screen
	whole bool // all that the journal says, for show: texts, results, questions, owners
	calls map[string]*toldCall
	runs  map[string]toldRun
	asked map[string]time.Time // since when each run's model is asked
	// thinking shows what a model thinks.
	thinking bool
	// learn finds out about a call whose answer was not told here, learnRun about a run; nil when nobody can.
	learn    func(run string, p recovery.Place) *recovery.Proposal
	learnRun func(run string) (recovery.RunCreated, bool)
}

// toldRun is what the lines about a run need to know of its beginning.
type toldRun struct {
	model  string
	thread bool // other runs of its thread came before it
	price  *recovery.Price
}

// toldCall is what is known of a call of a turn that is going.
type toldCall struct {
	recovery.Proposal
	since  time.Time // it runs since then; zero when it does not
	output *liveOutput
}

func newTeller(out *screen) *teller {
	return &teller{out: out, calls: map[string]*toldCall{}, runs: map[string]toldRun{}, asked: map[string]time.Time{}}
}

// of is what is known of a run.
func (t *teller) of(run string) toldRun {
	known, ok := t.runs[run]
	if !ok && t.learnRun != nil {
		if b, found := t.learnRun(run); found {
			known = told(b)
		}
		t.runs[run] = known
	}
	return known
}

func told(b recovery.RunCreated) toldRun {
	return toldRun{model: b.Model, thread: b.Previous != "", price: b.Setup.Price}
}

func key(run string, p recovery.Place) string { return fmt.Sprintf("%s/%d.%d", run, p.Turn, p.Index) }

// call is what is known of a call; never nil.
func (t *teller) call(run string, p recovery.Place) *toldCall {
	c := t.calls[key(run, p)]
	if c == nil {
		c = &toldCall{}
		if t.learn != nil {
			if found := t.learn(run, p); found != nil {
				c.Proposal = *found
			}
		}
		t.calls[key(run, p)] = c
	}
	return c
}

func (c *toldCall) name() string {
	if c.Tool == "" {
		return "call"
	}
	return view.CallName(c.Tool, c.Args)
}

// line prints one sanitized text with a mark before it; further lines of the text are set in below it.
func (t *teller) line(st style, mark, text string) {
	text = strings.ReplaceAll(stream.Sanitize(text), "\n", "\n  ")
	t.out.print(t.out.paint(st, mark) + " " + text)
}

// block prints text set off, as output is.
func (t *teller) block(text string) {
	for _, l := range strings.Split(stream.Sanitize(text), "\n") {
		t.out.print(t.out.paint(dim, "  │ ") + l)
	}
}

// fact tells one fact.
func (t *teller) fact(run string, e recovery.Event) {
	switch b := e.Body.(type) {
	case recovery.RunCreated:
		t.created(b)
	case recovery.ModelRequested:
		t.asked[run] = e.Time
	case recovery.ModelAnswered:
		t.answered(run, e, b)
	case recovery.CallStarted:
		c := t.call(run, b.Place)
		c.since = e.Time
		t.line(cyan, ">", fmt.Sprintf("%s %s%s%s%s", b.Place, t.id(c.ID), c.name(), attempt(b.Place), view.AllowedBy(c.Proposal, t.whole)))
	case recovery.CallSettled:
		t.settled(run, b)
	case recovery.CallJudged:
		c := t.call(run, b.Place)
		if b.Verdict == recovery.VerdictAttach {
			c.since = e.Time
		}
		t.line(yellow, "~", view.VerdictLine(b.Place, c.name(), b.Verdict, b.Reason))
	case recovery.CallResolved:
		t.line(yellow, "~", fmt.Sprintf("%s %s: %s says: %s", b.Place, t.resolved(run, b), view.OrPerson(b.By), b.Word))
	case recovery.ApprovalVoided:
		t.line(yellow, "!", fmt.Sprintf("%s %s: its permission is void: %s", b.Place, t.call(run, b.Place).name(), b.Reason))
	case recovery.TurnSettled:
		t.forget(run, e.Turn)
	case recovery.ModelFailed:
		t.asked[run] = e.Time.Add(b.Wait)
		if !t.whole && !b.Again && b.Fault != recovery.FaultContext {
			return // it ends the run, or interrupts it: the last lines say it, with the remedy
		}
		t.line(yellow, "!", view.FailedText(t.of(run).model, b))
	case recovery.ContextCompacted:
		t.asked[run] = e.Time
		t.compacted(run, b)
	case recovery.RunNoted:
		t.asked[run] = t.asked[run].Add(b.Clock)
		t.aboutRun(e)
	case recovery.RunClaimed:
		t.asked[run] = e.Time // a request that an earlier owner sent is sent again
		if m := b.Model; m != nil {
			known := t.of(run)
			known.model, known.price = m.Name, m.Price
			t.runs[run] = known
		}
		t.aboutRun(e)
	default:
		t.aboutRun(e)
	}
}

func attempt(p recovery.Place) string {
	if p.Attempt < 2 {
		return ""
	}
	return fmt.Sprintf(" (attempt %d)", p.Attempt)
}

func (t *teller) id(id string) string {
	if !t.whole || id == "" {
		return ""
	}
	return id + " "
}

func (t *teller) resolved(run string, b recovery.CallResolved) string {
	if b.Run != "" && b.Run != run {
		return "of run " + b.Run
	}
	return t.call(run, b.Place).name()
}

// aboutRun tells facts that belong to no call.
func (t *teller) aboutRun(e recovery.Event) {
	switch b := e.Body.(type) {
	case recovery.RunNoted:
		t.line(yellow, "!", b.Text)
	case recovery.MessageAdded:
		t.line(bold, "+", fmt.Sprintf("%s to the model: %s", view.OrPerson(b.By), b.Text))
	case recovery.RunStopping:
		t.line(yellow, "!", "stopping: "+b.Reason)
	case recovery.RequestAnswered:
		t.line(bold, "?", fmt.Sprintf("%s answered by %s: %s", b.ID, view.OrPerson(b.By), recovery.Text(b.Answer)))
	case recovery.RequestClosed:
		t.line(bold, "?", fmt.Sprintf("%s %s: %s", b.ID, b.Status, b.Reason))
	default:
		if t.whole {
			t.forTheRecord(e)
		}
	}
}

// forTheRecord tells what a person who watches a run in its own terminal is told in another way.
func (t *teller) forTheRecord(e recovery.Event) {
	switch b := e.Body.(type) {
	case recovery.RunClaimed:
		if b.Epoch > 1 {
			t.line(yellow, "~", fmt.Sprintf("%s process %d on %s goes on with the run%s", view.Stamp(e.Time), b.PID, b.Host, tighter(b)))
		}
	case recovery.RunInterrupted:
		t.line(yellow, "!", view.Stamp(e.Time)+" interrupted: "+view.CauseText(b.Cause, b.Detail))
	case recovery.RunRestored:
		t.line(yellow, "!", fmt.Sprintf("%s interrupted: %s; %s let the database count", view.Stamp(e.Time), view.CauseText(recovery.CauseRestored, b.Reason), view.OrPerson(b.By)))
	case recovery.RequestOpened:
		t.line(bold, "?", b.Request.ID+" asks: "+view.AskText(&b.Request))
	case recovery.RunCompleted:
		t.line(green, "=", view.Stamp(e.Time)+" completed")
	case recovery.RunFailed:
		t.line(red, "=", view.Stamp(e.Time)+" failed: "+b.Reason)
	case recovery.RunCancelled:
		t.line(yellow, "=", view.Stamp(e.Time)+" cancelled: "+b.Reason)
	}
}

func tighter(b recovery.RunClaimed) string {
	text := ""
	if b.Mode != "" {
		text += ", mode " + string(b.Mode)
	}
	if b.Limits != nil {
		text += ", " + view.LimitText(*b.Limits)
	}
	return text
}

// created tells what is to be done, by what, where and under which rules, and how to watch it and go on with it.
func (t *teller) created(b recovery.RunCreated) {
	t.runs[b.Run] = told(b)
	if t.whole {
		return // show has a head of its own
	}
	t.line(bold, "run", fmt.Sprintf("%s  model %s, mode %s, %s, in %s", b.Run, view.ModelText(b), b.Mode, view.LimitText(b.Limits), b.Folder))
	t.line(dim, " ", fmt.Sprintf("watch: agent show --follow %s   after an interruption: agent resume %s", b.Run, b.Run))
	if b.Input != "" {
		t.line(dim, " ", "piped in: "+view.Bytes(int64(len(b.Input))))
	}
	if files := view.ShownFiles(b); files != "" {
		t.line(dim, " ", "shown to the model: "+files)
	}
}

// answered learns the turn's calls, and tells what the model said where the person does not get it in another way: the
// last words of a run that is done are its answer.
func (t *teller) answered(run string, e recovery.Event, b recovery.ModelAnswered) {
	for i := range b.Calls {
		t.calls[key(run, recovery.Place{Turn: e.Turn, Index: i})] = &toldCall{Proposal: b.Calls[i]}
	}
	if t.whole {
		t.line(dim, "#", fmt.Sprintf("%s turn %d%s", view.Stamp(e.Time), e.Turn, view.TurnUsage(b.Usage, t.of(run).price, e.Time.Sub(t.asked[run]))))
	}
	t.think(thoughts(b))
	if text := spoken(b); text != "" && (t.whole || lastWords(b) != endDone) {
		t.out.print(stream.Sanitize(text))
	}
	if b.Stop == recovery.AnswerLength && len(b.Calls) == 0 {
		t.line(dim, "·", "the answer reached its length limit; the model is asked to go on with it")
	}
}

// What an answer is for the run.
const (
	endNot    = iota // calls follow, or the rest of it
	endDone          // it is the answer
	endFailed        // it says why there is none
)

func lastWords(b recovery.ModelAnswered) int {
	switch {
	case b.Stop == recovery.AnswerFailed, b.Stop == recovery.AnswerRefuse:
		return endFailed
	case len(b.Calls) > 0, b.Stop == recovery.AnswerLength, b.Stop == recovery.AnswerPause:
		return endNot
	}
	return endDone
}

// spoken is the text of an answer.
func spoken(b recovery.ModelAnswered) string { return textOf(b.Blocks, recovery.BlockText) }

// thoughts is what the model thought on its way to an answer, as far as the provider shows it.
func thoughts(b recovery.ModelAnswered) string { return textOf(b.Blocks, recovery.BlockReasoning) }

func textOf(blocks []recovery.Block, k recovery.BlockKind) string {
	var parts []string
	for _, block := range blocks {
		if block.Kind == k && block.Text != "" {
			parts = append(parts, block.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// settled tells how a call ended. What it printed was shown while it ran; where it was not, a part of the result is.
func (t *teller) settled(run string, b recovery.CallSettled) {
	c, r := t.call(run, b.Place), b.Result
	shown := c.output
	if shown != nil {
		shown.end("agent show " + c.ID)
		c.output = nil
	}
	c.since = time.Time{}
	st, mark := outcomeMark(r.Outcome)
	name := c.Tool
	if name == "" {
		name = "call"
	}
	words := view.ResultText(r)
	if name == "confirm_action" && r.Outcome == recovery.OutcomeOK && saidNo(r.Content) {
		st, mark, words = yellow, "-", "no"
	}
	unknown := r.Outcome == recovery.OutcomeUnknown
	if t.whole || !unknown || r.How != recovery.HowTold { // else recovery's decision was just shown
		t.line(st, mark, fmt.Sprintf("%s %s: %s", b.Place, name, words))
	}
	if text := t.resultText(c.ID, r, shown); text != "" {
		t.block(text)
	}
	for _, note := range r.PutBack {
		t.line(yellow, "!", "put back: "+note)
	}
	if unknown && len(r.Alive) > 0 { // how to decide stands at the end, once
		t.line(yellow, "!", c.name()+" may still be running: "+strings.Join(r.Alive, ", "))
	}
}

// resultText is what is shown of a result below the line that says how the call ended.
func (t *teller) resultText(id string, r recovery.Result, shown *liveOutput) string {
	content, more := strings.TrimRight(r.Content, "\n"), ""
	if id != "" {
		more = ": agent show " + id
	}
	whole := r.Size <= int64(len(r.Content))
	ran := r.How == recovery.HowAttached || r.How == recovery.HowAdopted
	switch {
	case content == view.EndText(r) || content == "[no output]":
		return ""
	case shown.some() && shown.lost:
		return view.ExcerptOf(content, 0, 10, more, whole)
	case shown.some():
		last := content[strings.LastIndexByte(content, '\n')+1:]
		if r.Outcome == recovery.OutcomeOK || last == view.EndText(r) {
			return ""
		}
		return last // how the command ended, in the words of its runner
	case t.whole || ran:
	case r.Outcome == recovery.OutcomeOK, r.Outcome == recovery.OutcomeUnknown && r.How == recovery.HowTold:
		return "" // recovery's decision says it
	}
	return view.ExcerptOf(content, 10, 10, more, whole)
}

// forget drops the calls of a turn that is over.
func (t *teller) forget(run string, turn int) {
	for i := 0; ; i++ {
		k := key(run, recovery.Place{Turn: turn, Index: i})
		if t.calls[k] == nil {
			return
		}
		delete(t.calls, k)
	}
}
