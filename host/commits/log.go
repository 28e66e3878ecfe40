package commits

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agent/db"
	"agent/db/commits"
	"agent/host/drive"
	"agent/host/view"
	"agent/recovery/journal"
	"agent/tools/gitrepo/history"
	"agent/tools/gitrepo/objects"
)

// NoRepositoryError says that a folder belongs to no repository.
type NoRepositoryError struct{ Folder string }

func (e *NoRepositoryError) Error() string {
	return fmt.Sprintf("look for commits: %s is in no git repository that can be read", e.Folder)
}

// RevisionError says that a repository has no such commit.
type RevisionError struct{ Rev, Why string }

func (e *RevisionError) Error() string { return fmt.Sprintf("find commit %s: %s", e.Rev, e.Why) }

// Reader reads commits with the runs whose work they hold.
type Reader struct {
	b       *book
	prompts map[string]string // of runs
}

// Open opens the repository that a folder belongs to: *NoRepositoryError. The caller closes it.
func Open(ctx context.Context, p *drive.Process, folder string) (*Reader, error) {
	repo, ok, err := objects.Find(folder)
	if err != nil || !ok {
		return nil, &NoRepositoryError{folder}
	}
	b, err := openBook(ctx, p, repo)
	if err != nil {
		return nil, err
	}
	return newReader(b), nil
}

func newReader(b *book) *Reader { return &Reader{b: b, prompts: map[string]string{}} }

// Close ends what reads.
func (r *Reader) Close() error { return r.b.close() }

// Log lists the commits that lead to a revision, newest first, at most so many. rev is "" for HEAD,
// a branch, a tag, the beginning of an id, any of them with ~N, or two of them with .. between.
// more says that there are older ones.
func (r *Reader) Log(ctx context.Context, rev string, most int) ([]view.Commit, bool, error) {
	out := []view.Commit{}
	from, to, between := strings.Cut(rev, "..")
	if !between {
		from, to = "", rev
	}
	tip, err := r.Resolve(ctx, to)
	if err != nil {
		return nil, false, err
	}
	var known []string
	if between {
		id, err := r.Resolve(ctx, from)
		if err != nil {
			return nil, false, err
		}
		known = append(known, id)
	}
	w, err := r.b.rd.Walk(ctx, []string{tip}, known, most)
	if err != nil {
		return nil, false, err
	}
	var ids []string
	for _, c := range w.Commits {
		ids = append(ids, c.ID)
	}
	links, err := commits.WithIDs(ctx, r.b.p.Store, ids)
	if err != nil {
		return nil, false, err
	}
	for _, c := range w.Commits {
		v, err := r.describe(ctx, c, links[c.ID])
		if err != nil {
			return nil, false, err
		}
		out = append(out, v)
	}
	return out, w.More, nil
}

// Off lists the linked commits of the repository that no branch leads to any more, the last
// recorded first.
func (r *Reader) Off(ctx context.Context, most int) ([]view.Commit, error) {
	out := []view.Commit{}
	links, err := commits.In(ctx, r.b.p.Store, r.b.repo.Common, 10*most)
	if err != nil {
		return nil, err
	}
	var seen []string
	for _, l := range links {
		if slices.Contains(seen, l.ID) || len(out) >= most {
			continue
		}
		seen = append(seen, l.ID)
		there, err := r.b.below.Has(ctx, l.ID)
		if err != nil && !errors.Is(err, history.ErrMissing) {
			return nil, err
		}
		if there {
			continue
		}
		v, err := r.Commit(ctx, l.ID)
		if err != nil {
			return nil, err
		}
		v.Off = true
		out = append(out, v)
	}
	return out, nil
}

// Commit is one commit by its whole id, also where git has it no more.
func (r *Reader) Commit(ctx context.Context, id string) (view.Commit, error) {
	all, missing, err := r.b.rd.Commits(ctx, []string{id})
	if err != nil {
		return view.Commit{}, err
	}
	links, err := commits.Like(ctx, r.b.p.Store, commits.Mark{ID: id})
	if err != nil {
		return view.Commit{}, err
	}
	if len(missing) > 0 {
		v, err := r.describe(ctx, history.Commit{ID: id}, links)
		v.Gone = true
		return v, err
	}
	return r.describe(ctx, all[id], links)
}

// describe puts a commit together with what is on record of it.
func (r *Reader) describe(ctx context.Context, c history.Commit, links []commits.Link) (view.Commit, error) {
	redact := r.b.p.Store.Redact
	v := view.Commit{Version: 1, ID: c.ID, Repo: r.b.repo.Common, Subject: redact(c.Subject()), Author: redact(c.Author), Authored: c.AuthorTime.UTC(), Links: []view.CommitLink{}, Claims: []view.Claim{}}
	for _, l := range links {
		f, err := r.b.recorded(ctx, l)
		if err != nil {
			return v, err
		}
		prompt, known := r.prompts[l.Run]
		if !known {
			row, err := r.b.p.Store.Run(ctx, l.Run)
			if err != nil {
				return v, err
			}
			prompt = row.Prompt
			r.prompts[l.Run] = prompt
		}
		if c.Tree == "" {
			v.Subject, v.Author, v.Authored = f.Subject, f.Author, f.Authored
		}
		one := view.NewCommitLink(f, l.Run, l.Turn, l.Final, prompt)
		if l.Repo != r.b.repo.Common {
			one.Repo = l.Repo
		}
		v.Links = append(v.Links, one)
	}
	byCall(v.Links)
	for _, id := range ids(c.Message) {
		if slices.ContainsFunc(v.Links, func(l view.CommitLink) bool { return l.Checkpoint == id }) {
			continue
		}
		like, err := commits.Like(ctx, r.b.p.Store, commits.Mark{Checkpoint: id})
		if err != nil {
			return v, err
		}
		v.Claims = append(v.Claims, view.Claim{Checkpoint: id, Known: len(like) > 0})
	}
	return v, nil
}

// byCall says of shares that were found before the call that made the commit had ended whose call
// it was.
func byCall(links []view.CommitLink) {
	for _, l := range links {
		if l.Place == "" {
			continue
		}
		for i := range links {
			if other := &links[i]; other.Place == "" && other.By == "" && other.Relation == journal.CommitMade {
				other.By = l.Run
			}
		}
	}
}

// Resolve finds the commit that a revision names: *RevisionError.
func (r *Reader) Resolve(ctx context.Context, rev string) (string, error) {
	if strings.HasPrefix(rev, "k-") {
		links, err := commits.Like(ctx, r.b.p.Store, commits.Mark{Checkpoint: rev})
		if err == nil && len(links) == 0 {
			err = &RevisionError{rev, "no commit of this store has it"}
		}
		if err != nil {
			return "", err
		}
		return links[len(links)-1].ID, nil
	}
	name, back, _ := strings.Cut(rev, "~")
	steps := 0
	if back != "" || strings.HasSuffix(rev, "~") {
		var err error
		if steps, err = strconv.Atoi(back); back != "" && (err != nil || steps < 0) {
			return "", &RevisionError{rev, "write it as HEAD~2: a number follows ~"}
		}
		if back == "" {
			steps = 1
		}
	}
	id, err := r.named(ctx, rev, name)
	for ; err == nil && steps > 0; steps-- {
		var all map[string]history.Commit
		if all, _, err = r.b.rd.Commits(ctx, []string{id}); err == nil {
			c := all[id]
			if len(c.Parents) == 0 {
				return "", &RevisionError{rev, "the history does not go back so far"}
			}
			id = c.Parents[0]
		}
	}
	return id, err
}

func (r *Reader) named(ctx context.Context, rev, name string) (string, error) {
	if name == "" || name == "@" {
		name = "HEAD"
	}
	if name == "HEAD" && worktree(r.b.repo) != "" {
		name = "worktrees/" + worktree(r.b.repo) + "/HEAD"
	}
	for _, full := range []string{name, "refs/" + name, "refs/tags/" + name, "refs/heads/" + name, "refs/remotes/" + name} {
		for _, t := range r.b.tips {
			if t.Name == full {
				return t.ID, nil
			}
		}
	}
	if strings.HasSuffix(name, "HEAD") {
		return "", &RevisionError{cmp.Or(rev, "HEAD"), "nothing was committed yet"}
	}
	return r.abbreviated(ctx, rev, name)
}

// abbreviated finds the commit whose id begins with some digits: among those that are linked, and
// those that lead to the tips.
func (r *Reader) abbreviated(ctx context.Context, rev, digits string) (string, error) {
	digits = strings.ToLower(digits)
	if len(digits) < 4 || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", &RevisionError{rev, "it is no branch, no tag and no id; agent log lists commits"}
	}
	if all, _, err := r.b.rd.Commits(ctx, []string{digits}); err == nil && all[digits].Tree != "" {
		return digits, nil
	}
	hits, err := commits.Beginning(ctx, r.b.p.Store, digits)
	if err != nil {
		return "", err
	}
	w, err := r.b.rd.Walk(ctx, tipIDs(r.b.tips), nil, maxArrived)
	if err != nil {
		return "", err
	}
	for _, c := range w.Commits {
		if strings.HasPrefix(c.ID, digits) && !slices.Contains(hits, c.ID) {
			hits = append(hits, c.ID)
		}
	}
	switch len(hits) {
	case 0:
		return "", &RevisionError{rev, "no commit here begins so"}
	case 1:
		return hits[0], nil
	}
	return "", &RevisionError{rev, "several commits begin so: " + strings.Join(hits, " ")}
}

// OfRun lists the commits of a run, in the order of its journal. Git is not asked.
func OfRun(ctx context.Context, s *db.Store, run string) ([]commits.Link, error) {
	return commits.OfRun(ctx, s, run)
}

// Position is the place in a conversation behind the turn that made the commit of a checkpoint.
func Position(ctx context.Context, s *db.Store, checkpoint string) (journal.Position, error) {
	links, err := commits.Like(ctx, s, commits.Mark{Checkpoint: checkpoint})
	if err != nil {
		return journal.Position{}, err
	}
	if len(links) == 0 {
		return journal.Position{}, fmt.Errorf("find checkpoint %s: no commit of this store has it; agent log lists commits", checkpoint)
	}
	return journal.Position{Run: links[0].Run, Turn: links[0].Turn}, nil
}
