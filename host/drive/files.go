package drive

import (
	"context"
	"encoding/json"
	"time"

	"agent/db/keep"
	"agent/host/model"
	"agent/host/words"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
)

// Files keeps what calls may destroy of the files of their workspace, and finds what they changed.
// All runs of a process share one.
type Files interface {
	// Ahead hears that a model is asked by a run whose calls may write to all of its workspace.
	// What the first such call needs may be begun meanwhile; nothing is recorded of it.
	Ahead(c journal.RunCreated)
	// Before looks right before a call is started. What it returns is durable before the call acts.
	Before(ctx context.Context, c FilesCall) (Found, error)
	// After looks once a call has its result. fresh are facts of the run that are not durable yet.
	After(ctx context.Context, c FilesCall, fresh []journal.Event) Found
	// Last looks right before the end of a run is recorded.
	Last(ctx context.Context, c journal.RunCreated) Found
	// Dropped is given facts of a run that did not become durable, and were not what is so now.
	Dropped(c journal.RunCreated)
	// Ended hears that the end of a run is durable.
	Ended(c journal.RunCreated)
	// Left hears that this process drives a run no more, ended or not.
	Left(c journal.RunCreated)
}

// FilesCall is a call that may change files of its workspace.
type FilesCall struct {
	Created journal.RunCreated
	Place   journal.Place
	Args    []byte
	Paths   []string // all that it may change, seen from the workspace; nil: anything
	Host    bool     // it is no call: this program itself writes there
	// Took is how long its command ran, once it has its result; 0 where nobody knows. Who takes a
	// run over may look at the call long after its end.
	Took time.Duration
}

// Found is what a look found: facts, and the contents that they name.
type Found struct {
	Facts []journal.Body
	Kept  []keep.Row
	Marks json.RawMessage // before a call: journal.CallStarted
}

// changesFiles says whether a call may change files of the workspace itself.
func (rec *recorder) changesFiles(c *recovery.Call) (FilesCall, bool) {
	f := FilesCall{Created: rec.state.Created, Place: c.Place, Args: c.Args}
	if rec.p.Files == nil || c.Effect == journal.EffectRead || c.Child != "" {
		return f, false
	}
	t, err := rec.env.Tools.Get(c.Tool)
	if err != nil {
		return f, true // as of a server's tool that is not there any more: nobody knows what it changed
	}
	switch is := t.Describe(f.Created.Folder, c.Args); is.Touches {
	case tools.TouchesNone:
		return f, false
	case tools.TouchesPaths:
		f.Paths = append([]string{}, is.Within(f.Created.Folder, c.Args)...)
	}
	return f, true
}

// filesAhead has the first writing call of this claim find its workspace listed already, beside the
// first request to a model that may want one. Whose calls a person wrote asks no model.
func (mt *modelTurn) filesAhead() {
	if _, written := mt.model.(model.Authored); mt.p.Files == nil || mt.ahead || written || mt.state.Mode == journal.ModePlan {
		return
	}
	mt.ahead = true
	c := mt.state.Created
	for _, name := range mt.env.Tools.Names() {
		t, err := mt.env.Tools.Get(name)
		if err != nil {
			continue // there is every tool that is named
		}
		if is := t.Describe(c.Folder, nil); is.Effect != journal.EffectRead && is.Touches == tools.TouchesAll {
			mt.p.Files.Ahead(c)
			return
		}
	}
}

// keepFiles looks at the files before a call, and has what it may destroy be durable with its
// start.
func (rec *recorder) keepFiles(ctx context.Context, c *recovery.Call) (marks json.RawMessage, err error) {
	f, ok := rec.changesFiles(c)
	if !ok {
		return nil, nil
	}
	f.Place.Attempt++
	found, err := rec.p.Files.Before(ctx, f)
	if err != nil {
		return nil, err
	}
	rec.take(found)
	return found.Marks, nil
}

// seeFiles looks at what a call changed whose result is about to be recorded. What it finds is
// recorded behind the result. Where the outcome is unknown the result names the files and commits:
// the model, and a person, may read it off them.
func (rec *recorder) seeFiles(b journal.Body) (journal.Body, Found) {
	settled, ok := b.(journal.CallSettled)
	if !ok {
		return b, Found{}
	}
	c, err := rec.state.Call(settled.Place)
	if err != nil {
		return b, Found{} // the fold refuses it
	}
	f, ok := rec.changesFiles(c)
	if !ok || c.Attempt == 0 {
		return b, Found{}
	}
	f.Took = settled.Result.Took
	found := rec.p.Files.After(context.Background(), f, rec.facts)
	if settled.Result.Outcome == journal.OutcomeUnknown {
		settled.Result.Content += words.Meanwhile(found.Facts)
	}
	return settled, found
}

// lastLook looks at the files once more where a fact ends the run.
func (rec *recorder) lastLook(b journal.Body) {
	switch b.(type) {
	case journal.RunCompleted, journal.RunFailed, journal.RunCancelled:
		if rec.p.Files != nil && rec.owns() {
			rec.take(rec.p.Files.Last(context.Background(), rec.state.Created))
		}
	}
}

// take records what a look found.
func (rec *recorder) take(f Found) {
	rec.kept = append(rec.kept, f.Kept...)
	for _, b := range f.Facts {
		if n, ok := rec.clockSet(); ok {
			rec.fold(n)
		}
		rec.fold(b)
	}
}
