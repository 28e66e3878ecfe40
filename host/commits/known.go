package commits

import (
	"context"
	"errors"
	"slices"

	"agent/db/commits"
	"agent/recovery/journal"
	"agent/recovery/workspace/origin"
	"agent/recovery/workspace/relate"
	"agent/tools/gitrepo/history"
)

// known is what is known of linked commits that a commit may have something to do with, but for
// what around adds. It works out the patch of the commit, where that or its fact may be asked for.
func (b *book) known(ctx context.Context, r *relate.Commit) (k relate.Known, err error) {
	if err := b.lookUp(ctx); err != nil {
		return k, err
	}
	if len(b.recent)+len(b.fresh)+len(r.During) > 0 || parts(r.Lines) { // a patch counts only in the same repository
		if err := b.patch(ctx, r); err != nil {
			return k, err
		}
	}
	links, err := b.candidates(ctx, r)
	if err != nil || len(links)+len(b.fresh) == 0 {
		return k, err
	}
	if err := b.patch(ctx, r); err != nil {
		return k, err
	}
	at := map[string]int{}
	for _, l := range links {
		one, err := b.link(ctx, l)
		if err != nil {
			return k, err
		}
		name := l.ID + l.Checkpoint
		if i, have := at[name]; have {
			k.Linked[i].Shares = append(k.Linked[i].Shares, one.Shares...)
			continue
		}
		at[name] = len(k.Linked)
		k.Linked = append(k.Linked, one)
	}
	k.Linked = append(k.Linked, b.fresh...)
	return k, nil
}

// lookUp lists the linked commits of the repository that were recorded last, if nobody has.
func (b *book) lookUp(ctx context.Context) error {
	if b.recent != nil {
		return nil
	}
	list, err := commits.In(ctx, b.p.Store, b.repo.Common, maxCandidates)
	slices.Reverse(list)
	b.recent = append([]commits.Link{}, list...)
	return err
}

// parts says whether a run has anything in lines.
func parts(lines map[string][]relate.Part) bool {
	for _, list := range lines {
		if len(list) > 0 {
			return true
		}
	}
	return false
}

// patch works out the patch of a commit.
func (b *book) patch(ctx context.Context, r *relate.Commit) error {
	patches, err := b.rd.PatchIDs(ctx, []string{r.ID})
	r.Patch = patches[r.ID]
	return err
}

// around says in the commit which of the linked ones it stands on, and adds what may have been
// squashed.
func (b *book) around(ctx context.Context, r *relate.Commit, k *relate.Known) error {
	if len(k.Linked) == 0 {
		return nil
	}
	below, err := b.rd.Walk(ctx, []string{r.ID}, nil, maxAncestors)
	if err != nil {
		return err
	}
	for _, c := range below.Commits {
		is := func(l relate.Linked) bool { return l.ID == c.ID }
		if c.ID != r.ID && slices.ContainsFunc(k.Linked, is) {
			r.Behind = append(r.Behind, c.ID)
		}
	}
	k.Ranges, err = b.ranges(ctx, *r, k.Linked)
	return err
}

// candidates are the linked commits that have anything in common with a commit, and those of the
// repository that were recorded last, in the order in which they were recorded.
func (b *book) candidates(ctx context.Context, r *relate.Commit) ([]commits.Link, error) {
	list := b.recent
	var first []commits.Link
	marks := []commits.Mark{key(r)}
	for _, id := range append(slices.Clone(r.Trailers), r.Mentions...) {
		marks = append(marks, commits.Mark{Checkpoint: id})
	}
	if r.Of != "" {
		marks = append(marks, commits.Mark{ID: r.Of})
	}
	for _, m := range marks {
		like, err := commits.Like(ctx, b.p.Store, m)
		if err != nil {
			return nil, err
		}
		for _, l := range like {
			if !slices.Contains(list, l) && !slices.Contains(first, l) {
				first = append(first, l)
			}
		}
	}
	return append(first, list...), nil
}

// link is a linked commit with one of its shares. What git has no more is left empty.
func (b *book) link(ctx context.Context, l commits.Link) (relate.Linked, error) {
	name := l.ID + l.Checkpoint + l.Run
	if one, ok := b.linked[name]; ok {
		return one, nil
	}
	one := relate.Linked{Checkpoint: l.Checkpoint, ID: l.ID, Repo: l.Repo, Tree: l.Tree, Patch: l.Patch}
	f, err := b.recorded(ctx, l)
	if err != nil {
		return one, err
	}
	one.Parents, one.ChangeIDs, one.Relation, one.Of = f.Parents, f.Changes, relate.Relation(f.Relation), f.Of
	one.Identity = relate.Identity{Author: f.Author, Time: f.Authored.Unix(), Subject: f.Subject}
	place := journal.Place{Turn: l.Turn}
	if f.During != nil {
		place = *f.During
	}
	one.Shares = []relate.Share{{Run: l.Run, Place: place, Paths: f.Paths}}
	if l.Repo == b.repo.Common {
		if err := b.fromGit(ctx, &one); err != nil {
			return one, err
		}
		one.Shares[0].Paths = named(f, one.Changes)
	}
	b.linked[name] = one
	return one, nil
}

// named are the paths of a share as git has them. The fact names at most a number of them, and in
// JSON those that are not UTF-8 are only near what they are.
func named(f journal.CommitSeen, changes []relate.Change) (out []string) {
	all := f.Share == f.Files && len(changes) == f.Files
	for _, c := range changes {
		if all || slices.Contains(f.Paths, c.Path) || slices.Contains(f.Paths, string([]rune(c.Path))) {
			out = append(out, c.Path)
		}
	}
	if len(changes) == 0 {
		return f.Paths
	}
	return out
}

// recorded is the fact that a link was recorded with.
func (b *book) recorded(ctx context.Context, l commits.Link) (journal.CommitSeen, error) {
	for e, err := range b.p.Store.Load(ctx, l.Run, l.Seq-1) {
		if err != nil {
			return journal.CommitSeen{}, err
		}
		if f, ok := e.Body.(journal.CommitSeen); ok && e.Seq == l.Seq {
			return f, nil
		}
		break
	}
	return journal.CommitSeen{}, nil // its journal is damaged there, which reading it whole says
}

// fromGit adds what git still knows of a linked commit.
func (b *book) fromGit(ctx context.Context, one *relate.Linked) error {
	all, missing, err := b.rd.Commits(ctx, []string{one.ID})
	if err != nil || len(missing) > 0 {
		one.Replaced = len(missing) > 0
		return err
	}
	one.Changes, one.Base, err = b.changes(ctx, all[one.ID])
	if errors.Is(err, history.ErrMissing) {
		err = nil
	}
	if err != nil {
		return err
	}
	there, err := b.below.Has(ctx, one.ID)
	if err != nil && !errors.Is(err, history.ErrMissing) {
		return err
	}
	one.Replaced = !there
	return nil
}

func tipIDs(tips []history.Tip) (out []string) {
	for _, t := range tips {
		if !slices.Contains(out, t.ID) {
			out = append(out, t.ID)
		}
	}
	return out
}

// ranges are the lines of commits that end at the tips of other branches and hold linked commits:
// what git merge --squash makes one of.
func (b *book) ranges(ctx context.Context, r relate.Commit, linked []relate.Linked) (out []relate.Range, err error) {
	if len(r.Parents) != 1 {
		return nil, nil
	}
	var apart []string
	for _, l := range linked {
		if l.Repo == r.Repo && !slices.Contains(r.Behind, l.ID) && l.ID != r.ID {
			apart = append(apart, l.ID)
		}
	}
	if len(apart) == 0 {
		return nil, nil
	}
	for _, tip := range append(tipIDs(b.tips), apart...) {
		if tip == r.ID || len(out) >= maxTips {
			continue
		}
		one, err := b.rangeTo(ctx, tip, r.Parents[0], apart)
		if err != nil {
			return nil, err
		}
		if one != nil {
			out = append(out, *one)
		}
	}
	return out, nil
}

// rangeTo is what leads to a tip and not to a commit; nil where that is no single line with a
// linked commit in it.
func (b *book) rangeTo(ctx context.Context, tip, from string, apart []string) (*relate.Range, error) {
	w, err := b.rd.Walk(ctx, []string{tip}, []string{from}, maxAncestors)
	if err != nil || len(w.Commits) < 2 || w.More || len(w.Missing) > 0 {
		return nil, err
	}
	one := relate.Range{Repo: b.repo.Common, Tree: w.Commits[0].Tree}
	has := false
	for _, c := range slices.Backward(w.Commits) {
		if len(c.Parents) > 1 {
			return nil, nil
		}
		one.Commits = append(one.Commits, c.ID)
		has = has || slices.Contains(apart, c.ID)
	}
	first := w.Commits[len(w.Commits)-1]
	if !has || len(first.Parents) == 0 {
		return nil, nil
	}
	above, missing, err := b.rd.Commits(ctx, first.Parents)
	if err != nil || len(missing) > 0 {
		return nil, err
	}
	one.Base = above[first.Parents[0]].Tree
	one.Patch, err = b.rd.RangePatchID(ctx, first.Parents[0], tip)
	if errors.Is(err, history.ErrMissing) {
		err = nil
	}
	return &one, err
}

// held counts the lines of linked commits that are in a commit, where package relate asks for it.
func (b *book) held(ctx context.Context, r relate.Commit, k relate.Known) (out []relate.Held, err error) {
	for _, w := range relate.Wants(r, k) {
		var is, was relate.Change
		for _, c := range r.Changes {
			if c.Path == w.Path {
				is = c
			}
		}
		for _, l := range k.Linked {
			for _, c := range l.Changes {
				if l.ID == w.Linked && c.Path == w.Path {
					was = c
				}
			}
		}
		h := origin.Replay([]origin.Version{
			{Content: b.content(ctx, was.Before), Owner: origin.Nobody},
			{Content: b.content(ctx, was.After), Owner: 0},
		})
		lines := 0
		for _, one := range h.Brought(b.content(ctx, is.Before), b.content(ctx, is.After)) {
			if one.Owner == 0 {
				lines += one.Added
			}
		}
		out = append(out, relate.Held{Linked: w.Linked, Path: w.Path, Lines: lines})
	}
	return out, nil
}
