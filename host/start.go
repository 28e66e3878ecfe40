package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"agent/db"
	"agent/host/model"
	"agent/recovery"
	"agent/recovery/fault"
)

// StartRequest is a prompt and the rules under which it is carried out.
type StartRequest struct {
	Prompt   string
	Source   string // file that the prompt was read from; "" otherwise
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

// Start records a new run and drives it to its end, its first question that nobody answers, or a shutdown.
func (h *Host) Start(ctx context.Context, req StartRequest) (Outcome, error) {
	d, err := h.create(ctx, req)
	if err != nil {
		return Outcome{}, err
	}
	out, err := d.drive(ctx)
	out.Submitted = true
	return out, err
}

// create takes the new run's lock before its row exists; creation, claim and the first request are one commit.
func (h *Host) create(ctx context.Context, req StartRequest) (*driver, error) {
	equipped, err := h.equip(ctx, recovery.RunCreated{Folder: req.Folder, Model: req.Model})
	if err != nil {
		return nil, err
	}
	created, before, earlier, err := h.created(ctx, req)
	if err != nil {
		return nil, err
	}
	m, err := h.Models(created)
	if err != nil {
		return nil, err
	}
	if err := h.plan(m, created, earlier); err != nil {
		return nil, err
	}
	if a, ok := m.(model.Authored); ok {
		created.Authored = a.Authored()
	}
	if err := h.takeThreadRulings(ctx, created.Thread, created.Run); err != nil {
		return nil, err
	}
	unknown, err := h.Store.Doubts(ctx, created.Thread, created.Run)
	if err != nil {
		return nil, err
	}
	edited, err := h.edited(ctx, m, created)
	if err != nil {
		return nil, err
	}
	lock, err := h.lock(created.Run)
	if err != nil {
		return nil, err
	}
	d, err := h.newDriver(&recovery.State{Earlier: earlier, Acting: h.acting}, db.Head{Run: created.Run, Thread: created.Thread}, lock)
	if err == nil {
		d.fresh = req.Thread == ""
		d.record(created)
		err = d.setRules(created.Folder)
	}
	if err == nil {
		d.record(h.claimFact(d.state, unknown))
		for _, n := range equipped {
			d.record(recovery.RunNoted{Text: n})
		}
		d.noteMove(before)
		d.noteEdited(edited)
		d.model = m
		d.settleDown(recovery.Next(d.state))
		err = d.flush(ctx)
	}
	if err != nil {
		// The lock file stays: lock files are never removed while the store exists.
		return nil, errors.Join(err, lock.Close())
	}
	fault.Hit(fault.AfterClaim)
	return d, nil
}

// settleDown records what follows from the facts alone, so that it shares their commit.
func (d *driver) settleDown(a recovery.Action) {
	if r, ok := a.(recovery.Record); ok {
		d.recordAll(r.Facts)
	}
}

// created is the first fact of a run, with the folder of the run before it in its thread, and with what that thread said.
func (h *Host) created(
	ctx context.Context, req StartRequest,
) (c recovery.RunCreated, before string, earlier []recovery.Message, err error) {
	c = recovery.RunCreated{
		Run: NewID("r"), Thread: req.Thread, Prompt: req.Prompt, Source: req.Source, Folder: req.Folder,
		Model: req.Model, ModelWhy: req.ModelWhy, Mode: req.Mode, Limits: req.Limits, Expire: req.Expire,
		Version: h.Version, ToolsHash: h.Tools.Digest(), Setup: req.Setup,
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
		c.Parent = last.ID
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
			h.warn(c.Run, "%s", doubt)
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
