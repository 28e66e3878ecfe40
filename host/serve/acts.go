package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"strings"

	"agent/host"
	"agent/host/app"
	"agent/host/launch"
	"agent/host/view"
	"agent/recovery/journal"
)

// acts are the routes that leave something for a run.
type acts struct{ *Server }

// answer gives a question its answer: a row, which the run takes up wherever it is driven.
func (s acts) answer(w http.ResponseWriter, r *http.Request) error {
	var given struct {
		Answer json.RawMessage `json:"answer"`
	}
	if err := s.body(w, r, &given); err != nil {
		return err
	}
	ctx, id := r.Context(), r.PathValue("id")
	row, err := s.o.Folder.Store.PendingByID(ctx, id)
	switch {
	case err != nil:
		return err
	case given.Answer == nil:
		return &problem{Code: "json", Detail: "say answer: what the question wants", Run: row.Run}
	case row.Damaged != nil:
		return &problem{Code: "damaged", Detail: "the record of this question is damaged", Run: row.Run, Next: []string{"agent doctor"}}
	case row.Status != app.RequestOpen:
		return s.again(ctx, w, &app.ConflictError{First: row}, given.Answer)
	}
	if err := view.CheckAnswer(row.Request.Question, given.Answer); err != nil {
		return &problem{
			Code: "shape", Detail: err.Error() + "; the question stays open", Run: row.Run, Request: s.request(row),
		}
	}
	if err := s.mustWrite("answer", id); err != nil {
		return err
	}
	var closed *app.ConflictError
	switch _, err := s.o.Folder.Answer(ctx, id, given.Answer, s.goOn()); {
	case errors.As(err, &closed): // somebody was faster
		return s.again(ctx, w, closed, given.Answer)
	case err != nil:
		now, readErr := s.o.Folder.Store.PendingByID(ctx, id)
		if readErr != nil || now.Status != app.RequestResolved {
			return err
		}
		// The answer is kept; how the run stands says that it does not go on yet.
		s.log.Warn("have a run go on", "run", row.Run, "reason", s.o.App.Redacted(err.Error()))
	}
	return s.taken(ctx, w, id)
}

// goOn has a run go on that has its answer; nil where that is left to others.
func (s acts) goOn() host.GoOn {
	if s.o.Carrier == nil {
		return nil
	}
	var at *launch.Accepted // the run says which process that is
	on := s.o.Carrier.GoOn(&at)
	if on == nil {
		return nil
	}
	return func(ctx context.Context, run string) (host.Outcome, error) {
		s.starting.Lock()
		leave := s.starting.enter(run)
		s.starting.Unlock()
		defer leave()
		return within(s.starting.wait, run, func() (host.Outcome, error) { return on(ctx, run) })
	}
}

// again is for a question that has its end: the same answer once more is none.
func (s acts) again(ctx context.Context, w http.ResponseWriter, closed *app.ConflictError, answer json.RawMessage) error {
	switch closed.First.Status {
	case app.RequestExpired:
		return &app.ExpiredError{Request: closed.First}
	case app.RequestResolved:
		same, err := s.same(ctx, closed.First.Answer, answer)
		if err != nil {
			return err
		}
		if same {
			return s.taken(ctx, w, closed.First.ID)
		}
	}
	return closed
}

// same compares answers by what they stand for: secrets are stored as placeholders.
func (s acts) same(ctx context.Context, a, b json.RawMessage) (bool, error) {
	var values [2]any
	for i, text := range []json.RawMessage{a, b} {
		whole, err := s.o.Folder.Store.RestoreText(ctx, string(text))
		if err != nil {
			return false, err
		}
		if err := json.Unmarshal([]byte(whole), &values[i]); err != nil {
			return false, nil //nolint:nilerr // what is no JSON is not the same
		}
	}
	return reflect.DeepEqual(values[0], values[1]), nil
}

// taken answers with a question that has its end, and its run.
func (s acts) taken(ctx context.Context, w http.ResponseWriter, id string) error {
	row, err := s.o.Folder.Store.PendingByID(ctx, id)
	if err != nil {
		return err
	}
	v, err := s.o.Folder.Now(ctx, row.Run)
	if err != nil {
		return err
	}
	return s.reply(w, http.StatusOK, struct {
		Version int      `json:"version"`
		Request *request `json:"request"`
		Taken   bool     `json:"taken"` // whoever drives the run took it; else it is kept for the next who does
		Run     view.Run `json:"run"`
	}{1, s.request(row), row.ConsumedSeq > 0, v})
}

func (s acts) withdraw(w http.ResponseWriter, r *http.Request) error {
	if err := s.body(w, r, &struct{}{}); err != nil {
		return err
	}
	ctx, id := r.Context(), r.PathValue("id")
	if err := s.mustWrite("withdraw", id); err != nil {
		return err
	}
	var closed *app.ConflictError
	switch _, err := s.o.Folder.Withdraw(ctx, id); {
	case errors.As(err, &closed) && closed.First.Status == app.RequestCancelled:
	case errors.As(err, &closed) && closed.First.Status == app.RequestExpired:
		return &app.ExpiredError{Request: closed.First, Doing: "withdraw"}
	case err != nil:
		return err
	}
	return s.taken(ctx, w, id)
}

// resolve records what a person knows of a call whose outcome is unknown.
func (s acts) resolve(w http.ResponseWriter, r *http.Request) error {
	var given struct {
		Word journal.Word `json:"word"`
	}
	if err := s.body(w, r, &given); err != nil {
		return err
	}
	row, err := s.o.Folder.Store.Call(r.Context(), r.PathValue("id"))
	if err != nil {
		return err
	}
	next := view.ResolveCommands(row.ID)
	if given.Word != journal.WordHappened && given.Word != journal.WordLeave {
		return &problem{Code: "shape", Detail: "say word: happened (it took place) or leave (it stays unknown)", Run: row.Run, Next: next}
	}
	if err := view.Resolvable(row); err != nil {
		return &problem{Code: "not_unknown", Detail: err.Error(), Run: row.Run}
	}
	status := http.StatusOK
	if row.Resolved != given.Word { // else it was said already
		if status, err = s.decide(r.Context(), row, given.Word); err != nil {
			return err
		}
		if row, err = s.o.Folder.Store.Call(r.Context(), row.ID); err != nil {
			return err
		}
	}
	v, err := s.shown(r.Context(), row)
	if err != nil {
		return err
	}
	return s.reply(w, status, v)
}

// decide records a decision. It is 202 where whoever drives the run has it and did not take it yet.
func (s acts) decide(ctx context.Context, row app.CallRow, word journal.Word) (int, error) {
	if err := s.o.Folder.Resolved(ctx, row); err != nil {
		return 0, err
	}
	if err := s.mustWrite("decide on", row.ID); err != nil {
		return 0, err
	}
	_, err := s.o.Folder.Resolve(ctx, row, word, s.goOn())
	if errors.Is(err, host.ErrDecisionKept) {
		return http.StatusAccepted, nil
	}
	return http.StatusOK, err
}

// cancel asks for a run's end. When it is acknowledged, that is durable; whoever drives the run
// ends it, and where nobody does another process is started for it.
func (s acts) cancel(w http.ResponseWriter, r *http.Request) error {
	if err := s.body(w, r, &struct{}{}); err != nil {
		return err
	}
	id := r.PathValue("id")
	if err := s.mustWrite("cancel", id); err != nil {
		return err
	}
	row, err := s.o.Folder.AskCancel(r.Context(), id)
	if err != nil {
		return err
	}
	status := http.StatusAccepted
	if row.Status.Terminal() {
		status = http.StatusOK
	} else if err := s.finish(id); err != nil {
		return err
	}
	v, err := s.standing(r.Context(), id)
	if err != nil {
		return err
	}
	return s.reply(w, status, v)
}

// tell leaves a message for the model of a run. When it is acknowledged, the message is durable.
func (s acts) tell(w http.ResponseWriter, r *http.Request) error {
	var given struct {
		Message string `json:"message"`
	}
	if err := s.body(w, r, &given); err != nil {
		return err
	}
	id := r.PathValue("id")
	if strings.TrimSpace(given.Message) == "" {
		return &problem{Code: "shape", Detail: "say message: what the model is to hear", Run: id}
	}
	if err := s.mustWrite("tell", id); err != nil {
		return err
	}
	told, err := host.Tell(r.Context(), s.o.Folder.Host, id, given.Message)
	var deaf *host.DeafError
	if errors.As(err, &deaf) {
		p := &problem{Code: "no_model", Detail: deaf.Error(), Run: id, Next: deaf.Next}
		if deaf.Ended {
			p.Code = "finished"
		}
		return p
	}
	if err != nil {
		return err
	}
	return s.reply(w, http.StatusAccepted, view.NewTold(told, given.Message))
}

// finish sees to the end of a run that nobody drives.
func (s acts) finish(id string) error {
	held, err := s.o.Folder.Held(id)
	if err != nil || held {
		return err
	}
	if s.o.Finish == nil {
		return s.finishElsewhere(id)
	}
	return s.o.Finish(id)
}

// finishElsewhere has a process of its own end a run: it outlives this one.
func (s acts) finishElsewhere(id string) error {
	exe, err := app.Binary()
	if err != nil {
		return fmt.Errorf("find this binary: %w", err)
	}
	c := exec.Command(exe, "cancel", id)
	c.Env = append(os.Environ(), "AGENT_HOME="+s.o.Folder.Home)
	c.Dir = "/"
	apart(c)
	if err := c.Start(); err != nil {
		return fmt.Errorf("start a process that ends run %s: %w", id, err)
	}
	go func() { _ = c.Wait() }() // what comes of it is a fact of the run
	return nil
}
