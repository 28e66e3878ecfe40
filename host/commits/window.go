package commits

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"agent/db/commits"
	"agent/db/keep"
	"agent/host/drive"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/recovery/workspace/relate"
	"agent/tools/gitrepo/history"
	"agent/tools/gitrepo/objects"
)

// look reads what the logs have since a call was started, and judges the commits that this worktree
// made. What another run has in them is recorded in its journal, if nobody drives it now; else
// CatchUp does it.
func (w *Watcher) look(
	ctx context.Context, c drive.FilesCall, repo objects.Repository, win window, now history.Marks, kept []keep.Row, fresh []journal.FilesChanged,
) (out []journal.CommitSeen, err error) {
	news, err := history.Lines(repo, win.marks, now)
	if err != nil {
		return nil, err
	}
	fault.Hit(fault.CommitsRead)
	made := madeBy(news, worktree(repo))
	made = slices.DeleteFunc(made, func(f found) bool {
		copied := none(win.marks) && f.at.Before(win.since.Add(-time.Second))
		return copied || !win.until.IsZero() && f.at.After(win.until) // a person's, while nobody drove the run
	})
	if len(made)+len(news.Broken) == 0 {
		return nil, nil
	}
	b, err := openBook(ctx, w.Process, repo)
	if err != nil {
		return nil, err
	}
	unlogged, why, err := b.unlogged(ctx, news, win, now)
	if err != nil {
		return nil, errors.Join(err, b.close())
	}
	b.records.fresh[c.Created.Run] = fresh
	for _, row := range kept {
		b.contents.staged[row.Name] = row
	}
	for _, f := range append(unlogged, made...) {
		f.during = win.during
		mine, err := b.seen(ctx, f, news, c.Created.Run)
		if err != nil {
			return nil, errors.Join(err, b.close())
		}
		out = append(out, mine...)
	}
	if why != "" && len(out) == 0 {
		w.Process.Warn(c.Created.Run, "what call %s committed is not linked with it: %s (agent git on names checkpoints in messages, which needs no log)", c.Place, why)
	}
	return out, b.close()
}

// seen judges a commit in the window of a call of a run, and gives the facts of that run.
func (b *book) seen(ctx context.Context, f found, news history.News, run string) ([]journal.CommitSeen, error) {
	j, err := b.judgeLine(ctx, f, news)
	if err != nil || j == nil {
		return nil, err
	}
	facts := b.facts(j)
	for other, theirs := range facts {
		if other == run {
			continue
		}
		if _, err := b.record(ctx, other, theirs); err != nil && !errors.Is(err, errDriven) && !errors.Is(err, errStopped) {
			return nil, err
		}
	}
	have, err := commits.OfRun(ctx, b.p.Store, run)
	if err != nil {
		return nil, err
	}
	b.remember(j, slices.Concat(slices.Collect(maps.Values(facts))...))
	return missingOf(facts[run], have), nil
}

// unlogged are the commits that HEAD of this worktree stands on since a call was started, where its
// log does not tell, and why it does not.
func (b *book) unlogged(ctx context.Context, news history.News, win window, now history.Marks) (out []found, why string, err error) {
	name := worktree(b.repo)
	head, was := headOf(now, name), headOf(win.marks, name)
	if head == "" { // refs are not in files
		if head, err = newReader(b).Resolve(ctx, "HEAD"); err != nil {
			return nil, "", nil // nothing was committed yet
		}
	}
	told := func(l history.Line) bool { return l.Log == "HEAD" && l.Worktree == name && l.New == head }
	if len(news.Broken) == 0 || head == was || slices.ContainsFunc(news.Lines, told) {
		return nil, "", nil
	}
	var from []string
	if was != "" {
		from = []string{was}
	}
	walked, err := b.rd.Walk(ctx, []string{head}, from, maxUnlogged)
	if err != nil {
		return nil, "", err
	}
	for _, c := range slices.Backward(walked.Commits) {
		if was != "" || !c.CommitTime.Before(win.since.Add(-time.Second)) {
			out, why = append(out, found{id: c.ID, blind: true}), news.Broken[0].Why
		}
	}
	return out, why, nil
}

// headOf is the commit that HEAD of a worktree stood at.
func headOf(m history.Marks, worktree string) string {
	for _, w := range m.Worktrees {
		if w.Name == worktree {
			return w.Commit
		}
	}
	return ""
}

// none says whether nothing was there to take marks of.
func none(m history.Marks) bool { return reflect.DeepEqual(m, history.Marks{}) }

// judgeLine judges the commit of a line of a log; nil where there is none.
func (b *book) judgeLine(ctx context.Context, f found, news history.News) (*judged, error) {
	stands, err := b.stands(ctx, f, news)
	if err != nil || !stands {
		return nil, err
	}
	return b.judge(ctx, f)
}

// worktree is the name of a repository's worktree below .git/worktrees; "" is the main one.
func worktree(r objects.Repository) string {
	if r.Git == r.Common {
		return ""
	}
	return filepath.Base(r.Git)
}

// madeBy are the commits that lines of the logs of a worktree say were made, oldest first.
func madeBy(news history.News, worktree string) (out []found) {
	for _, l := range news.Lines {
		if l.Log == "HEAD" && l.Worktree != worktree || l.New == l.Old || zero(l.New) || !makes(l.Verb) {
			continue
		}
		out = append(out, found{id: l.New, verb: l.Verb, old: l.Old, at: l.Time})
	}
	return out
}

// zero says whether an id is that of no commit.
func zero(id string) bool { return strings.Trim(id, "0") == "" }

// makes says whether git made a commit, by the first words of what it logged.
func makes(verb string) bool {
	word, _, _ := strings.Cut(verb, " ")
	return slices.Contains([]string{"commit", "cherry-pick", "revert", "rebase", "am", "pull", "merge"}, word)
}

// stands says whether a line of a log can be believed: git writes it before it moves the ref, so
// that of a git which was killed in between leads nowhere. A commit that a later line moved away
// from was there; what a rebase made on its way was not meant to stay.
func (b *book) stands(ctx context.Context, f found, news history.News) (bool, error) {
	there, err := b.below.Has(ctx, f.id)
	if err != nil || there {
		if errors.Is(err, history.ErrMissing) {
			return false, nil
		}
		return there, err
	}
	return strings.HasPrefix(f.verb, "commit") && slices.ContainsFunc(news.Lines, func(l history.Line) bool { return l.Old == f.id }), nil
}

// remember has later commits of the same look know one that was just judged.
func (b *book) remember(j *judged, facts []journal.CommitSeen) {
	for _, f := range facts {
		if slices.ContainsFunc(b.fresh, func(l relate.Linked) bool { return l.ID == f.Commit && l.Checkpoint == f.Checkpoint }) {
			continue // of another run: the shares are those of all
		}
		b.fresh = append(b.fresh, relate.Linked{
			Checkpoint: f.Checkpoint, ID: f.Commit, Repo: f.Repo, Tree: f.Tree, Base: j.change.Base, Parents: f.Parents, Patch: f.Patch,
			Identity: j.change.Identity, ChangeIDs: f.Changes, Changes: j.change.Changes, Shares: j.Shares,
			Relation: relate.Relation(f.Relation), Of: f.Of,
		})
	}
}

// changesOf are the facts about files that are not durable yet.
func changesOf(events []journal.Event, bodies []journal.Body) (out []journal.FilesChanged) {
	for _, e := range events {
		if b, ok := e.Body.(journal.FilesChanged); ok {
			out = append(out, b)
		}
	}
	for _, b := range bodies {
		if b, ok := b.(journal.FilesChanged); ok {
			out = append(out, b)
		}
	}
	return out
}
