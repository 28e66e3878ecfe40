package terminal

import (
	"fmt"
	"strings"
	"time"

	"github.com/clipperhouse/displaywidth"

	"agent/host/stream"
	"agent/host/view"
	"agent/recovery/journal"
)

// Fact prints one fact.
func (t *Printer) Fact(run string, e journal.Event) {
	switch b := e.Body.(type) {
	case journal.RunCreated:
		t.created(b)
	case journal.ModelRequested:
		t.asked[run] = e.Time
	case journal.ModelAnswered:
		t.answered(run, e, b)
	case journal.CallStarted:
		t.started(run, e.Time, b)
	case journal.CallSettled:
		t.settled(run, b)
	case journal.CallJudged:
		c := t.call(run, b.Place)
		if b.Verdict == journal.VerdictAttach {
			c.since = e.Time
		}
		t.Line(Yellow, "~", view.VerdictLine(b.Place, c.name(), b.Verdict, b.Reason))
		c.said = true
	case journal.CallResolved:
		t.Line(Yellow, "~", fmt.Sprintf("%s %s: %s says: %s", b.Place, t.resolved(run, b), view.OrPerson(b.By), b.Word))
	case journal.ApprovalVoided:
		if b.Decision == journal.DecisionDeny {
			return // its refusal comes next, with the reason
		}
		t.Line(Yellow, "!", fmt.Sprintf("%s %s: its permission is void: %s", b.Place, t.call(run, b.Place).name(), b.Reason))
	case journal.TurnSettled:
		t.forget(run, e.Turn)
	case journal.ModelFailed:
		t.asked[run] = e.Time.Add(b.Wait)
		if !t.Whole && !b.Again && b.Fault != journal.FaultContext {
			return // it ends the run, or interrupts it: the last lines say it, with the remedy
		}
		t.Line(Yellow, "!", view.FailedText(t.of(run).model, b))
	case journal.ContextCompacted:
		t.asked[run] = e.Time
		t.compacted(run, b)
	case journal.RunNoted:
		t.asked[run] = t.asked[run].Add(b.Clock)
		t.aboutRun(e)
	case journal.RunClaimed:
		t.asked[run] = e.Time // a request that an earlier owner sent is sent again
		if m := b.Model; m != nil {
			known := t.of(run)
			known.model, known.price = m.Name, m.Price
			t.runs[run] = known
		}
		t.aboutRun(e)
	default:
		if !t.phaseFact(run, e) && !t.filesFact(run, e.Body) {
			t.aboutRun(e)
		}
	}
}

// started prints that a call runs. On a terminal, where the line of progress shows that, it waits
// for the call's first output: a call that prints nothing then takes one line.
func (t *Printer) started(run string, at time.Time, b journal.CallStarted) {
	c := t.call(run, b.Place)
	c.since = at
	c.said, c.begins = false, fmt.Sprintf("%s %s%s%s%s%s", b.Place, t.id(c.ID), c.name(), attempt(b.Place), view.AllowedBy(c.Proposal, t.Whole), carried(b.Child))
	if !t.out.moves || t.Whole || b.Child != "" {
		t.sayStart(c)
	}
}

func (t *Printer) sayStart(c *activeCall) {
	if !c.said && c.begins != "" {
		t.Line(Cyan, ">", c.begins)
		c.said = true
	}
}

func attempt(p journal.Place) string {
	if p.Attempt < 2 {
		return ""
	}
	return fmt.Sprintf(" (attempt %d)", p.Attempt)
}

// carried names the run that carries a call out.
func carried(child string) string {
	if child == "" {
		return ""
	}
	return " (" + child + ")"
}

func (t *Printer) id(id string) string {
	if !t.Whole || id == "" {
		return ""
	}
	return id + " "
}

func (t *Printer) resolved(run string, b journal.CallResolved) string {
	if b.Run != "" && b.Run != run {
		return "of run " + b.Run
	}
	return t.call(run, b.Place).name()
}

// aboutRun prints facts that belong to no call.
func (t *Printer) aboutRun(e journal.Event) {
	switch b := e.Body.(type) {
	case journal.RunNoted:
		t.Line(Yellow, "!", b.Text)
	case journal.MessageAdded:
		t.Line(Bold, "+", fmt.Sprintf("%s to the model: %s", view.OrPerson(b.By), b.Text))
	case journal.RunStopping:
		t.Line(Yellow, "!", "stopping: "+b.Reason)
	case journal.RequestAnswered:
		t.Line(Bold, "?", fmt.Sprintf("%s answered by %s: %s", b.ID, view.OrPerson(b.By), journal.Text(b.Answer)))
	case journal.RequestClosed:
		t.Line(Bold, "?", fmt.Sprintf("%s %s: %s", b.ID, b.Status, b.Reason))
	default:
		if t.Whole {
			t.forTheRecord(e)
		}
	}
}

// forTheRecord prints what a person who watches a run in its own terminal learns in another way.
func (t *Printer) forTheRecord(e journal.Event) {
	switch b := e.Body.(type) {
	case journal.RunClaimed:
		if b.Epoch > 1 {
			t.Line(Yellow, "~", fmt.Sprintf("%s process %d on %s goes on with the run%s", view.Stamp(e.Time), b.PID, b.Host, how(b)))
		}
	case journal.RunInterrupted:
		t.Line(Yellow, "!", view.Stamp(e.Time)+" interrupted: "+view.CauseText(b.Cause, b.Detail))
	case journal.RunRestored:
		t.Line(Yellow, "!", view.Stamp(e.Time)+" "+view.RestoredText(b))
	case journal.RunExported:
		t.Line(Yellow, "!", view.Stamp(e.Time)+" "+view.ExportedText(b))
	case journal.WorkspaceBehind:
		t.Line(Yellow, "!", view.Stamp(e.Time)+" "+view.BehindText(b))
	case journal.RequestOpened:
		t.Line(Bold, "?", b.Request.ID+" asks: "+view.AskText(&b.Request))
	case journal.RunCompleted:
		t.Line(Green, "=", view.Stamp(e.Time)+" completed")
	case journal.RunFailed:
		t.Line(Red, "=", view.Stamp(e.Time)+" failed: "+b.Reason)
	case journal.RunCancelled:
		t.Line(Yellow, "=", view.Stamp(e.Time)+" cancelled: "+b.Reason)
	}
}

func how(b journal.RunClaimed) string {
	text := ""
	if b.Detached {
		text = " in the background"
	}
	if b.Why != "" {
		text += ": " + b.Why
	}
	if b.Mode != "" {
		text += ", mode " + string(b.Mode)
	}
	if b.Limits != nil {
		text += ", " + view.LimitText(*b.Limits)
	}
	return text
}

// created prints what is to be done, by what, where and under which rules, and how to watch it and
// go on with it.
func (t *Printer) created(b journal.RunCreated) {
	t.runs[b.Run] = startOf(b)
	switch {
	case t.Whole:
		return // show has a head of its own
	case b.Parent != "":
		defer t.about(b.Run)()
		what := "begins"
		if strings.Contains(b.Role, "#") { // a part of a flow
			what = b.Role
		}
		t.Line(Dim, "·", fmt.Sprintf("%s: model %s, mode %s, %s", what, b.Model, b.Mode, view.LimitText(b.Limits)))
		return
	}
	if b.Flow != nil {
		t.head("flow", b, b.Prompt)
		t.parts(Dim, " ", "   ", "the phases: agent show "+b.Run, "after an interruption: agent resume "+b.Run)
		return
	}
	if t.Talks {
		t.Line(Dim, "·", fmt.Sprintf("%s  model %s, mode %s", b.Run, view.ModelText(b), b.Mode))
	} else {
		t.head("run", b, "model "+view.ModelText(b))
		t.parts(Dim, " ", "   ", "watch: agent show --follow "+b.Run, "after an interruption: agent resume "+b.Run)
	}
	if b.Input != "" {
		t.Line(Dim, " ", "piped in: "+view.Bytes(int64(len(b.Input))))
	}
	if files := view.ShownFiles(t.Home, b); files != "" {
		t.Line(Dim, " ", "shown to the model: "+files)
	}
}

// head prints what a run is: kind, id, what and the rest of it.
func (t *Printer) head(kind string, b journal.RunCreated, what string) {
	parts := []string{b.Run + "  " + what, "mode " + string(b.Mode), view.LimitText(b.Limits), "in " + view.Tilde(t.Home, b.Folder)}
	for _, d := range b.Dirs {
		parts = append(parts, view.DirText(t.Home, d))
	}
	t.parts(Bold, kind, ", ", parts...)
}

// parts prints parts of a sentence, with sep between them, on as few lines as they fit on, whole.
func (t *Printer) parts(st Style, mark, sep string, parts ...string) {
	line, width := "", displaywidth.String(mark)
	for i, p := range parts {
		p = stream.Sanitize(p)
		if i+1 < len(parts) {
			p += strings.TrimRight(sep, " ")
		}
		gap := strings.TrimLeft(sep, ",")
		if line != "" && width+displaywidth.String(line+gap+p) >= t.out.fits() {
			t.Line(st, mark, line)
			st, mark, width, line = Dim, " ", 1, ""
		}
		if line != "" {
			line += gap
		}
		line += p
	}
	t.Line(st, mark, line)
}

// answered learns the turn's calls, and prints the text of the answer where the person does not get
// it in another way: the last words of a run that is done are its answer.
func (t *Printer) answered(run string, e journal.Event, b journal.ModelAnswered) {
	for i := range b.Calls {
		t.calls[key(run, journal.Place{Turn: e.Turn, Index: i})] = &activeCall{Proposal: b.Calls[i]}
	}
	if t.Whole {
		t.Line(Dim, "#", fmt.Sprintf("%s turn %d%s", view.Stamp(e.Time), e.Turn, view.TurnUsage(b.Usage, t.of(run).price, e.Time.Sub(t.asked[run]))))
	}
	t.think(thoughts(b))
	if text := answerText(b); text != "" && (t.Whole || lastWords(b) != endDone) {
		t.print(stream.Sanitize(text))
	}
	if b.Stop == journal.AnswerLength && len(b.Calls) == 0 {
		t.Line(Dim, "·", "the answer reached its length limit; the model is asked to go on with it")
	}
}

// What an answer is for the run.
const (
	endNot    = iota // calls follow, or the rest of it
	endDone          // it is the answer
	endFailed        // it says why there is none
)

func lastWords(b journal.ModelAnswered) int {
	switch {
	case b.Stop == journal.AnswerFailed, b.Stop == journal.AnswerRefuse:
		return endFailed
	case len(b.Calls) > 0, b.Stop == journal.AnswerLength, b.Stop == journal.AnswerPause:
		return endNot
	}
	return endDone
}

// answerText is the text of an answer.
func answerText(b journal.ModelAnswered) string { return textOf(b.Blocks, journal.BlockText) }

// thoughts is what the model thought on its way to an answer, as far as the provider shows it.
func thoughts(b journal.ModelAnswered) string { return textOf(b.Blocks, journal.BlockReasoning) }

func textOf(blocks []journal.Block, k journal.BlockKind) string {
	var parts []string
	for _, block := range blocks {
		if block.Kind == k && block.Text != "" {
			parts = append(parts, block.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// settled prints how a call ended. What it printed was shown while it ran; where it was not, a part
// of the result is.
func (t *Printer) settled(run string, b journal.CallSettled) {
	c, r := t.call(run, b.Place), b.Result
	shown := c.output
	if shown != nil {
		shown.end("agent show " + c.ID)
		c.output = nil
	}
	c.since = time.Time{}
	st, mark := outcomeMark(r.Outcome)
	allowed := ""
	if !c.said && c.begins != "" {
		allowed = view.AllowedBy(c.Proposal, t.Whole)
	}
	words := view.ResultText(r)
	if c.Tool == "confirm_action" && r.Outcome == journal.OutcomeOK && isNo(r.Content) {
		st, mark, words = Yellow, "-", "no"
	}
	unknown := r.Outcome == journal.OutcomeUnknown
	if t.Whole || !unknown || r.How != journal.HowTold { // else recovery's decision was just shown
		t.Line(st, mark, fmt.Sprintf("%s %s: %s%s", b.Place, c.short(), words, allowed))
	}
	if text := t.resultText(c.ID, r, shown); text != "" {
		t.Block(text)
	}
	for _, note := range r.PutBack {
		t.Line(Yellow, "!", "put back: "+note)
	}
	if unknown && len(r.Alive) > 0 { // how to decide stands at the end, once
		t.Line(Yellow, "!", c.name()+" may still be running: "+strings.Join(r.Alive, ", "))
	}
}

// resultText is what is shown of a result below the line that says how the call ended.
func (t *Printer) resultText(id string, r journal.Result, shown *liveOutput) string {
	content, more := strings.TrimRight(r.Content, "\n"), ""
	if id != "" {
		more = ": agent show " + id
	}
	whole := r.Size <= int64(len(r.Content))
	ran := r.How == journal.HowAttached || r.How == journal.HowAdopted
	switch {
	case content == view.EndText(r) || content == "[no output]" || view.Stopped(r) && !t.Whole:
		return ""
	case shown.some() && shown.lost:
		return view.ExcerptOf(content, 0, 10, more, whole)
	case shown.some():
		last := content[strings.LastIndexByte(content, '\n')+1:]
		if r.Outcome == journal.OutcomeOK || last == view.EndText(r) {
			return ""
		}
		return last // how the command ended, in the words of its runner
	case t.Whole || ran:
	case r.Outcome == journal.OutcomeOK, r.Outcome == journal.OutcomeUnknown && r.How == journal.HowTold:
		return "" // recovery's decision says it
	}
	return view.ExcerptOf(content, 10, 10, more, whole)
}

// forget drops the calls of a turn that is over.
func (t *Printer) forget(run string, turn int) {
	for i := 0; ; i++ {
		k := key(run, journal.Place{Turn: turn, Index: i})
		if t.calls[k] == nil {
			return
		}
		delete(t.calls, k)
	}
}
