package drive

import (
	"context"
	"fmt"
	"slices"
	"time"

	"agent/host/drive/brief"
	"agent/recovery"
	"agent/recovery/journal"
)

// Changes is what a resume changes about a run; the zero value changes nothing. The mode and the
// limits only become tighter: a looser one has no effect.
type Changes struct {
	Mode     journal.Mode
	MaxTurns int
	Timeout  time.Duration
	Tokens   int64
	Cost     int64 // millionths of a US dollar
	// BaseURL is where the model is asked from then on; "" changes nothing. It is no loosening: a
	// server that moved, or a wrong address, would leave a run that nothing brings forward.
	BaseURL string
	Model   *journal.ModelChange // asked from then on
	Folder  string               // where the workspace is now, absolute
	Message string               // for the model, before its next answer
	Redo    string               // the phase of a flow that is to be done again
}

// RefusedChangeError says that a run cannot be resumed as it was asked for. Nothing was recorded.
type RefusedChangeError struct {
	Run string
	Why string
}

func (e *RefusedChangeError) Error() string { return fmt.Sprintf("resume run %s: %s", e.Run, e.Why) }

// MayChange refuses changes that a resume of the run would refuse. A record that cannot be read is
// for the resume to name.
func (p *Process) MayChange(ctx context.Context, run string, t Changes) error {
	if t == (Changes{}) {
		return nil
	}
	s, err := p.Reader().Alone(run, p.Reader().Shown(ctx))
	if err != nil || s.Status.Terminal() {
		return nil //nolint:nilerr // as above
	}
	return t.possible(s)
}

// possible refuses what a run of this kind has no use for.
func (t Changes) possible(s *recovery.State) error {
	c := s.Created
	switch {
	case t.Redo != "" && c.Flow == nil:
		return &RefusedChangeError{c.Run, fmt.Sprintf("it is no flow, and has no phase %s to do again", t.Redo)}
	case t.Message != "" && c.Flow != nil:
		return &RefusedChangeError{c.Run, "it is a flow, and no model of it reads a message; go on without one: agent resume " + c.Run}
	case t.Message != "" && c.Authored:
		return &RefusedChangeError{c.Run, "its steps were written before it began and no model reads a message; go on without one: agent resume " + c.Run}
	case t.Model != nil && (c.Authored || c.Setup.Provider == ""):
		return &RefusedChangeError{c.Run, fmt.Sprintf("its model is %s, which asks no provider: it cannot become %s", c.Model, t.Model.Name)}
	}
	return nil
}

// claim adds the changes to the fact that records the claim.
func (t Changes) claim(s *recovery.State, b journal.RunClaimed) journal.RunClaimed {
	b.Mode, b.Limits = t.tightened(s)
	if t.Folder != s.Created.Folder {
		b.Folder = t.Folder
	}
	if t.Model != nil && (t.Model.Name != s.Created.Model || t.Model.BaseURL != s.Created.Setup.BaseURL || t.Model.Effort != s.Created.Setup.Effort) {
		b.Model = t.Model
	}
	if t.BaseURL != s.Created.Setup.BaseURL {
		b.BaseURL = t.BaseURL
	}
	return b
}

// notes says what changes, a sentence each.
func (t Changes) notes(s *recovery.State) []string {
	b := t.claim(s, journal.RunClaimed{})
	var notes []string
	if b.Folder != "" {
		notes = append(notes, fmt.Sprintf("the run works in %s from here on, before in %s", b.Folder, s.Created.Folder))
	}
	if m := b.Model; m != nil {
		notes = append(notes, fmt.Sprintf("the model is %s from here on, before it was %s", m.Name, s.Created.Model))
	}
	if b.BaseURL != "" {
		notes = append(notes, "the model is asked at "+b.BaseURL+" from here on"+before(s.Created.Setup.BaseURL))
	}
	return notes
}

// messages is what the model is shown before its next answer: the folder, where it changed, since
// the system prompt names the one before, and what the person says.
func (t Changes) messages(s *recovery.State, b journal.RunClaimed, who string) []journal.Body {
	var out []journal.Body
	if s.Created.Setup.Provider != "" {
		out = append(out, brief.News(s)...)
	}
	if b.Folder != "" && s.Created.Setup.Provider != "" {
		out = append(out, journal.MessageAdded{Text: "This run works in " + b.Folder + " from here on; its files were moved there.", By: "agent"})
	}
	if t.Message != "" {
		out = append(out, journal.MessageAdded{Text: t.Message, By: who})
	}
	return out
}

func before(address string) string {
	if address == "" {
		return ""
	}
	return ", before at " + address
}

// tightened is the mode and the limits that hold from the claim on; "" and nil where they stay.
func (t Changes) tightened(s *recovery.State) (journal.Mode, *journal.Limits) {
	mode := journal.Mode("")
	if s.Mode.LooserThan(t.Mode) && slices.Contains(journal.Modes(), t.Mode) {
		mode = t.Mode
	}
	l := s.Limits.Tighten(journal.Limits{MaxTurns: t.MaxTurns, Timeout: t.Timeout, MaxTokens: t.Tokens, MaxCost: t.Cost})
	if l == s.Limits {
		return mode, nil
	}
	return mode, &l
}
