package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agent/db"
	"agent/host/drive"
	"agent/host/drive/bind"
	"agent/host/model"
	"agent/host/stream"
	"agent/recovery/journal"
	"agent/tools"
)

// StartRequest is a prompt and the rules under which it is carried out.
type StartRequest struct {
	Run      string // its id; "" makes one
	Prompt   string
	Source   string // file that the prompt was read from; "" otherwise
	Input    string // what was piped in beside the prompt; "" for nothing
	Folder   string // absolute
	Thread   string // "" begins a new thread
	Begins   string // the id of a new thread; "" makes one
	Model    string
	ModelWhy string
	Mode     journal.Mode
	Limits   journal.Limits
	Expire   time.Duration
	Setup    journal.Setup
	journal.Terms

	Flow   json.RawMessage // definition of the flow that it is; nil for none. Source is its file then
	Digest string          // SHA-256 of that file, hex
	Task   string          // what the flow is to be carried out for

	From   *journal.Position  // where the conversation goes on; nil: behind the newest run of the thread
	Rewind *journal.RewindRun // of a run that takes back what others did

	Name        string           // what a person calls the run; "" for nothing
	StartKey    string           // a request that comes again with it is the same run; "" for none
	StartDigest string           // Asked.Digest of the request
	Shown       func(drive.Plan) // gets what is replayed where the run of the key is carried on; nil for nobody
}

// RefusedError says that the model cannot carry out the prompt. No run was recorded.
type RefusedError struct{ Err error }

func (e *RefusedError) Error() string { return e.Err.Error() }

// Start records a new run and drives it to its end, its first question that nobody answers, or a
// shutdown. Where a run has the request's start key, that one is reused.
func (h *Host) Start(ctx context.Context, req StartRequest) (out drive.Outcome, err error) {
	if err := h.Store.MayDrive(ctx); err != nil {
		return out, fmt.Errorf("start a run: %w", err)
	}
	if out, found, err := h.Reuse(ctx, req); found || err != nil {
		return out, err
	}
	out, err = h.start(ctx, req)
	if errors.As(err, new(*db.StartKeyError)) || errors.As(err, new(*db.ThreadBusyError)) {
		// Another process may have been given the same request at the same time.
		if first, found, reuse := h.Reuse(ctx, req); found || reuse != nil {
			return first, reuse
		}
	}
	return out, err
}

func (h *Host) start(ctx context.Context, req StartRequest) (out drive.Outcome, err error) {
	env, err := h.EnvFor(ctx, journal.RunCreated{Folder: req.Folder, Model: req.Model, Mode: req.Mode, FlowRun: journal.FlowRun{Flow: req.Flow}, Terms: journal.Terms{Rules: req.Terms.Rules}})
	if err != nil {
		return out, err
	}
	defer env.Release()
	n, err := h.newRun(ctx, req, env)
	if err != nil {
		return out, err
	}
	out, err = drive.Create(ctx, &h.Process, n)
	out.Submitted = out.Run != ""
	return out, err
}

// newRun finds out what the run begins with.
func (h *Host) newRun(ctx context.Context, req StartRequest, env drive.Env) (n drive.New, err error) {
	req.Setup.Servers = env.Servers
	n.Env, n.Fresh = env, req.Thread == ""
	if n.Created, n.Before, n.Earlier, err = h.created(ctx, req, env.Tools); err != nil {
		return n, err
	}
	n.Created.Environ = env.Environ
	if n.Created.Flow == nil {
		if n.Model, err = env.Model(n.Created, env.Tools); err != nil {
			return n, err
		}
		if err := h.plan(n.Model, n.Created, n.Earlier); err != nil {
			return n, err
		}
	}
	if a, ok := n.Model.(model.Authored); ok {
		n.Created.Authored = a.Authored()
	}
	if err := drive.TakeThreadResolutions(ctx, &h.Process, n.Created); err != nil {
		return n, err
	}
	if n.Unknown, err = h.Doubts(ctx, n.Created); err != nil {
		return n, err
	}
	n.Edited, err = h.edited(ctx, n.Model, n.Created)
	return n, err
}

// created is the first fact of a run, with the folder of the run before it in its thread, and with
// what that thread said.
func (h *Host) created(
	ctx context.Context, req StartRequest, reg *tools.Registry,
) (c journal.RunCreated, before string, earlier []journal.Message, err error) {
	c = journal.RunCreated{
		Run: cmp.Or(req.Run, NewRunID()), Thread: req.Thread, By: h.Who, Prompt: req.Prompt, Input: req.Input, Source: req.Source, Folder: req.Folder,
		Model: req.Model, ModelWhy: req.ModelWhy, Mode: req.Mode, Limits: req.Limits, Expire: req.Expire,
		Version: h.Version, ToolsHash: reg.Digest(), Setup: req.Setup, Terms: req.Terms,
		Called: journal.Called{StartKey: req.StartKey, StartDigest: req.StartDigest, Name: req.Name, Witness: witness(h)}, Digest: req.Digest,
		FlowRun: journal.FlowRun{Flow: req.Flow, Task: req.Task}, Branch: journal.Branch{From: req.From, Rewind: req.Rewind},
	}
	if c.Source != "" && c.Digest == "" {
		c.Digest = bind.Digest([]byte(req.Prompt))
	}
	if c.Thread == "" {
		c.Thread = cmp.Or(req.Begins, NewThreadID())
		if c.From != nil {
			if c.Guarded, err = guarded(ctx, h, c.From.Run); err == nil {
				earlier, err = h.Conversation(ctx, *c.From)
			}
		}
		return c, "", earlier, err
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
		if c.Guarded, err = guarded(ctx, h, last.ID); err != nil {
			return c, "", nil, err
		}
		if before, err = h.Store.RestoreText(ctx, last.Folder); err != nil {
			return c, "", nil, err
		}
	}
	earlier, err = h.ThreadTranscript(ctx, c.Thread) // what is lost was said when those runs were driven
	return c, before, earlier, err
}

func pendingOf(r db.RunRow) string {
	if r.Pending == nil {
		return ""
	}
	return r.Pending.ID
}

// plan lets the model refuse the prompt before anything is recorded, and says when it will outgrow
// its turn limit.
func (h *Host) plan(m model.Model, c journal.RunCreated, earlier []journal.Message) error {
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
			h.Guard()
			h.Hub.Publish(stream.Event{Run: c.Run, Note: doubt, Warn: true, Quotes: true})
		}
	}
	if limit := c.Limits.MaxTurns; limit > 0 && turns > limit {
		h.Warn(c.Run, "this takes %d turns and the limit is %d: the run will stop and ask there (--max-turns %d avoids it)", turns, limit, turns)
	}
	return nil
}
