package drive

import (
	"context"
	"fmt"
	"strings"

	"agent/db"
	"agent/host/drive/brief"
	"agent/host/model"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools/ofd"
)

// New is everything that is known of a run before it is recorded.
type New struct {
	Created journal.RunCreated
	Env     Env
	Model   model.Model
	Fresh   bool              // its thread begins with it
	Earlier []journal.Message // what its thread said
	Unknown []journal.Unknown // what other runs of the thread left unknown
	Before  string            // the folder of the run before it in the thread
	// Recorded hears that the run is on record; nil for nobody.
	Recorded func()
	Edited   string // the file of the prompt that it goes on with, where that was edited
}

// Create records a new run and drives it. Its lock is taken before its row exists.
func Create(ctx context.Context, p *Process, n New) (out Outcome, err error) {
	// The lock file stays whatever happens: lock files are never removed while the store exists.
	err = Holding(p, n.Created.Run, func(lock *ofd.File) error {
		d, err := p.newDriver(&recovery.State{Earlier: n.Earlier}, db.Head{Run: n.Created.Run, Thread: n.Created.Thread}, lock)
		if err != nil {
			return err
		}
		if n.Created.Flow != nil {
			if d.flow, err = p.Flows(n.Created, nil); err != nil {
				return err
			}
			d.state = d.flow.State()
			d.state.Earlier = n.Earlier
		}
		d.use(n.Env)
		d.fresh, d.turn.model = n.Fresh, n.Model
		out, err = d.drive(ctx, func(ctx context.Context) error { return d.create(ctx, n) })
		return err
	})
	return out, err
}

// create records the run: creation, claim and the first request are one commit. Step 1.
func (d *driver) create(ctx context.Context, n New) error {
	d.record(n.Created)
	if err := d.policy.setRules(n.Created.Folder); err != nil {
		return err
	}
	d.record(d.judge().claimFact(d.state, n.Unknown))
	for _, text := range d.env.Notes {
		d.record(journal.RunNoted{Text: text})
	}
	d.recordAll(brief.Follows(n.Created))
	d.noteMove(n.Before)
	d.noteEdited(n.Edited)
	if d.flow == nil {
		d.settleDown(recovery.Next(d.state))
	}
	if err := d.calls.flush(ctx); err != nil {
		return err
	}
	fault.Hit(fault.AfterClaim)
	for _, text := range d.env.Told {
		if n.Fresh { // one that goes on with a conversation says nothing new
			d.p.Note(n.Created.Run, "%s", text)
		}
	}
	if n.Recorded != nil {
		n.Recorded()
	}
	return nil
}

// settleDown records what follows from the facts alone, so that it shares their commit.
func (d *driver) settleDown(a recovery.Action) {
	if r, ok := a.(recovery.Record); ok {
		d.recordAll(r.Facts)
	}
}

// noteMove says that a run of a thread works elsewhere than the one before it: what that one left
// is not in this folder.
func (d *driver) noteMove(before string) {
	if c := d.state.Created; before != "" && before != c.Folder {
		d.record(journal.RunNoted{Text: fmt.Sprintf("thread %s worked in %s before; this run works in %s", c.Thread, before, c.Folder)})
	}
}

// noteEdited says that the file was edited whose recorded steps a run goes on with; "" where it was
// not.
func (d *driver) noteEdited(source string) {
	if source != "" {
		d.record(journal.RunNoted{Text: fmt.Sprintf("%s was edited since; the recorded steps count; to carry out the new text: agent run --runbook -f %s",
			source, shellWord(source))})
	}
}

// shellWord is a path as a shell takes it for one word.
func shellWord(path string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./"
	if strings.Trim(path, plain) == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
