package command

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"agent/db"
	"agent/host/stream"
	"agent/recovery"
)

// decided is what the journal says about a call beside its start and its result.
type decided struct {
	attempts []time.Time
	verdicts []verdictJSON
	before   string // what was noted before the last attempt, for a later look
	asked    []string
	resolved []string
	voided   []string
}

// decisions reads what was decided about a run's calls, by place.
func (s *session) decisions(ctx context.Context, run string) (map[string]*decided, error) {
	out := map[string]*decided{}
	of := func(p recovery.Place) *decided {
		if out[p.String()] == nil {
			out[p.String()] = &decided{}
		}
		return out[p.String()]
	}
	requests := map[string]recovery.Place{}
	for e, err := range s.Store.Load(ctx, run, 0) {
		if err != nil {
			return nil, err
		}
		switch b := e.Body.(type) {
		case recovery.CallStarted:
			d := of(b.Place)
			d.attempts, d.before = append(d.attempts, e.Time), string(b.Before)
		case recovery.CallJudged:
			d := of(b.Place)
			d.verdicts = append(d.verdicts, verdictJSON{b.Verdict, b.Reason, e.Time})
		case recovery.CallResolved:
			if b.Run == "" || b.Run == run {
				of(b.Place).resolved = append(of(b.Place).resolved, fmt.Sprintf("%s by %s", b.Word, orPerson(b.By)))
			}
		case recovery.ApprovalVoided:
			text := b.Reason
			if b.Decision != "" {
				text = fmt.Sprintf("%s: %s", b.Decision, b.Reason)
			}
			of(b.Place).voided = append(of(b.Place).voided, stamp(e.Time)+" "+text)
		case recovery.RequestOpened:
			if b.Request.Call != nil {
				requests[b.Request.ID] = *b.Request.Call
				of(*b.Request.Call).asked = append(of(*b.Request.Call).asked, fmt.Sprintf("%s %s", b.Request.ID, b.Request.Kind))
			}
		case recovery.RequestAnswered:
			if p, ok := requests[b.ID]; ok {
				of(p).asked = append(of(p).asked, fmt.Sprintf("%s answered by %s: %s", b.ID, orPerson(b.By), recovery.Text(b.Answer)))
			}
		}
	}
	return out, nil
}

// showCalls prints one block for each call of a run.
func (s *session) showCalls(ctx context.Context, run string) error {
	rows, err := s.Store.Calls(ctx, run)
	if err != nil {
		return err
	}
	found, err := s.decisions(ctx, run)
	if err != nil {
		return err
	}
	t := s.storyTeller()
	if len(rows) == 0 {
		s.app.say(s.app.Err, "run %s has no call", run)
	}
	for i, row := range rows {
		if i > 0 {
			t.out.print("")
		}
		t.callHead(row, found[row.Place.String()])
		if row.Result != nil {
			t.callResult(row)
		}
	}
	return nil
}

// callHead prints what is known of a call but its output.
func (t *teller) callHead(row db.CallRow, d *decided) {
	if d == nil {
		d = &decided{}
	}
	st, mark, words := dim, "·", string(row.Phase)
	if row.Result != nil {
		st, mark = outcomeMark(row.Outcome)
		words = resultWords(*row.Result)
	}
	t.line(st, mark, fmt.Sprintf("%s %s %s: %s", row.Place, row.ID, row.Tool, words))
	t.pair("run", row.Run)
	t.pair("effect", effectWords(row))
	t.pair("times", timeWords(row, d))
	t.pair("print", row.Fingerprint)
	t.pair("allowed", decisionWords(row.Proposal))
	t.pair("confined", confinedWords(row.Proposal))
	for _, v := range d.voided {
		t.pair("void", v)
	}
	for _, a := range d.asked {
		t.pair("asked", a)
	}
	for _, v := range d.verdicts {
		t.pair("decided", stamp(v.Time)+" "+verdictWords(v.Verdict, v.Reason))
	}
	for _, r := range d.resolved {
		t.pair("decision", r)
	}
	if d.before != "" {
		t.pair("before", d.before)
	}
	if row.Result != nil && len(row.Result.Data) > 0 {
		t.pair("evidence", string(row.Result.Data))
	}
	t.pair("arguments", "")
	t.block(recovery.Describe(row.Proposal.Args))
}

// decisionWords say what the rules and the mode made of a call when it was recorded, and why.
func decisionWords(p recovery.Proposal) string {
	words := string(p.Decision)
	for _, w := range []string{p.Why, p.Invalid} {
		if w != "" {
			words += ": " + w
		}
	}
	return words
}

func confinedWords(p recovery.Proposal) string {
	if p.Sandbox == "" {
		return "by nothing that is on record"
	}
	return p.Sandbox
}

// allowedBy marks a call that nobody was asked about: in brief where it happens, whole in the record. What only reads, and what the
// person wrote, is marked in the record alone: the first where its calls are shown one by one.
func allowedBy(p recovery.Proposal, whole bool) string {
	words, _, _ := strings.Cut(p.Why, ": ")
	switch {
	case p.Decision != recovery.DecisionAllow || p.Why == "":
		return ""
	case strings.HasPrefix(words, "rule"):
	case !whole && !strings.HasPrefix(words, "mode "), p.Effect == recovery.EffectRead && words != "mode yolo":
		return ""
	}
	switch {
	case !whole && strings.Contains(p.Why, "; rule "):
		words += " and others"
	case whole && p.Sandbox != "":
		words = p.Why + "; confined: " + p.Sandbox
	case whole:
		words = p.Why
	}
	return "  [" + words + "]"
}

func effectWords(row db.CallRow) string {
	text := string(row.Effect)
	if row.Result == nil {
		return text
	}
	if row.Effect != recovery.EffectRead { // which has none to take place
		text += ", took place: " + string(row.Applied)
	}
	text += ", result " + string(row.How)
	if row.Resolved != "" {
		text += ", a person says: " + string(row.Resolved)
	}
	return text
}

func timeWords(row db.CallRow, d *decided) string {
	if len(d.attempts) == 0 {
		return "never started"
	}
	text := "started " + stamp(d.attempts[len(d.attempts)-1])
	if n := len(d.attempts); n > 1 {
		text += fmt.Sprintf(" (attempt %d, the first %s)", n, stamp(d.attempts[0]))
	}
	if !row.Settled.IsZero() {
		text += ", settled " + stamp(row.Settled)
	}
	return text
}

// callResult prints a part of a call's result, and how to read all of it.
func (t *teller) callResult(row db.CallRow) {
	t.pair("result", "")
	t.block(excerptOf(row.Result.Content, 30, 30, "", row.Result.Size <= int64(len(row.Result.Content))))
	if row.Unknown() {
		t.line(yellow, "!", unknownWords(row.ID, callName(row.Tool, row.Proposal.Args), *row.Result))
	}
	t.pair("whole", fmt.Sprintf("%s: agent show %s", bytesText(max(row.Result.Size, int64(len(row.Result.Content)))), row.ID))
}

// copyText writes size bytes of a tool's text to stdout without its control sequences. A reader that went away ends it.
func (a *app) copyText(r io.ReaderAt, size int64) error {
	w := &lastByte{Writer: a.Out}
	clean := stream.NewSanitizer(w)
	buf := make([]byte, 64<<10)
	for at := int64(0); at < size; {
		n, err := r.ReadAt(buf[:min(int64(len(buf)), size-at)], at)
		if n == 0 {
			return fmt.Errorf("read the output from byte %d of %d: %v", at, size, err)
		}
		if _, err := clean.Write(buf[:n]); err != nil {
			return nil // nobody reads any more
		}
		at += int64(n)
	}
	_ = clean.End() // as above
	if w.last != '\n' && w.last != 0 {
		a.say(a.Out, "")
	}
	return nil
}

// lastByte remembers how a text ended.
type lastByte struct {
	io.Writer
	last byte
}

func (w *lastByte) Write(p []byte) (int, error) {
	if len(p) > 0 {
		w.last = p[len(p)-1]
	}
	return w.Writer.Write(p)
}
