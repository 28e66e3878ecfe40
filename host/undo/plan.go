package undo

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agent/db/keep"
	"agent/host"
	"agent/host/drive"
	"agent/host/model/rewind"
	"agent/host/view"
	"agent/host/workspace"
	"agent/recovery"
	"agent/recovery/journal"
	pure "agent/recovery/workspace"
	"agent/tools"
	"agent/tools/restore"
)

// Request is what is to be taken back.
type Request struct {
	To        journal.Position
	Only      journal.RewindPart // "" is both
	Overwrite []string           // paths that somebody else changed since, and that are to be taken back too
}

// Plan is what a rewind would do. It is the same value that is shown, asked about and carried out.
type Plan struct {
	*History
	Request
	Files pure.Plan
	head  string // where git stands
	Ends  string // a run that has not ended, and is ended before; "" for none
	Notes []string
	inWay inWay
}

// Make works a plan out. It changes nothing.
func Make(ctx context.Context, p *drive.Process, r Request) (*Plan, error) {
	h, err := Read(ctx, p, r.To)
	if err != nil {
		return nil, err
	}
	plan := &Plan{History: h, Request: r}
	if err := plan.check(ctx, p); err != nil {
		return nil, err
	}
	if r.Only == journal.RewindConversation {
		return plan, nil
	}
	return plan, plan.files(ctx, p)
}

// check refuses what cannot be taken back to.
func (p *Plan) check(ctx context.Context, process *drive.Process) error {
	first := p.Runs[0]
	switch {
	case first.Flow && p.To.Turn > 0:
		return &RefusedError{p.To, "a flow has only the positions @0 and its end", []view.Fix{
			{Does: "take back all of it", Command: "agent rewind " + first.ID + "@0"},
			{Does: "do one phase again", Command: "agent resume --redo NAME " + first.ID},
		}}
	case p.To.Turn > first.Turns:
		return &RefusedError{p.To, fmt.Sprintf("the run has %d turns", first.Turns), []view.Fix{{Does: "list its positions", Command: "agent checkpoints " + first.ID}}}
	}
	for _, r := range p.Runs {
		if r.Status.Terminal() {
			continue
		}
		if who, busy, err := process.Owner(r.ID); err != nil {
			return err
		} else if busy {
			return &RefusedError{p.To, fmt.Sprintf("%s drives run %s", who, r.ID), []view.Fix{{Does: "end it first", Command: "agent cancel " + r.ID}}}
		}
		p.Ends = r.ID
	}
	return nil
}

// files works out what becomes of the files.
func (p *Plan) files(ctx context.Context, process *drive.Process) error {
	contents, err := workspace.NewContents(process, p.Folder)
	if err != nil {
		return err
	}
	defer contents.Close() // they are only read
	p.head = contents.Head()
	paths := pure.Paths(p.Steps)
	disk, err := contents.Disk(p.Folder, paths)
	if err != nil {
		return err
	}
	overwrite := map[string]bool{}
	for _, path := range p.Overwrite {
		overwrite[path] = true
	}
	p.Files = pure.NewPlan(p.Steps, disk, overwrite)
	stays, err := contents.Stays(p.Folder, p.Files.Leaving(), disk)
	if err != nil {
		return err
	}
	if len(stays) > 0 {
		maps.Copy(disk, stays)
		p.Files = pure.NewPlan(p.Steps, disk, overwrite)
	}
	p.noGit(contents)
	for i, item := range p.Files.Items {
		acts := item.Kind == pure.KindRestore || item.Overwrite
		if !acts || item.Want == nil || item.Want.Kind != journal.FileRegular {
			continue
		}
		if _, err := contents.Content(ctx, item.Want); err != nil {
			p.Files.Items[i].Kind, p.Files.Items[i].Overwrite = pure.KindLost, false
			p.Files.Items[i].Reason = whyLost(err)
		}
	}
	p.standInWay(ctx, contents)
	return p.meant()
}

// whyLost says why a content cannot be given back.
func whyLost(err error) journal.LeftReason {
	if lost := new(keep.LostError); errors.As(err, &lost) && lost.Gone {
		return journal.LeftDropped
	}
	return journal.LeftUnreadable
}

// noGit notes that the repository is gone: what git keeps for itself is never given back.
func (p *Plan) noGit(contents *workspace.Contents) {
	for _, r := range p.Runs {
		if b := r.Base; b != nil && b.Head != nil && b.Head.Commit != "" && !contents.HasCommits() {
			p.Notes = append(p.Notes, fmt.Sprintf("the repository that was at %.12s is gone, and .git itself is not given back: clone it again from its remote, "+
				"or start anew with git init", b.Head.Commit))
			return
		}
	}
}

// meant refuses a path to overwrite that is none of somebody else.
func (p *Plan) meant() error {
	for _, path := range p.Overwrite {
		if !slices.ContainsFunc(p.Files.Items, func(i pure.Item) bool { return i.Path == path && i.Overwrite }) {
			return &RefusedError{p.To, fmt.Sprintf("--overwrite %s: it is no path that somebody else changed since", path),
				[]view.Fix{{Does: "see what would be done", Command: fmt.Sprintf("agent rewind --dry-run %s", p.To)}}}
		}
	}
	return nil
}

// Args are the arguments of the call that makes the files; nil where none is to be made.
func (p *Plan) Args() restore.Args {
	var a restore.Args
	for _, i := range p.Files.Acts() {
		a.Files = append(a.Files, restore.File{Path: i.Path, Raw: i.Raw, Now: recorded(i.Now), Want: i.Want})
	}
	return a
}

// recorded is a version as a fact may have it: an object id of git's is a plain hash, from which a
// short secret could be found out.
func recorded(v *journal.FileVersion) *journal.FileVersion {
	if v == nil || v.Kept == "" {
		return v
	}
	plain := *v
	plain.Git = ""
	return &plain
}

// Empty says that nothing would be done.
func (p *Plan) Empty() bool {
	return len(p.Files.Acts()) == 0 && p.Only == journal.RewindFiles
}

// Start is the run that carries the plan out. yes says that the person was shown it and agreed.
func (p *Plan) Start(yes bool) host.StartRequest {
	r := journal.RewindRun{To: p.To, Only: p.Only, Yes: yes}
	if a := p.Args(); len(a.Files) > 0 {
		r.Args = tools.Encode(a)
	}
	req := host.StartRequest{
		Prompt: p.Title(), Folder: p.Folder, Thread: p.Thread, Model: rewind.Name, ModelWhy: "a rewind", Mode: journal.ModeAsk,
		Limits: journal.Limits{MaxTurns: 10}, Rewind: &r,
	}
	if p.Only != journal.RewindFiles {
		req.From = &p.To
	}
	return req
}

// Title says in a few words what is taken back.
func (p *Plan) Title() string {
	if p.To.Turn == 0 && len(p.Runs) == 1 {
		return p.Undo()
	}
	return "rewind to " + p.To.String()
}

// Undo is the title where the first run is taken back whole.
func (p *Plan) Undo() string {
	title := "undo "
	if p.Runs[0].Rewind {
		title = "undo the rewind "
	}
	title += p.To.Run
	if n := len(p.Runs) - 1; n > 0 {
		title += " and " + view.Count(n, "run") + " after it"
	}
	return title
}

// Counts says how many paths of each kind there are.
func (p *Plan) Counts() string {
	n := map[pure.Kind]int{}
	for _, i := range p.Files.Items {
		n[i.Kind]++
	}
	var parts []string
	for _, k := range []pure.Kind{pure.KindRestore, pure.KindRemove, pure.KindYours, pure.KindGit, pure.KindLost} {
		if n[k] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", k, n[k]))
		}
	}
	return strings.Join(parts, ", ")
}

// Newest is the run that an undo without a name means: the given one, which is the newest, unless
// that is a rewind that took nothing back.
func Newest(ctx context.Context, p *drive.Process, run string) (string, error) {
	for {
		s, err := drive.Alone(ctx, p, run)
		if err != nil {
			return "", err
		}
		if !idle(s) || s.Created.Previous == "" {
			return run, nil
		}
		run = s.Created.Previous
	}
}

// idle says whether a run is a rewind that ended and took nothing back.
func idle(s *recovery.State) bool {
	if s.Created.Rewind == nil || !s.Status.Terminal() || s.Status == recovery.StatusCompleted {
		return false
	}
	for _, t := range s.Turns {
		if slices.ContainsFunc(t.Calls, func(c *recovery.Call) bool { return c.Result != nil && c.Result.Applied != journal.AppliedNo }) {
			return false
		}
	}
	return true
}
