package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"time"

	"agent/db"
	"agent/host/model"
	"agent/host/stream"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/tools"
	"agent/tools/ofd"
)

// StartRequest is a prompt and the rules under which it is carried out.
type StartRequest struct {
	Prompt   string
	Source   string // file that the prompt was read from; "" otherwise
	Input    string // what was piped in beside the prompt; "" for nothing
	Folder   string // absolute
	Thread   string // "" begins a new thread
	Model    string
	ModelWhy string
	Mode     recovery.Mode
	Limits   recovery.Limits
	Expire   time.Duration
	Setup    recovery.Setup
}

// RefusedError says that the model cannot carry out the prompt. No run was recorded.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }

// Start records a new run and drives it to its end, its first question that nobody answers, or a shutdown. The new run's lock is
// taken before its row exists.
func (h *Host) Start(ctx context.Context, req StartRequest) (out Outcome, err error) {
	if err := h.Store.MayDrive(ctx); err != nil {
		return out, fmt.Errorf("start a run: %w", err)
	}
	env, err := h.envOf(ctx, recovery.RunCreated{Folder: req.Folder, Model: req.Model})
	if err != nil {
		return out, err
	}
	defer env.close()
	n, err := h.newRun(ctx, req, env)
	if err != nil {
		return out, err
	}
	// The lock file stays whatever happens: lock files are never removed while the store exists.
	err = h.holding(n.created.Run, func(lock *ofd.File) error {
		d, err := h.newDriver(&recovery.State{Earlier: n.earlier}, db.Head{Run: n.created.Run, Thread: n.created.Thread}, lock)
		if err != nil {
			return err
		}
		d.use(env)
		d.fresh, d.model = req.Thread == "", n.model
		out, err = d.drive(ctx, func(ctx context.Context) error { return d.create(ctx, n) })
		return err
	})
	out.Submitted = out.Run != ""
	return out, err
}

// newRun is everything that is known of a run before it is recorded.
type newRun struct {
	created recovery.RunCreated
	model   model.Model
	earlier []recovery.Message // what its thread said
	unknown []recovery.Unknown // what other runs of the thread left unknown
	before  string             // the folder of the run before it in the thread
	edited  string             // the file of the prompt that it goes on with, where that was edited
}

func (h *Host) newRun(ctx context.Context, req StartRequest, env Env) (n newRun, err error) {
	req.Setup.Servers = env.Servers
	if n.created, n.before, n.earlier, err = h.created(ctx, req, env.Tools); err != nil {
		return n, err
	}
	if n.model, err = env.Model(n.created, env.Tools); err != nil {
		return n, err
	}
	if err := h.plan(n.model, n.created, n.earlier); err != nil {
		return n, err
	}
	if a, ok := n.model.(model.Authored); ok {
		n.created.Authored = a.Authored()
	}
	if err := h.takeThreadResolutions(ctx, n.created.Thread, n.created.Run); err != nil {
		return n, err
	}
	if n.unknown, err = h.Store.Doubts(ctx, n.created.Thread, n.created.Run); err != nil {
		return n, err
	}
	n.edited, err = h.edited(ctx, n.model, n.created)
	return n, err
}

// create records the run: creation, claim and the first request are one commit.
func (d *driver) create(ctx context.Context, n newRun) error {
	d.record(n.created)
	if err := d.setRules(n.created.Folder); err != nil {
		return err
	}
	d.record(d.judge().claimFact(d.state, n.unknown))
	for _, text := range d.env.Notes {
		d.record(recovery.RunNoted{Text: text})
	}
	d.noteMove(n.before)
	d.noteEdited(n.edited)
	d.settleDown(recovery.Next(d.state))
	if err := d.flush(ctx); err != nil {
		return err
	}
	fault.Hit(fault.AfterClaim)
	return nil
}

// settleDown records what follows from the facts alone, so that it shares their commit.
func (d *driver) settleDown(a recovery.Action) {
	if r, ok := a.(recovery.Record); ok {
		d.recordAll(r.Facts)
	}
}

// created is the first fact of a run, with the folder of the run before it in its thread, and with what that thread said.
func (h *Host) created(
	ctx context.Context, req StartRequest, reg *tools.Registry,
) (c recovery.RunCreated, before string, earlier []recovery.Message, err error) {
	c = recovery.RunCreated{
		Run: NewID("r"), Thread: req.Thread, By: h.Who, Prompt: req.Prompt, Input: req.Input, Source: req.Source, Folder: req.Folder,
		Model: req.Model, ModelWhy: req.ModelWhy, Mode: req.Mode, Limits: req.Limits, Expire: req.Expire,
		Version: h.Version, ToolsHash: reg.Digest(), Setup: req.Setup,
	}
	if c.Source != "" {
		c.Digest = digest([]byte(req.Prompt))
	}
	if c.Thread == "" {
		c.Thread = NewID("t")
		return c, "", nil, nil
	}
	rows, err := h.Store.ThreadRuns(ctx, c.Thread)
	if err != nil {
		return c, "", nil, err
	}
	if len(rows) > 0 {
		last := rows[len(rows)-1]
		if !last.Status.Terminal() {
			return c, "", nil, &db.ThreadBusyError{Thread: c.Thread, Run: last.ID, Status: last.Status, Pending: pendingOf(last)}
		}
		c.Previous = last.ID
		if before, err = h.Store.RestoreText(ctx, last.Folder); err != nil {
			return c, "", nil, err
		}
	}
	earlier, err = h.transcript(ctx, c.Thread, "", h.restored(ctx, ignoreLost)) // what is lost was said when those runs were driven
	return c, before, earlier, err
}

func pendingOf(r db.RunRow) string {
	if r.Pending == nil {
		return ""
	}
	return r.Pending.ID
}

// plan lets the model refuse the prompt before anything is recorded, and says when it will outgrow its turn limit.
func (h *Host) plan(m model.Model, c recovery.RunCreated, earlier []recovery.Message) error {
	p, ok := m.(model.Planner)
	if !ok {
		return nil
	}
	turns, err := p.Plan(earlier, c.Prompt)
	if err != nil {
		return &RefusedError{err}
	}
	if d, ok := m.(model.Doubter); ok {
		for _, doubt := range d.Doubts(c.Prompt) {
			h.guard()
			h.Hub.Publish(stream.Event{Run: c.Run, Note: doubt, Warn: true, Quotes: true})
		}
	}
	if limit := c.Limits.MaxTurns; limit > 0 && turns > limit {
		h.warn(c.Run, "this takes %d turns and the limit is %d: the run will stop and ask there (--max-turns %d avoids it)", turns, limit, turns)
	}
	return nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func fileDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read %s: %v", path, err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("read %s: %v", path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
