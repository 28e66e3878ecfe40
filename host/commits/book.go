package commits

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agent/db"
	"agent/db/commits"
	"agent/db/keep"
	"agent/host/drive"
	"agent/host/workspace"
	"agent/recovery/journal"
	"agent/recovery/workspace/origin"
	"agent/recovery/workspace/relate"
	"agent/tools/gitrepo/history"
	"agent/tools/gitrepo/hooklines"
	"agent/tools/gitrepo/objects"
)

// Folder is where git reads for us, in the state folder: one folder a repository, without objects
// and refs of its own.
const Folder = "git"

// Bounds of what is looked at for one commit.
const (
	maxCandidates = 24     // linked commits that were recorded last
	maxPaths      = 10_000 // paths of a commit whose lines are compared
	maxAncestors  = 1000   // commits that a commit stands on
	maxTips       = 8      // other branches that may have been squashed
	maxUnlogged   = 50     // commits of one call that no log tells of
)

// book is a repository while its commits are judged.
type book struct {
	p        *drive.Process
	repo     objects.Repository
	rd       *history.Reader
	records  *records
	contents contents
	tips     []history.Tip
	below    *history.Below
	recent   []commits.Link           // the linked commits of the repository that were recorded last; nil: nobody has asked
	linked   map[string]relate.Linked // by id, checkpoint and run
	fresh    []relate.Linked          // that are not on record yet
}

// openBook opens the repository that a folder belongs to.
func openBook(ctx context.Context, p *drive.Process, repo objects.Repository) (*book, error) {
	kept, err := workspace.NewContents(p, repo.Top)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(p.Home, Folder, kept.Name([]byte(repo.Common)))
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for git: %w", err)
	}
	rd, err := history.Open(repo, dir)
	if err != nil {
		return nil, err
	}
	b := &book{p: p, repo: repo, rd: rd, records: newRecords(p), linked: map[string]relate.Linked{}}
	b.contents = contents{Contents: kept, blob: rd.Blob, known: map[string][]byte{}, staged: map[string]keep.Row{}}
	if b.tips, err = history.Tips(ctx, repo); err != nil {
		return nil, errors.Join(err, b.close())
	}
	b.below = rd.Below(tipIDs(b.tips))
	return b, nil
}

func (b *book) close() error { return errors.Join(b.rd.Close(), b.contents.Close()) }

// found is a commit that is to be judged, with what the reflog says of it.
type found struct {
	id     string
	verb   string
	old    string    // the id before, of the same ref
	at     time.Time // of the line
	blind  bool
	during []relate.Window
	until  time.Time // it holds nothing that was written later; none: that is not known
}

// judged is a commit with its verdict.
type judged struct {
	commit history.Commit
	relate.Verdict
	known  relate.Known
	verb   string
	change relate.Commit
}

// judge says what a commit has to do with runs; nil where it is gone.
func (b *book) judge(ctx context.Context, f found) (*judged, error) {
	b.contents.known = map[string][]byte{} // of one commit at a time: they may be large
	all, _, err := b.rd.Commits(ctx, []string{f.id})
	if err != nil {
		return nil, err
	}
	c, there := all[f.id]
	if !there {
		return nil, nil
	}
	r, err := b.describe(ctx, c, f)
	if errors.Is(err, history.ErrMissing) {
		return nil, nil // its parent or its tree is
	}
	if err != nil {
		return nil, err
	}
	if r.Lines, err = b.lines(ctx, r.Changes, f.until); err != nil {
		return nil, err
	}
	known, err := b.known(ctx, &r)
	if err != nil {
		return nil, err
	}
	if relate.Nothing(r, known) {
		return &judged{commit: c, Verdict: relate.Verdict{Relation: relate.None}, known: known, verb: f.verb, change: r}, nil
	}
	if err := b.around(ctx, &r, &known); err != nil {
		return nil, err
	}
	if r.Held, err = b.held(ctx, r, known); err != nil {
		return nil, err
	}
	return &judged{commit: c, Verdict: relate.Relate(r, known), known: known, verb: f.verb, change: r}, nil
}

// describe is a commit as package relate wants it, but for what depends on others.
func (b *book) describe(ctx context.Context, c history.Commit, f found) (relate.Commit, error) {
	r := relate.Commit{
		ID: c.ID, Repo: b.repo.Common, Tree: c.Tree, Parents: c.Parents,
		Identity: relate.Identity{Author: c.Author, Time: c.AuthorTime.Unix(), Subject: c.Subject()},
		Verb:     f.verb, Blind: f.blind, During: f.during,
	}
	if replaces(f.verb) {
		r.Of = f.old
	}
	if c.ChangeID != "" {
		r.ChangeIDs = append(r.ChangeIDs, c.ChangeID)
	}
	if hasTrailer(c.Message) {
		trailers, err := b.rd.Trailers(ctx, []string{c.Message})
		if err != nil {
			return r, err
		}
		for _, t := range trailers[0] {
			switch {
			case strings.EqualFold(t.Key, hooklines.Trailer):
				r.Trailers = append(r.Trailers, ids(t.Value)...)
			case strings.EqualFold(t.Key, changeID):
				r.ChangeIDs = append(r.ChangeIDs, t.Value)
			}
		}
	}
	r.Mentions = without(ids(c.Message), r.Trailers)
	for line := range strings.Lines(c.Message) {
		r.Reverts = r.Reverts || strings.HasPrefix(line, "This reverts commit ")
	}
	var err error
	r.Changes, r.Base, err = b.changes(ctx, c)
	return r, err
}

// changeID is the trailer that Gerrit has in messages.
const changeID = "Change-Id"

// hasTrailer says whether a message may have one of the trailers that count here.
func hasTrailer(message string) bool {
	message = strings.ToLower(message)
	return strings.Contains(message, strings.ToLower(hooklines.Trailer)) || strings.Contains(message, strings.ToLower(changeID))
}

// replaces says whether a line of the reflog has the commit that was replaced as its old id.
func replaces(verb string) bool {
	switch verb {
	case "commit (amend)", "rebase (reword)", "rebase (fixup)", "rebase (squash)", "rebase (amend)":
		return true
	}
	return false
}

// changes is what a commit changed, and the tree that it changed.
func (b *book) changes(ctx context.Context, c history.Commit) (out []relate.Change, base string, err error) {
	list, err := b.rd.Changes(ctx, c.ID)
	if err != nil {
		return nil, "", err
	}
	for _, one := range list {
		out = append(out, relate.Change{Path: one.Path, Before: side(one.Before), After: side(one.After)})
	}
	if len(c.Parents) > 0 {
		above, _, err := b.rd.Commits(ctx, c.Parents[:1])
		if err != nil {
			return nil, "", err
		}
		base = above[c.Parents[0]].Tree
	}
	return out, base, nil
}

func side(s history.Side) string {
	if s.Blob == "" || s.Mode == objects.ModeFile {
		return s.Blob
	}
	return fmt.Sprintf("%o:%s", s.Mode, s.Blob)
}

// blobOf is the blob of a side; "" where nothing is, or a submodule.
func blobOf(side string) string {
	mode, blob, ok := strings.Cut(side, ":")
	switch {
	case !ok:
		return side
	case mode == fmt.Sprintf("%o", objects.ModeSubmodule):
		return ""
	}
	return blob
}

// content is what a side of a change holds.
func (b *book) content(ctx context.Context, side string) origin.Content {
	if side == "" {
		return origin.Content{State: origin.Absent}
	}
	content, err := b.rd.Blob(ctx, blobOf(side), origin.MaxBytes)
	switch {
	case errors.Is(err, history.ErrTooLarge):
		return origin.Content{State: origin.Large, ID: side}
	case err != nil:
		return origin.Content{State: origin.Lost}
	}
	c := b.contents.named(content)
	b.contents.known[c.ID] = content
	return c
}

// lines says of each path which calls have something in what a commit changed there.
func (b *book) lines(ctx context.Context, changes []relate.Change, until time.Time) (map[string][]relate.Part, error) {
	if len(changes) > maxPaths {
		changes = changes[:maxPaths]
	}
	var paths []string
	for _, c := range changes {
		paths = append(paths, c.Path)
	}
	runs, err := b.records.changers(ctx, b.repo.Top, paths)
	if err != nil {
		return nil, err
	}
	out := map[string][]relate.Part{}
	for _, c := range changes {
		out[c.Path] = []relate.Part{}
		if len(runs[c.Path]) == 0 {
			continue
		}
		before, after := b.content(ctx, c.Before), b.content(ctx, c.After) // known before the versions are read
		full := filepath.Join(b.repo.Top, filepath.FromSlash(c.Path))
		list, err := b.records.versions(ctx, full, runs[c.Path], until)
		if err != nil {
			return nil, err
		}
		for _, one := range b.contents.replay(ctx, list).Brought(before, after) {
			for _, by := range makers(list, one.Version) {
				out[c.Path] = append(out[c.Path], relate.Part{Run: by.run, Place: by.place, Lines: one.Added + one.Removed})
			}
		}
	}
	return out, nil
}

// makers are the calls that may have made a version: that whose look found it, and those of other
// runs beside it whose looks found the path changed, too. Nobody can tell them apart.
func makers(list []version, n int) (out []worker) {
	if list[n].by.run == "" {
		return nil
	}
	out = append(out, list[n].by)
	for _, v := range list {
		known := func(w worker) bool { return w.run == v.by.run }
		if v.step.beside(list[n].step) && !slices.ContainsFunc(out, known) {
			out = append(out, v.by)
		}
	}
	return out
}

// fact is what is recorded of a commit in the journal of a run that has a share in it.
func (j *judged) fact(repo, checkpoint string, s relate.Share) journal.CommitSeen {
	c := j.commit
	f := journal.CommitSeen{
		Checkpoint: checkpoint, Repo: repo, Commit: c.ID, Tree: c.Tree, Patch: j.change.Patch, Parents: c.Parents, Subject: c.Subject(),
		Author: c.Author, Authored: c.AuthorTime.UTC(), Changes: j.change.ChangeIDs, Verb: j.verb, Relation: journal.CommitRelation(j.Relation),
		Proof: journal.CommitProof(j.Proof), Of: j.Of, Paths: s.Paths[:min(len(s.Paths), maxNamed)], Share: len(s.Paths),
		Files: len(j.change.Changes), Trailer: journal.CommitTrailer(j.Trailer),
	}
	var callers []string
	for _, w := range j.change.During {
		if callers = append(callers, w.Run); w.Run == s.Run {
			at := w.Place
			f.During = &at
		}
	}
	if f.During == nil && f.Proof == journal.CommitByWindow {
		f.Proof, f.By = journal.CommitByBlobs, callers[len(callers)-1]
	}
	return f
}

const maxNamed = 100 // paths that a fact names

// facts are what is recorded in the journals of runs, by run.
func (b *book) facts(j *judged) map[string][]journal.CommitSeen {
	out := map[string][]journal.CommitSeen{}
	if j.Relation == relate.None {
		return out
	}
	id := j.Checkpoint
	if id == "" {
		id = b.mint(j.commit.ID)
	}
	for _, s := range j.Shares {
		out[s.Run] = append(out[s.Run], j.fact(b.repo.Common, id, s))
		for _, also := range j.Also {
			if hasShare(j.known, also, s.Run) {
				out[s.Run] = append(out[s.Run], j.fact(b.repo.Common, also, s))
			}
		}
	}
	return out
}

func hasShare(k relate.Known, checkpoint, run string) bool {
	for _, l := range k.Linked {
		for _, s := range l.Shares {
			if l.Checkpoint == checkpoint && s.Run == run {
				return true
			}
		}
	}
	return false
}

// mint makes the id of a commit's checkpoint: the same one in every process that has this store.
func (b *book) mint(commit string) string {
	return MintFrom(b.contents.Name([]byte("checkpoint\x00" + b.repo.Common + "\x00" + commit)))
}

// key selects linked commits that may have something to do with a commit.
func key(r *relate.Commit) commits.Mark {
	return commits.Mark{ID: r.ID, Tree: r.Tree, Patch: r.Patch, Author: db.AuthorKey(r.Author, r.Time, r.Subject)}
}
