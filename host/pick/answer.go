package pick

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agent/host/app"
	"agent/host/view"
	"agent/recovery/fault"
)

// Answered is what an answer is about: a request, or a call whose outcome is unknown.
type Answered struct {
	Request app.PendingRow
	Call    *app.CallRow
	Text    bool // what was typed as its id is the answer
}

// ToAnswer finds what is to be answered. Where no answer was given, a lone text that cannot be an
// id is the answer to the one open request.
func ToAnswer(ctx context.Context, s *app.Folder, text string, given bool) (a Answered, err error) {
	switch {
	case text == "":
		a.Request, err = onlyRequest(ctx, s)
		return a, err
	case text == "last":
		a.Request, err = newestRequest(ctx, s)
		return a, err
	case !given && (!couldBeID(text) || s.Only != "" && !strings.Contains(text, "-")): // in one folder no id is meant
		a.Text = true
		a.Request, err = onlyRequest(ctx, s)
		return a, err
	}
	kind, id, err := ID(ctx, s, text, 'p', 'c')
	if err != nil {
		return a, perhapsAnswer(ctx, s, askedBy(ctx, s, err), text, given)
	}
	if kind == 'c' {
		c, err := s.Store.Call(ctx, id)
		a.Call = &c
		return a, err
	}
	a.Request, err = s.Store.PendingByID(ctx, id)
	return a, err
}

// couldBeID says whether a text has the form of an id or the beginning of one. The words that
// answer questions do not count.
func couldBeID(text string) bool {
	if slices.Contains([]string{"yes", "no", "happened", "run", "leave", "stop-asking", "always", "never"}, text) {
		return false
	}
	if len(text) > 1 && text[1] == '-' {
		return strings.IndexByte("rpct", text[0]) >= 0
	}
	return len(text) <= idLength && strings.Trim(text, idLetters) == ""
}

// An id has idLength of idLetters after its type (host.NewID).
const (
	idLength  = 8
	idLetters = "0123456789abcdefghjkmnpqrstvwxyz"
)

// perhapsAnswer adds to an unknown id how to give the same word as an answer: guessing would answer
// by a mistyped id.
func perhapsAnswer(ctx context.Context, s *app.Folder, err error, text string, given bool) error {
	var unknown *app.UnknownIDError
	if !errors.As(err, &unknown) || given {
		return err
	}
	open, listErr := openRequests(ctx, s)
	if listErr != nil || len(open) != 1 {
		return errors.Join(err, listErr)
	}
	return fmt.Errorf("%w\nif this is your answer, name the question too: agent answer %s %s", err, open[0].ID, text)
}

// openRequests lists the requests that can still be answered.
func openRequests(ctx context.Context, s *app.Folder) ([]app.PendingRow, error) {
	rows, err := s.PendingIn(ctx, false)
	now := fault.Now()
	return slices.DeleteFunc(rows, func(r app.PendingRow) bool { return !r.Expires.IsZero() && !now.Before(r.Expires) }), err
}

// onlyRequest is the one open request. With several, the person has to say which.
func onlyRequest(ctx context.Context, s *app.Folder) (app.PendingRow, error) {
	open, err := openRequests(ctx, s)
	switch {
	case err != nil:
		return app.PendingRow{}, err
	case len(open) == 0:
		return app.PendingRow{}, fmt.Errorf("answer: no question is open%s", s.Where())
	case len(open) == 1:
		return open[0], nil
	}
	var b strings.Builder
	for _, p := range open {
		b.WriteString("\n  " + toName(p))
	}
	return app.PendingRow{}, app.Usage(fmt.Errorf("answer: %d questions are open, name one:%s", len(open), b.String()))
}

// toName is the command that answers a request, with what it asks.
func toName(p app.PendingRow) string {
	message := strings.Join(strings.Fields(p.Request.Message), " ")
	if p.Damaged != nil {
		message = "its record is damaged (agent doctor)"
	}
	if r := []rune(message); len(r) > 60 {
		message = string(r[:59]) + "…"
	}
	return fmt.Sprintf("%s    %s of run %s: %s", view.AnswerCommand(p.ID), p.Kind, p.Run, message)
}

// askedBy has the refusal of a run's id name what that run and those below it ask.
func askedBy(ctx context.Context, s *app.Folder, err error) error {
	wrong := new(app.UnknownIDError)
	if !errors.As(err, &wrong) || wrong.Is != 'r' {
		return err
	}
	run, findErr := app.Find(ctx, s.Store, 'r', wrong.Text)
	open, listErr := openRequests(ctx, s)
	if findErr != nil || listErr != nil {
		return err
	}
	var asked []string
	for _, p := range open {
		row, err := s.Store.Run(ctx, p.Run)
		if err == nil && slices.Contains([]string{row.ID, row.Parent, row.Root}, run) {
			asked = append(asked, toName(p))
		}
	}
	if len(asked) == 0 {
		return err
	}
	return &app.UnknownIDError{Kind: wrong.Kind, Is: wrong.Is, Text: wrong.Text, Near: asked}
}

// newestRequest is the open request that was asked last.
func newestRequest(ctx context.Context, s *app.Folder) (app.PendingRow, error) {
	open, err := openRequests(ctx, s)
	if err == nil && len(open) == 0 {
		err = fmt.Errorf("answer: no question is open%s", s.Where())
	}
	if err != nil {
		return app.PendingRow{}, err
	}
	return open[len(open)-1], nil
}
