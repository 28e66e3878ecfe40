package commits

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"agent/db"
	"agent/db/commits"
	"agent/host/drive"
	"agent/host/owner"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools/gitrepo/history"
	"agent/tools/gitrepo/objects"
	"agent/tools/ofd"
)

// Bounds of what is looked at for commits that no line of a log made here.
const (
	maxArrived = 1000 // that came with one pull, or where a log does not tell
	maxJudged  = 20   // of those, that are judged although nothing in them names what is known
)

// Looked is what a look at a repository found.
type Looked struct {
	Recorded int      // facts
	Driven   []string // runs that somebody drives: what they have in commits is recorded later
	Stopped  []string // runs that were interrupted in a call: likewise, once they were resumed
	Notes    []string // what is not known
}

// CatchUp looks what became of a repository since it was looked at last, and records in the
// journals of runs that nobody drives which commits hold their work. Where nobody has looked yet it
// begins now.
func CatchUp(ctx context.Context, p *drive.Process, folder string) (Looked, error) {
	at := p.Now()
	repo, there, now, err := marksOf(folder, history.Mark)
	if err != nil || !there {
		return Looked{}, nil
	}
	before, err := readMarks(ctx, p, repo)
	if err != nil {
		return Looked{}, err
	}
	if before == nil {
		if err := beginMarks(ctx, p, repo, now); err != nil {
			return Looked{}, err
		}
		if before, err = readMarks(ctx, p, repo); err != nil || before == nil {
			return Looked{}, err
		}
	}
	if history.Same(before.Marks, now) {
		return Looked{}, nil
	}
	news, err := history.Lines(repo, before.Marks, now)
	if err != nil {
		return Looked{}, err
	}
	fault.Hit(fault.CommitsRead)
	b, err := openBook(ctx, p, repo)
	if err != nil {
		return Looked{}, err
	}
	l, err := b.catchUp(ctx, news, *before)
	if err = errors.Join(err, b.close()); err != nil || len(l.Driven)+len(l.Stopped) > 0 {
		return l, err
	}
	return l, setMarks(ctx, p, repo, stood{now, at})
}

// stood is how far the logs of a repository were read.
type stood struct {
	history.Marks
	At time.Time `json:"at,omitzero"` // by then; none: nobody has read them, and all that is in them may be of interest
}

// readMarks reads how far the logs were read; nil where nobody has begun, or nobody can read it.
func readMarks(ctx context.Context, p *drive.Process, repo objects.Repository) (*stood, error) {
	text, err := commits.Marks(ctx, p.Store, repo.Common)
	m := new(stood)
	if err != nil || json.Unmarshal([]byte(text), m) != nil {
		return nil, err
	}
	return m, nil
}

// beginMarks writes down where the logs end, where nobody has. A folder in which runs have worked
// before has become a repository since: so it writes down that nothing was read.
func beginMarks(ctx context.Context, p *drive.Process, repo objects.Repository, now history.Marks) error {
	if last, err := readMarks(ctx, p, repo); err != nil || last != nil {
		return err
	}
	worked, err := commits.Changed(ctx, p.Store, repo.Top)
	if err != nil {
		return err
	}
	if worked {
		return setMarks(ctx, p, repo, stood{})
	}
	return setMarks(ctx, p, repo, stood{now, p.Now()})
}

func setMarks(ctx context.Context, p *drive.Process, repo objects.Repository, m stood) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return db.SetMarks(ctx, p.Store, repo.Common, string(text))
}

// catchUp judges the commits that logs tell of, and those that came from elsewhere.
func (b *book) catchUp(ctx context.Context, news history.News, before stood) (l Looked, err error) {
	var all []found
	for _, w := range worktrees(news) {
		for _, f := range madeBy(news, w) {
			if believed(news, f, before.At) {
				f.until = f.at.Add(time.Second)
			}
			if !slices.ContainsFunc(all, func(g found) bool { return g.id == f.id && g.verb == f.verb && g.old == f.old }) {
				all = append(all, f)
			}
		}
	}
	all = all[max(0, len(all)-maxArrived):]
	for _, broken := range news.Broken {
		l.Notes = append(l.Notes, "the log of "+broken.Log+" does not tell all: "+broken.Why)
	}
	if !none(before.Marks) {
		came, err := b.arrived(ctx, news, all)
		if err != nil {
			return l, err
		}
		all = append(came, all...)
	}
	for i, f := range all {
		if i%atOnce == 0 {
			if err := b.ahead(ctx, all[i:min(i+atOnce, len(all))]); err != nil {
				return l, err
			}
		}
		j, err := b.judgeLine(ctx, f, news)
		if err != nil {
			return l, err
		}
		if j == nil {
			continue
		}
		facts := b.facts(j)
		for _, run := range slices.Sorted(maps.Keys(facts)) {
			n, err := b.record(ctx, run, facts[run])
			switch {
			case errors.Is(err, errDriven):
				l.Driven = append(l.Driven, run)
			case errors.Is(err, errStopped):
				l.Stopped = append(l.Stopped, run)
			case err != nil:
				return l, err
			}
			l.Recorded += n
		}
	}
	return l, nil
}

// believed says whether a line of a log was written when it says so: git takes the time of the
// committer, which anybody may set. It cannot be older than what was read before, nor than what
// stands above it.
func believed(news history.News, f found, since time.Time) bool {
	if f.at.Before(since.Add(-time.Second)) {
		return false
	}
	for _, l := range news.Lines {
		if l.New == f.id && l.Old == f.old {
			return true
		}
		if l.Time.After(f.at) {
			return false
		}
	}
	return true
}

// worktrees lists those that logs tell of, the main one first.
func worktrees(news history.News) []string {
	out := []string{""}
	for _, l := range news.Lines {
		if l.Log == "HEAD" && !slices.Contains(out, l.Worktree) {
			out = append(out, l.Worktree)
		}
	}
	return out
}

// arrived are commits that lines of the logs lead to and that nothing here made: by a pull, a
// reset, a push from elsewhere. Where a log does not tell they are what the tips lead to.
func (b *book) arrived(ctx context.Context, news history.News, made []found) (out []found, err error) {
	known := map[string]bool{}
	for _, f := range made {
		known[f.id] = true
	}
	blind := len(news.Broken) > 0
	var ids []string
	take := func(tips, from []string) error {
		w, err := b.rd.Walk(ctx, tips, from, maxArrived)
		for _, c := range slices.Backward(w.Commits) {
			if !known[c.ID] {
				known[c.ID] = true
				ids = append(ids, c.ID)
			}
		}
		return err
	}
	for _, l := range news.Lines {
		if known[l.New] || l.New == l.Old || zero(l.New) {
			continue
		}
		from := []string{l.Old}
		if zero(l.Old) {
			from = nil
		}
		if err := take([]string{l.New}, from); err != nil {
			return nil, err
		}
	}
	if blind {
		if err := take(tipIDs(b.tips), nil); err != nil {
			return nil, err
		}
	}
	for i, id := range ids {
		is, err := b.selected(ctx, id)
		if err != nil {
			return nil, err
		}
		if is || len(ids)-i <= maxJudged {
			out = append(out, found{id: id, blind: blind})
		}
	}
	return out, nil
}

// selected says whether anything in a commit names, or is, what is known of a linked one.
func (b *book) selected(ctx context.Context, id string) (bool, error) {
	all, missing, err := b.rd.Commits(ctx, []string{id})
	if err != nil || len(missing) > 0 {
		return false, err
	}
	c := all[id]
	marks := []commits.Mark{{ID: id, Tree: c.Tree, Author: db.AuthorKey(c.Author, c.AuthorTime.Unix(), c.Subject())}}
	for _, k := range ids(c.Message) {
		marks = append(marks, commits.Mark{Checkpoint: k})
	}
	for _, m := range marks {
		like, err := commits.Like(ctx, b.p.Store, m)
		if err != nil || len(like) > 0 {
			return len(like) > 0, err
		}
	}
	return false, nil
}

// Why nothing can be recorded in the journal of a run now.
var (
	errDriven  = errors.New("somebody drives the run")
	errStopped = errors.New("the run was interrupted in a call")
)

// record appends to the journal of a run what it does not have yet: errDriven, errStopped.
func (b *book) record(ctx context.Context, run string, facts []journal.CommitSeen) (n int, err error) {
	have, err := commits.OfRun(ctx, b.p.Store, run)
	if err != nil {
		return 0, err
	}
	if len(missingOf(facts, have)) == 0 {
		return 0, nil
	}
	b.recent = nil
	err = drive.Holding(b.p, run, func(*ofd.File) error {
		head, err := b.p.Store.Head(ctx, run)
		if err != nil {
			return err
		}
		s, err := drive.Alone(ctx, b.p, run)
		if err != nil {
			return err
		}
		if have, err = commits.OfRun(ctx, b.p.Store, run); err != nil {
			return err
		}
		missing := missingOf(facts, have)
		if len(missing) == 0 {
			return nil
		}
		if underWay(s) {
			return errStopped
		}
		var events []journal.Event
		for _, f := range missing {
			e := journal.Event{Seq: s.Seq + 1, Turn: len(s.Turns), Time: b.p.Now().UTC().Truncate(time.Microsecond), Body: f}
			if err := s.Apply(e); err != nil {
				return err
			}
			events = append(events, e)
		}
		if _, err = b.p.Store.Append(ctx, head, events, db.AppendOptions{State: s}); err == nil {
			n = len(events)
		}
		return err
	})
	if held := new(owner.HeldError); errors.As(err, &held) || errors.Is(err, db.ErrLostRace) {
		return 0, errDriven
	}
	return n, err
}

// underWay says whether a call of a run was started and has no result: commits of its window are
// its own, which whoever goes on with the run records.
func underWay(s *recovery.State) bool {
	if s.Status.Terminal() || len(s.Turns) == 0 {
		return false
	}
	return slices.ContainsFunc(s.Turns[len(s.Turns)-1].Calls, func(c *recovery.Call) bool { return c.Phase == journal.PhaseStarted })
}

// missingOf are the facts that a journal does not have yet.
func missingOf(facts []journal.CommitSeen, have []commits.Link) []journal.CommitSeen {
	return slices.DeleteFunc(slices.Clone(facts), func(f journal.CommitSeen) bool {
		return slices.ContainsFunc(have, func(l commits.Link) bool {
			return l.Repo == f.Repo && l.ID == f.Commit && (l.Checkpoint == f.Checkpoint || f.Relation == journal.CommitMade)
		})
	})
}
