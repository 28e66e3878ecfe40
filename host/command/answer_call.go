package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"agent/host"
	"agent/host/app"
	"agent/host/launch"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// decide records what a person knows about a call whose outcome is unknown. Where a run asks about
// that call, it goes on as after an answer. It closes the session.
func (s answering) decide(ctx context.Context, call app.CallRow, r reply) error {
	word, err := s.resolution(ctx, call, r)
	if err != nil {
		return errors.Join(err, s.close())
	}
	var at *launch.Accepted
	on, err := s.goOn(&at)
	if err != nil {
		return errors.Join(err, s.close())
	}
	taken, err := s.Resolve(ctx, call, word, on)
	if at != nil {
		s.app.printDetached(s.c.Bool("json"), *at)
		return errors.Join(err, s.close())
	}
	if taken.Drove {
		return s.report(s.c, taken.Outcome, err)
	}
	if err == nil {
		err = s.printResolved(ctx, call, word, taken)
	}
	return errors.Join(err, s.close())
}

// resolution is what is said about the call, where there is something to say.
func (s answering) resolution(ctx context.Context, call app.CallRow, r reply) (journal.Word, error) {
	if err := view.Resolvable(call); err != nil {
		return "", err
	}
	if err := s.Resolved(ctx, call); err != nil {
		return "", err
	}
	return s.word(ctx, call, r)
}

func (s answering) printResolved(ctx context.Context, call app.CallRow, word journal.Word, taken host.Taken) error {
	about := call.Run
	if taken.Request.ID != "" {
		about = taken.Request.Run
	}
	run, err := s.Store.Run(ctx, about)
	if err != nil {
		return err
	}
	text, err := json.Marshal(word)
	if err != nil {
		return fmt.Errorf("encode word on call %s: %v", call.ID, err)
	}
	v := view.Answered{
		Version: 1, Request: taken.Request.ID, Call: call.ID, Run: about, Answer: text, State: "recorded", Owner: taken.Owner, Status: run.Status, Next: []string{},
	}
	switch {
	case run.Pending != nil && run.Pending.Damaged == nil:
		v.Next = view.AnswerCommands(&run.Pending.Request)
	case run.Status == recovery.StatusInterrupted:
		v.Next = []string{"agent resume " + about}
	case len(run.Undecided) > 0:
		v.Next = view.DecideCommands(s.Undecided(ctx, run.Undecided))
	}
	s.printAnswered(v)
	return nil
}

// word reads what is said about the call. Yes and no could mean two things each, so they mean
// nothing here.
func (s answering) word(ctx context.Context, call app.CallRow, r reply) (journal.Word, error) {
	text := r.text
	if !r.given {
		raw, err := s.askFor(ctx, call.Run, callQuestion(call), view.ResolveCommands(call.ID))
		if err != nil {
			return "", err
		}
		r.value = raw
	}
	if r.value != nil {
		if err := json.Unmarshal(r.value, &text); err != nil {
			return "", fmt.Errorf("answer %s: say happened or leave", call.ID)
		}
	}
	switch journal.Word(text) {
	case journal.WordHappened, journal.WordLeave:
		return journal.Word(text), nil
	case journal.WordRun:
		return "", app.Usage(fmt.Errorf("answer %s: a call that has its result cannot be run; when the model asks for it again, the question offers to run it. "+
			"What can be said now: happened or leave", call.ID))
	case "yes", "no":
		return "", app.Usage(fmt.Errorf("answer %s: %s could mean two things; say happened (it took place) or leave (it stays unknown)", call.ID, text))
	}
	return "", app.Usage(fmt.Errorf("answer %s: %q does not fit; say happened (it took place) or leave (it stays unknown)", call.ID, text))
}

// callQuestion puts the call into a question for the terminal. Nothing of it is recorded.
func callQuestion(call app.CallRow) journal.Request {
	return journal.Request{ID: call.ID, Opened: fault.Now(), Question: journal.Question{
		Kind: journal.RequestTwin,
		Message: fmt.Sprintf("did call %s of run %s happen? (%s: %s)", call.ID, call.Run, call.Tool, host.Words(call.Tool, call.Proposal.Args)) +
			"\n" + recovery.Describe(call.Proposal.Args),
		Schema:  json.RawMessage(`{"type":"string","enum":["happened","leave"]}`),
		Choices: []string{string(journal.WordHappened), string(journal.WordLeave)},
		Hints:   []string{"it took place: it is settled, and not done again without a question", "nobody knows: it stays unknown"},
		About:   call.ID,
	}}
}
