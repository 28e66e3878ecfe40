package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"agent/host"
	"agent/host/diff"
	"agent/host/launch"
	"agent/host/undo"
	"agent/host/view"
	"agent/recovery/journal"
)

// diff answers with what the calls of a run changed in files, from one position to another.
func (s lists) diff(w http.ResponseWriter, r *http.Request) error {
	values, err := parameters(r, "path", "from", "to", "stat", "all")
	if err != nil {
		return err
	}
	v, err := diff.Answer(r.Context(), &s.o.Folder.Process, r.PathValue("id"), values)
	if errors.As(err, new(*diff.ParameterError)) || errors.As(err, new(*undo.PositionError)) {
		return &problem{Code: "parameter", Detail: err.Error(), Run: r.PathValue("id"), Next: view.NewRefusal(err, "", 0).Next}
	}
	if err != nil {
		return err
	}
	return s.reply(w, http.StatusOK, v)
}

// rewound is what a rewind is started with, as on the command line.
type rewound struct {
	Turn      json.Number `json:"turn"` // the position: the end of this turn; 0 is before the run
	Only      string      `json:"only"`
	Overwrite []string    `json:"overwrite"`
	Digest    string      `json:"digest"` // of the plan that the person was shown
}

// args are the command line that plans or carries out the rewind of a run.
func (g rewound) args(id string, how ...string) []string {
	args := append([]string{"rewind", "--json"}, how...)
	if g.Only != "" {
		args = append(args, "--only="+g.Only)
	}
	for _, path := range g.Overwrite {
		args = append(args, "--overwrite="+path)
	}
	return append(args, "--", id+"@"+cmp.Or(g.Turn.String(), "0"))
}

func (g rewound) check() error {
	if n, err := strconv.Atoi(g.Turn.String()); g.Turn != "" && (err != nil || n < 0) {
		return shape("turn: a whole number from 0, which is before the run")
	}
	if g.Only != "" && g.Only != string(journal.RewindFiles) && g.Only != string(journal.RewindConversation) {
		return shape("only: choose files or conversation, or leave it out")
	}
	return nil
}

// rewindPlan answers with what a rewind would do. Another process works it out, as plan has it.
func (s launches) rewindPlan(w http.ResponseWriter, r *http.Request) error {
	values, err := parameters(r, "overwrite", "turn", "only")
	if err != nil {
		return err
	}
	given := rewound{Turn: json.Number(values.Get("turn")), Only: values.Get("only"), Overwrite: values["overwrite"]}
	id := r.PathValue("id")
	if err := given.check(); err != nil {
		return &problem{Code: "parameter", Detail: err.Error()}
	}
	if _, err := s.o.Folder.Store.Run(r.Context(), id); err != nil {
		return err
	}
	answer, err := s.ask(context.WithoutCancel(r.Context()), launch.Job{Args: given.args(id, "--dry-run")})
	if err != nil {
		return err
	}
	if answer.Ended == nil || answer.Ended.Code != view.ExitDone {
		return s.refusedBy(answer)
	}
	return s.reply(w, http.StatusOK, json.RawMessage(answer.Ended.Out))
}

// rewind has a run started that takes back what the person was shown, and nothing else.
func (s launches) rewind(w http.ResponseWriter, r *http.Request) error {
	var given rewound
	if err := s.body(w, r, &given); err != nil {
		return err
	}
	id, ctx := r.PathValue("id"), context.WithoutCancel(r.Context())
	if given.Digest == "" {
		return shape("say digest: that of the plan which was shown")
	}
	if err := given.check(); err != nil {
		return err
	}
	if _, err := s.o.Folder.Store.Run(ctx, id); err != nil {
		return err
	}
	if err := s.mustWrite("rewind", id); err != nil {
		return err
	}
	job := launch.Job{Args: given.args(id, "--yes", "--digest="+given.Digest), Run: host.NewRunID()}
	got, err := s.launch(ctx, job, job.Run, false)
	if err == nil && got.run == "" {
		got.run, err = s.left(ctx, job.Run, "")
	}
	if err != nil {
		return err
	}
	return s.begun(ctx, w, got, job.Run)
}
