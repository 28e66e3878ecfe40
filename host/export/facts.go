package export

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"agent/host/view"
	"agent/recovery"
	"agent/recovery/journal"
)

// builder goes through the facts of one run.
type builder struct {
	run     view.ExportedRun
	o       Options
	created journal.RunCreated
	day     string // on which the run began
	items   []item
	calls   map[string]*call // that have no result yet, by place
	order   []string         // of the turn that is under way
	asked   time.Time        // since when the model is asked
	turn    int              // the item of the turn that is under way
	said    string           // what the model said last
	open    int              // the item of the question that is open, from 1
	ended   bool
}

// call is a call that has no result yet.
type call struct {
	journal.Proposal
	place journal.Place
	since time.Time // when it began; zero before
	child string    // the run that carries it out
	notes []string
}

func (b *builder) add(i item) { b.items = append(b.items, i) }

// at is when something happened, without the day where that is the day on which the run began.
func (b *builder) at(t time.Time) string {
	return strings.TrimPrefix(stamp(t), b.day+" ")
}

// note adds a line about what the program did or saw.
func (b *builder) note(k kind, mark string, at time.Time, text string) {
	b.add(item{Kind: k, Mark: mark, Good: map[kind]string{kindWarn: "warn"}[k], At: b.at(at), Tail: line(text)})
}

// fact adds what one fact says.
func (b *builder) fact(e journal.Event) {
	switch f := e.Body.(type) {
	case journal.RunCreated:
		b.created, b.day = f, stamp(e.Time)[:len(time.DateOnly)]
		b.prompt(e, f)
	case journal.ModelRequested:
		b.asked = e.Time
	case journal.ModelAnswered:
		b.answered(e, f)
	case journal.TurnSettled:
		if b.turn > 0 {
			i := &b.items[b.turn-1]
			i.Tail = strings.TrimPrefix(i.Tail+", checkpoint "+line(f.Checkpoint), ", ")
		}
		b.turn = 0
	case journal.ModelFailed:
		b.asked = e.Time.Add(f.Wait)
		b.note(kindWarn, "!", e.Time, view.FailedText(b.created.Model, f))
	case journal.ContextCompacted:
		b.asked = e.Time
		t := output("summary", f.Summary)
		b.add(item{Kind: kindNote, Mark: "·", At: b.at(e.Time), Tail: "from here on the model is shown a summary of what came before", Text: []text{t}})
	default:
		if !b.ofCall(e) && !b.ofQuestion(e) && !b.ofFlow(e) {
			b.ofRun(e)
		}
	}
}

// prompt adds what is wanted.
func (b *builder) prompt(e journal.Event, f journal.RunCreated) {
	i := item{Kind: kindPrompt, Head: "Prompt", At: b.at(e.Time)}
	add := func(t text) {
		if t.Body != "" {
			i.Text = append(i.Text, t)
		}
	}
	switch {
	case f.Flow != nil:
		i.Head, i.Tail = "Flow", line(f.Prompt)
		add(prose(f.Task))
	default:
		add(prose(f.Prompt))
	}
	add(output("piped in", f.Input))
	if n := len(f.Setup.Images); n > 0 {
		i.More = append(i.More, view.Count(n, "picture")+" shown to the model")
	}
	if files := view.ShownFiles("", f); files != "" {
		i.More = append(i.More, "shown to the model: "+line(files))
	}
	if len(i.Text) > 0 || f.Flow != nil {
		b.add(i)
	}
}

// answered adds what the model said, and learns its calls.
func (b *builder) answered(e journal.Event, f journal.ModelAnswered) {
	b.order = nil
	for n, p := range f.Calls {
		place := journal.Place{Turn: e.Turn, Index: n}
		b.calls[place.String()] = &call{Proposal: p, place: place}
		b.order = append(b.order, place.String())
	}
	took := time.Duration(0)
	if !b.asked.IsZero() {
		took = e.Time.Sub(b.asked)
	}
	i := item{Kind: kindTurn, Head: fmt.Sprintf("Turn %d", e.Turn), At: b.at(e.Time)}
	i.Tail = strings.TrimPrefix(view.TurnUsage(f.Usage, b.created.Setup.Price, took), ", ")
	for _, block := range f.Blocks {
		switch {
		case block.Text == "":
		case block.Kind == journal.BlockReasoning:
			t := prose(block.Text)
			t.Name, t.Fold = "thoughts", true
			i.Text = append(i.Text, t)
		case block.Kind == journal.BlockText:
			i.Text = append(i.Text, prose(block.Text))
			b.said = block.Text
		}
	}
	switch f.Stop {
	case journal.AnswerLength:
		i.More = append(i.More, "the answer reached its length limit")
	case journal.AnswerRefuse:
		i.More = append(i.More, "the model refused to answer")
	case journal.AnswerFailed:
		i.More = append(i.More, "the model says that it cannot be done")
	}
	b.add(i)
	b.turn = len(b.items)
}

// ofRun adds what a fact says about the run as a whole.
func (b *builder) ofRun(e journal.Event) {
	switch f := e.Body.(type) {
	case journal.RunClaimed:
		b.asked = e.Time
		if f.Epoch > 1 {
			b.note(kindNote, "~", e.Time, "resumed"+claimText(f))
		}
		b.created = b.created.With(f)
	case journal.RunInterrupted:
		b.note(kindWarn, "!", e.Time, "interrupted: "+view.CauseText(f.Cause, f.Detail)+b.underWay())
	case journal.RunRestored:
		b.note(kindWarn, "!", e.Time, view.RestoredText(f))
	case journal.RunExported:
		b.note(kindWarn, "!", e.Time, view.ExportedText(f))
	case journal.WorkspaceBehind:
		b.note(kindWarn, "!", e.Time, view.BehindText(f))
	case journal.RunNoted:
		b.note(kindWarn, "!", e.Time, f.Text)
	case journal.RunStopping:
		b.note(kindWarn, "!", e.Time, "stopping: "+f.Reason)
	case journal.RunParked:
		b.note(kindNote, "·", e.Time, "waits for people who were asked in runs below it: "+strings.Join(f.Children, ", "))
	case journal.MessageAdded:
		b.add(item{Kind: kindPrompt, Head: "Message", At: b.at(e.Time), Tail: "from " + line(view.OrPerson(f.By)), Text: []text{prose(f.Text)}})
	case journal.FilesBase:
		b.note(kindNote, "·", e.Time, view.BaseText(f))
	case journal.FilesChanged:
		if text := view.ChangedText(f); text != "" {
			b.note(kindNote, "·", e.Time, text)
		}
	case journal.CommitSeen:
		b.note(kindNote, "·", e.Time, view.CommitText(f))
	case journal.RunCompleted:
		b.end(e, "=", "ok", "Completed", "", f.Text)
	case journal.RunFailed:
		b.end(e, "=", "bad", "Failed", f.Reason, f.Text)
	case journal.RunCancelled:
		b.end(e, "=", "warn", "Cancelled", f.Reason, "")
	}
}

// end adds the last fact, with the answer where the model did not just say it.
func (b *builder) end(e journal.Event, mark, good, head, reason, answer string) {
	b.ended = true
	i := item{Kind: kindEnd, Mark: mark, Good: good, Head: head, At: b.at(e.Time), Tail: line(reason)}
	if answer != "" && strings.TrimSpace(answer) != strings.TrimSpace(b.said) {
		i.Text = append(i.Text, prose(answer))
	}
	b.add(i)
}

// underWay names the calls that had begun and had no result.
func (b *builder) underWay() string {
	var names []string
	for _, c := range b.sorted() {
		if !c.since.IsZero() {
			names = append(names, c.place.String()+" "+c.Tool)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; under way: " + strings.Join(names, ", ")
}

// sorted are the calls without a result in the model's order.
func (b *builder) sorted() (list []*call) {
	for _, place := range b.order {
		if c := b.calls[place]; c != nil {
			list = append(list, c)
		}
	}
	return list
}

// left adds what has no end yet.
func (b *builder) left() {
	if b.open > 0 && !b.ended {
		b.items[b.open-1].More = append(b.items[b.open-1].More, "there is no answer yet")
	}
	if k := b.run.Kept; k != nil {
		b.add(item{Kind: kindAnswer, Mark: "?", Tail: line(view.KeptText(*k))})
	}
	for _, c := range b.sorted() {
		state := "it has not begun"
		if !c.since.IsZero() {
			state = "it has no result yet, began " + b.at(c.since)
		}
		b.add(b.callItem(c, "·", "", state))
	}
	if len(b.run.Unread) == 0 && !b.ended && b.run.Run.Status != recovery.StatusCompleted {
		b.add(item{Kind: kindEnd, Mark: "·", Good: "warn", Head: "Not ended", Tail: line(b.run.Run.StatusText(b.o.Now)) + nextText(b.run.Run)})
	}
}

// nextText names the commands that bring a run forward.
func nextText(v view.Run) string {
	if len(v.Next) == 0 {
		return ""
	}
	return "; next: " + line(strings.Join(slices.Compact(v.Next), ", "))
}

func claimText(f journal.RunClaimed) string {
	text := fmt.Sprintf(" by process %d", f.PID)
	if f.Host != "" {
		text += " on " + f.Host
	}
	if f.Detached {
		text += " in the background"
	}
	if f.Why != "" {
		text += ": " + f.Why
	}
	if f.Mode != "" {
		text += ", mode " + string(f.Mode)
	}
	if f.Limits != nil {
		text += ", " + view.LimitText(*f.Limits)
	}
	if f.Model != nil {
		text += ", model " + f.Model.Name
	}
	if f.Folder != "" {
		text += ", in " + f.Folder
	}
	return text
}
