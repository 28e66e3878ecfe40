package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"agent/host/launch"
	"agent/host/owner"
	"agent/host/view"
)

// resume has a run go on.
func (s launches) resume(w http.ResponseWriter, r *http.Request) error {
	var given struct {
		Mode     string      `json:"mode"`
		MaxTurns json.Number `json:"max_turns"`
		Takeover bool        `json:"takeover"`
	}
	if err := s.body(w, r, &given); err != nil {
		return err
	}
	ctx, id := context.WithoutCancel(r.Context()), r.PathValue("id")
	if err := s.mayResume(ctx, id, given.Takeover); err != nil {
		return err
	}
	args := []string{"resume", "--json", "--no-recover"}
	if given.Mode != "" {
		args = append(args, "--mode="+given.Mode)
	}
	if given.MaxTurns != "" {
		args = append(args, "--max-turns="+given.MaxTurns.String())
	}
	if given.Takeover {
		args = append(args, "--takeover")
	}
	got, err := s.launch(ctx, launch.Job{Args: append(args, id)}, id, false)
	if err != nil {
		return err
	}
	if !got.accepted {
		if err := s.mayResume(ctx, id, false); err == nil { // nobody drives it, and it has not ended
			return notStarted("the process that was to drive run "+id+" ended before it did; ask again", id)
		} else if !errors.As(err, new(*owner.HeldError)) {
			return err
		}
	}
	v, err := s.standing(ctx, id)
	if err != nil {
		return err
	}
	return s.reply(w, http.StatusAccepted, v)
}

// mayResume refuses a run that has ended, and one that another process drives.
func (s launches) mayResume(ctx context.Context, id string, takeover bool) error {
	row, err := s.o.Folder.Store.Run(ctx, id)
	if err != nil {
		return err
	}
	if row.Status.Terminal() {
		return &problem{
			Status: http.StatusConflict, Code: "finished", Detail: fmt.Sprintf("resume run %s: it is %s", id, row.Status), Run: id, Next: []string{"agent show " + id},
		}
	}
	if err := s.mustWrite("resume", id); err != nil {
		return err
	}
	if who, held, err := s.o.Folder.Owner(id); err != nil || held && !takeover {
		return cmp.Or(err, error(&owner.HeldError{Run: id, Holder: who}))
	}
	return nil
}

// plan answers with what a resume would do. Another process works it out: it begins as the one that
// would drive the run.
func (s launches) plan(w http.ResponseWriter, r *http.Request) error {
	if _, err := query(r); err != nil {
		return err
	}
	id := r.PathValue("id")
	if _, err := s.o.Folder.Store.Run(r.Context(), id); err != nil {
		return err
	}
	answer, err := s.ask(context.WithoutCancel(r.Context()), launch.Job{Args: []string{"resume", "--dry-run", "--json", id}})
	if err != nil {
		return err
	}
	if answer.Ended == nil || answer.Ended.Code != view.ExitDone {
		return s.refusedBy(answer)
	}
	return s.reply(w, http.StatusOK, json.RawMessage(answer.Ended.Out))
}
