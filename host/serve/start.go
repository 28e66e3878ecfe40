package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"agent/host"
	"agent/host/input"
	"agent/host/launch"
	"agent/host/owner"
	"agent/host/view"
	"agent/host/watch"
	"agent/recovery/journal"
)

const (
	mostDriven = 32               // runs that processes drive, before a person's start is refused
	startWait  = 50 * time.Second // for the process that is to drive a run; less than replyWait
)

// launches are the routes that have a run driven, each by a process of its own that carries out the
// command line which does that. Whoever asked may go: what was asked for is done.
type launches struct{ *Server }

// asked is what a run is started with, as on the command line.
type asked struct {
	Prompt    string      `json:"prompt"`
	Folder    string      `json:"folder"` // that of the thread, where it is left out
	Thread    string      `json:"thread"`
	Model     string      `json:"model"`
	Runbook   bool        `json:"runbook"`
	Effort    string      `json:"effort"`
	NoCompact bool        `json:"no_compact"`
	Mode      string      `json:"mode"`
	MaxTurns  json.Number `json:"max_turns"`
	MaxTokens json.Number `json:"max_tokens"`
	MaxCost   json.Number `json:"max_cost_usd"`
	Timeout   string      `json:"timeout"`
	Expire    string      `json:"expire"`
	Images    [][]byte    `json:"images"`
	AskPlan   bool        `json:"ask_plan"`
}

// args are the command line that starts the run.
func (a asked) args(key string) []string {
	args := []string{"run", "--json", "--no-recover"}
	for _, f := range [][2]string{
		{"dir", a.Folder}, {"thread", a.Thread}, {"model", a.Model}, {"effort", a.Effort}, {"mode", a.Mode}, {"max-turns", a.MaxTurns.String()},
		{"max-tokens", a.MaxTokens.String()}, {"max-cost", a.MaxCost.String()}, {"timeout", a.Timeout}, {"expire", a.Expire}, {"start-key", key},
	} {
		if f[1] != "" {
			args = append(args, "--"+f[0]+"="+f[1])
		}
	}
	if a.Runbook {
		args = append(args, "--runbook")
	}
	if a.NoCompact {
		args = append(args, "--no-compact")
	}
	if a.AskPlan {
		args = append(args, "--ask-plan")
	}
	return append(args, "--", a.Prompt)
}

// check refuses what the command line would take for something else, or would call by another name.
func (a asked) check() error {
	switch _, err := input.Text([]byte(a.Prompt)); {
	case a.Prompt == "":
		return shape("say prompt: what the run is to do")
	case a.Prompt == "-":
		return shape("the prompt - names standard input, which there is none of here: say prompt as a text")
	case len(a.Prompt) > input.MaxPrompt:
		return &problem{Code: "too_large", Detail: fmt.Sprintf("the prompt is larger than %d MiB; put the bulk into a file of the folder and name it", input.MaxPrompt>>20)}
	case err != nil:
		return shape("prompt: " + err.Error())
	case a.Folder == "" && a.Thread == "":
		return shape("say folder: where the run works")
	}
	return cmp.Or(a.checkLimits(), a.checkPictures(), checkFolder(a.Folder))
}

func shape(detail string) error { return &problem{Code: "shape", Detail: detail} }

// checkFolder refuses a folder in which nothing can work; "" is not given.
func checkFolder(folder string) error {
	switch info, err := os.Stat(folder); {
	case folder == "":
	case !filepath.IsAbs(folder):
		return shape("say folder as an absolute path: " + folder + " is none")
	case err != nil, !info.IsDir():
		return &problem{Code: "folder_gone", Detail: "use folder " + folder + ": there is no such folder"}
	}
	return nil
}

func (a asked) checkLimits() error {
	for name, t := range map[string]string{"timeout": a.Timeout, "expire": a.Expire} {
		if d, err := time.ParseDuration(t); t != "" && (err != nil || d < 0) {
			return shape(name + ": a text such as 30m or 48h")
		}
	}
	if a.Effort != "" && !slices.Contains(journal.Efforts(), journal.Effort(a.Effort)) {
		return shape("effort: choose none, low, medium or high")
	}
	if n := a.MaxCost.String(); strings.Trim(n, "0123456789.") != "" {
		return shape("max_cost_usd: an amount from 0, such as 2.50")
	}
	return cmp.Or(checkMode(a.Mode), checkCount("max_turns", a.MaxTurns), checkCount("max_tokens", a.MaxTokens))
}

func checkMode(mode string) error {
	if mode != "" && !slices.Contains(journal.Modes(), journal.Mode(mode)) {
		return shape("mode: choose plan, ask, auto or yolo")
	}
	return nil
}

func checkCount(name string, given json.Number) error {
	if n, err := strconv.Atoi(given.String()); given != "" && (err != nil || n < 0) {
		return shape(name + ": a whole number from 0, which is no limit")
	}
	return nil
}

func (a asked) checkPictures() error {
	if err := input.CheckPictures(len(a.Images)); err != nil {
		return shape("images: " + err.Error())
	}
	for i, data := range a.Images {
		if _, err := input.Picture(data); err != nil {
			return shape(fmt.Sprintf("images: number %d: %v", i+1, err))
		}
	}
	return nil
}

// started is a run that is recorded and that a process drives, or the one that has its key.
type started struct {
	Version int    `json:"version"`
	Run     string `json:"run_id"`
	Thread  string `json:"thread_id"`
	Cursor  string `json:"cursor"`
	unasked
	Notes []string `json:"notes"` // what the process printed on its way
}

// unasked says what became of a prompt.
type unasked struct {
	Reused    bool `json:"reused"`    // another run has the key, or the thread
	Submitted bool `json:"submitted"` // this prompt began the run
}

// start starts a run, once for each key.
func (s launches) start(w http.ResponseWriter, r *http.Request) error {
	leave, err := s.largePlace(r)
	if err != nil {
		return err
	}
	defer leave()
	var given asked
	if err := readBody(w, r, &given, mostStart, s.o.App.Redacted); err != nil {
		return err
	}
	key, err := startKey(r)
	if err == nil {
		err = given.check()
	}
	if err == nil {
		err = s.mustWrite("start", "a run")
	}
	if err == nil && given.Thread != "" {
		_, err = s.o.Folder.Store.Thread(r.Context(), given.Thread)
	}
	if err != nil {
		return err
	}
	ctx := context.WithoutCancel(r.Context())
	job := launch.Job{Args: given.args(key), Pictures: given.Images, Run: host.NewRunID()}
	do := func() (launched, error) { return s.startOnce(ctx, job, key) }
	var got launched
	if key == "" {
		got, err = do()
	} else { // who asks for the same at the same time waits for it
		got, err = s.same.Do(r.Context(), job.Digest(), do)
	}
	if err != nil {
		return err
	}
	return s.begun(ctx, w, got, job.Run)
}

// largePlace waits until the body of a start may take the memory that it does.
func (s launches) largePlace(r *http.Request) (leave func(), err error) {
	if r.ContentLength >= 0 && (r.ContentLength <= mostBody || r.ContentLength > mostStart) {
		return func() {}, nil
	}
	select {
	case s.large <- struct{}{}:
		return func() { <-s.large }, nil
	case <-r.Context().Done():
		return nil, &problem{Code: "body", Detail: "the body did not come whole"}
	}
}

// startOnce has a run started, or finds the one that has the key.
func (s launches) startOnce(ctx context.Context, job launch.Job, key string) (launched, error) {
	again, _, err := s.o.Folder.Store.StartedWith(ctx, key)
	if err != nil {
		return launched{}, err
	}
	got, err := s.launch(ctx, job, cmp.Or(again, job.Run), again != "")
	if err == nil && got.run == "" {
		got.run, err = s.left(ctx, job.Run, key)
	}
	return got, err
}

// begun answers with a run that was started, or found by its key.
func (s launches) begun(ctx context.Context, w http.ResponseWriter, got launched, run string) error {
	row, err := s.o.Folder.Store.Run(ctx, got.run)
	if err != nil {
		return err
	}
	at, err := watch.Here(ctx, s.o.Folder.Store, got.run)
	if err != nil {
		return err
	}
	v := started{Version: 1, Run: got.run, Thread: row.Thread, Cursor: at.String(), unasked: unasked{Reused: got.run != run, Submitted: got.run == run}, Notes: got.notes}
	if v.Reused {
		return s.reply(w, http.StatusOK, v)
	}
	w.Header().Set("Location", "/v1/runs/"+got.run)
	return s.reply(w, http.StatusCreated, v)
}

// startKey is the key that a start comes with; "" without one.
func startKey(r *http.Request) (string, error) {
	const name = "Idempotency-Key"
	keys := r.Header.Values(name)
	if len(keys) == 0 {
		return "", nil
	}
	if err := host.CheckStartKey(keys[0]); err != nil || len(keys) > 1 {
		return "", &problem{Code: "parameter", Detail: "header " + name + ": a start key has 1 to 200 printable ASCII characters, and is given once"}
	}
	return keys[0], nil
}

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
	if err := cmp.Or(checkMode(given.Mode), checkCount("max_turns", given.MaxTurns), s.mayResume(ctx, id, given.Takeover)); err != nil {
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
			Code: "finished", Detail: fmt.Sprintf("resume run %s: it is %s", id, row.Status), Run: id, Next: []string{"agent show " + id},
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
