package export

import (
	"fmt"
	"strings"

	"agent/host/stream"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/journal"
)

// ofCall takes a fact about a call; false of any other.
func (b *builder) ofCall(e journal.Event) bool {
	switch f := e.Body.(type) {
	case journal.CallStarted:
		c := b.call(f.Place)
		c.since, c.child = e.Time, f.Child
		if f.Attempt > 1 {
			c.notes = append(c.notes, fmt.Sprintf("attempt %d began %s", f.Attempt, b.at(e.Time)))
		}
	case journal.CallJudged:
		c := b.call(f.Place)
		c.notes = append(c.notes, "recovery at "+b.at(e.Time)+": "+view.VerdictText(f.Verdict, f.Reason))
	case journal.ApprovalVoided:
		c := b.call(f.Place)
		c.notes = append(c.notes, "its permission is void: "+f.Reason)
	case journal.CallSettled:
		b.settled(e, f)
	case journal.CallResolved:
		of := f.Place.String()
		if f.Run != "" && f.Run != b.run.Run.ID {
			of += " of run " + f.Run
		}
		b.add(item{Kind: kindAnswer, Mark: "~", At: b.at(e.Time), Head: "Decision", Tail: line(fmt.Sprintf("about call %s, whose outcome was unknown: %s says %s", of, view.OrPerson(f.By), f.Word))})
	default:
		return false
	}
	return true
}

// call is what is known of a call; never nil.
func (b *builder) call(p journal.Place) *call {
	c := b.calls[p.String()]
	if c == nil {
		c = &call{place: p}
		b.calls[p.String()] = c
		b.order = append(b.order, p.String())
	}
	return c
}

// callItem is a call with what it was to do; state says how it stands.
func (b *builder) callItem(c *call, mark, good, state string) item {
	i := item{Kind: kindCall, Mark: mark, Good: good, Head: c.place.String() + " " + line(c.Tool), Tail: line(state), Run: line(c.child)}
	if c.Tool == "" {
		i.Head = c.place.String() + " call"
	}
	if len(c.Args) > 0 {
		i.Code = line(strings.TrimPrefix(view.CallName(c.Tool, c.Args), c.Tool+": "))
		args := stream.Visible(recovery.Describe(c.Args))
		_, only, _ := strings.Cut(args, ": ")
		if strings.TrimSpace(args) != "" && (strings.Contains(args, "\n") || only != i.Code) { // else the line has all of it
			i.Text = append(i.Text, folded(text{Name: "arguments", Body: outdented(args)}))
		}
	}
	if allowed := strings.Trim(view.AllowedBy(c.Proposal, false), " []"); allowed != "" {
		i.More = append(i.More, line("allowed by "+allowed))
	}
	if c.Invalid != "" {
		i.More = append(i.More, line("it could not run: "+c.Invalid))
	}
	for _, n := range c.notes {
		i.More = append(i.More, line(n))
	}
	return i
}

// outdented is what recovery.Describe gives without the blanks before each line of it.
func outdented(args string) string {
	return strings.ReplaceAll(strings.TrimPrefix(args, "  "), "\n  ", "\n")
}

// settled adds a call with its result.
func (b *builder) settled(e journal.Event, f journal.CallSettled) {
	c, r := b.call(f.Place), f.Result
	mark, good := outcomeMark(r.Outcome)
	i := b.callItem(c, mark, good, view.ResultText(r))
	i.At = b.at(e.Time)
	if r.Outcome == journal.OutcomeUnknown {
		i.More = append(i.More, "it may or may not have happened; nothing executes it again without a decision")
	}
	if len(r.Alive) > 0 {
		i.More = append(i.More, line("may still be running: "+strings.Join(r.Alive, ", ")))
	}
	for _, n := range r.PutBack {
		i.More = append(i.More, line("put back: "+n))
	}
	if t := output("result", r.Content); t.Body != "" && t.Body != view.EndText(r) && t.Body != "[no output]" {
		if over := r.Size - int64(len(r.Content)); over > 0 {
			t.Note = fmt.Sprintf("%s of %s are shown; all of it: agent show %s", view.Bytes(int64(len(r.Content))), view.Bytes(r.Size), c.ID)
		}
		i.Text = append(i.Text, t)
	}
	b.add(i)
	delete(b.calls, f.Place.String())
}

func outcomeMark(o journal.Outcome) (mark, good string) {
	switch o {
	case journal.OutcomeOK:
		return "✓", "ok"
	case journal.OutcomeError:
		return "✗", "bad"
	case journal.OutcomeUnknown:
		return "?", "warn"
	}
	return "-", "warn"
}

// ofQuestion takes a fact about a question; false of any other.
func (b *builder) ofQuestion(e journal.Event) bool {
	switch f := e.Body.(type) {
	case journal.RequestOpened:
		q := f.Request
		i := item{Kind: kindAsk, Mark: "?", Good: "warn", Head: "Question", At: b.at(e.Time), Tail: line(string(q.Kind))}
		if q.Call != nil {
			i.Tail += " for call " + q.Call.String()
		}
		i.Text = []text{{Name: "question", Body: strings.TrimRight(view.AskText(&q), "\n")}}
		b.add(i)
		b.open = len(b.items)
	case journal.RequestAnswered:
		b.answer(e, "Answer", "by "+line(view.OrPerson(f.By)), journal.Text(f.Answer))
	case journal.RequestClosed:
		b.answer(e, "No answer", line(f.Status+": "+f.Reason), "")
	default:
		return false
	}
	return true
}

// answer adds the end of the question that is open. A short answer stands in the line.
func (b *builder) answer(e journal.Event, head, tail, said string) {
	b.open = 0
	i := item{Kind: kindAnswer, Mark: "?", Head: head, At: b.at(e.Time), Tail: tail}
	if said = stream.Visible(said); strings.Contains(said, "\n") || len(said) > 80 {
		i.Text = []text{prose(said)}
	} else {
		i.Code = line(said)
	}
	b.add(i)
}
