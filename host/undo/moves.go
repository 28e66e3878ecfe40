package undo

import (
	"context"
	"strings"

	"agent/host/view"
	"agent/host/workspace"
	"agent/recovery/journal"
	pure "agent/recovery/workspace"
)

// move is where HEAD was before the calls that are taken back and where they left it; nil where
// that is the same.
func (p *Plan) move() *journal.HeadMove {
	var all *journal.HeadMove
	for _, r := range p.Runs {
		for _, m := range r.Moves {
			if all == nil {
				all = &journal.HeadMove{From: m.From}
			}
			all.To = m.To
		}
	}
	if all == nil || all.From == all.To {
		return nil
	}
	return all
}

// inWay are the paths that git refuses to go over when HEAD goes back: their content is not that of
// the commit, and the two commits have them in different ways.
type inWay struct {
	there []string // the commit of before has them
	only  []string // only the other one does
}

// standInWay finds those paths. Where git cannot compare the commits there is none to name.
func (p *Plan) standInWay(ctx context.Context, contents *workspace.Contents) {
	m := p.move()
	if m == nil || m.To.Commit == "" || m.From.Commit == m.To.Commit {
		return
	}
	differ, err := contents.Differing(ctx, m.From.Commit, m.To.Commit)
	if err != nil {
		return
	}
	for _, i := range p.Files.Items {
		name := i.Name()
		there, is := differ[name]
		will := i.Now
		if i.Kind == pure.KindRestore || i.Kind == pure.KindRemove || i.Overwrite {
			will = i.Want
		}
		switch {
		case !is || i.Kind == pure.KindGit || i.Kind == pure.KindLost || will != nil && will.Kind == journal.FileFolder:
		case there:
			p.inWay.there = append(p.inWay.there, name)
		case will != nil:
			p.inWay.only = append(p.inWay.only, name)
		}
	}
}

// wayBack is the command that has HEAD go back and leaves what is not committed as it is. Git goes
// over a changed file if its index has for it what the commit has that it goes to; a file that this
// commit does not have must be out of the way for that moment.
func wayBack(from, to journal.GitHead, in inWay) string {
	var steps, after []string
	if len(in.there) > 0 {
		steps = append(steps, "git reset -q "+short(from)+" -- "+shellWords(in.there))
	}
	for _, name := range in.only {
		word, aside := view.ShellWord(name), view.ShellWord(name+".mine")
		steps, after = append(steps, "mv "+word+" "+aside), append(after, "mv "+aside+" "+word)
	}
	switch {
	case from.Ref == to.Ref && from.Commit == "":
		steps = append(steps, "git update-ref -d HEAD")
	case from.Ref == to.Ref:
		steps = append(steps, "git reset --keep "+short(from))
	case from.Commit == "":
		steps = append(steps, "git symbolic-ref HEAD "+view.ShellWord(from.Ref))
	case from.Ref != "":
		steps = append(steps, "git switch "+view.ShellWord(headText(journal.GitHead{Ref: from.Ref})))
	default:
		steps = append(steps, "git switch --detach "+short(from))
	}
	return strings.Join(append(steps, after...), " && ")
}

func shellWords(names []string) string {
	all := make([]string, 0, len(names))
	for _, name := range names {
		all = append(all, view.ShellWord(name))
	}
	return strings.Join(all, " ")
}

func short(h journal.GitHead) string { return h.Commit[:min(12, len(h.Commit))] }

func headText(h journal.GitHead) string {
	if name, branch := strings.CutPrefix(h.Ref, "refs/heads/"); branch && name != "" {
		return name
	}
	return short(h)
}
