package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"agent/db/dbsqlc"
	"agent/recovery"
	"agent/recovery/journal"
)

// NewestShown is how many runs a plain list shows beside those that need someone.
const NewestShown = 20

// RunRow is a run and where it stands.
type RunRow struct {
	No         int64
	ID         string
	Thread     string
	Previous   string
	Folder     string
	Name       string // what a person calls it; empty: nothing
	Prompt     string // its first 200 characters
	Model      string
	Mode       journal.Mode
	Status     recovery.Status
	Cause      journal.Cause // of an interruption
	Detail     string
	StopReason string // why it ended, or shall end, before its work was done
	Epoch      int64
	LastSeq    int64
	Turns      int // answers of the model
	MaxTurns   int // 0: no limit
	Calls      int
	Unknown    int // calls whose outcome is unknown
	Fruitless  int // claims in a row that brought nothing forward
	PID        int // of its last owner, as are Boot and OwnerHost
	Boot       string
	OwnerHost  string
	Detached   bool // that owner was a process of the run's own
	Version    string
	ToolsHash  string
	Created    time.Time
	Updated    time.Time
	Ended      time.Time // zero: not yet
	Open       *CallPlace
	Pending    *PendingRow // its open request
	Parent     string      // the run above it, of a child; empty in a root, as are Root, RootThread and Role
	Root       string      // the run at the top
	RootThread string      // its thread
	Role       string      // what it is there for
	Progress   string      // where a flow stands
	Undecided  []CallRow   // calls whose outcome is unknown and on which nobody has decided, without what their facts say
}

// CallPlace names the first call of a run's last turn that has no result.
type CallPlace struct {
	journal.Place
	ID    string
	Tool  string
	Phase journal.Phase
}

// Filter says which runs are listed. The zero value lists the 20 newest and everything interrupted
// or waiting.
type Filter struct {
	Interrupted bool
	Waiting     bool
	All         bool
	Thread      string
	Folder      string
	Children    bool // of all: also the runs below others
	Limit       int  // 0: the 20 newest in a plain list, no limit otherwise

	Before int64  // lists a page of runs with lower numbers; Folder, Status and Text say which
	Status string // of a page
	Text   string // of a page: that the beginning of the prompt has, in upper or lower case
}

// Queries lists runs, threads and calls, and finds them.
type Queries struct{ Journal }

// Runs lists roots from the newest to the oldest, and of a thread all that ran in it. Runs below
// others are in package family.
func (s Queries) Runs(ctx context.Context, f Filter) ([]RunRow, error) {
	var out []RunRow
	if f.Folder != "" {
		f.Folder = s.Redact(f.Folder)
	}
	err := s.read(ctx, "list runs", func(q *dbsqlc.Queries) error {
		rows, err := selectRuns(ctx, q, f)
		if err != nil {
			return err
		}
		out, err = s.runRows(ctx, q, rows)
		return err
	})
	return out, err
}

func selectRuns(ctx context.Context, q *dbsqlc.Queries, f Filter) ([]dbsqlc.Run, error) {
	limit := int64(math.MaxInt64)
	if f.Limit > 0 {
		limit = int64(f.Limit)
	}
	switch {
	case f.Before > 0:
		return q.RunsPage(ctx, dbsqlc.RunsPageParams{Before: f.Before, Status: f.Status, Folder: f.Folder, Text: f.Text, MaxRows: limit})
	case f.Thread != "":
		rows, err := q.RunsOfThread(ctx, f.Thread)
		slices.Reverse(rows)
		return rows[:min(int64(len(rows)), limit)], err
	case f.Folder != "":
		return q.RunsOfFolder(ctx, f.Folder, limit) // as it is stored
	case f.Interrupted || f.Waiting:
		return withStatus(ctx, q, f.Interrupted, f.Waiting, limit)
	case f.All && f.Children:
		return q.AllRuns(ctx)
	case f.All:
		return q.NewestRuns(ctx, limit)
	}
	if f.Limit == 0 {
		limit = NewestShown
	}
	newest, err := q.NewestRuns(ctx, limit)
	if err != nil {
		return nil, err
	}
	needing, err := withStatus(ctx, q, true, true, math.MaxInt64)
	return newestFirst(append(newest, needing...)), err
}

func withStatus(ctx context.Context, q *dbsqlc.Queries, interrupted, waiting bool, limit int64) ([]dbsqlc.Run, error) {
	var out []dbsqlc.Run
	if interrupted {
		rows, err := q.RunsWithStatus(ctx, string(recovery.StatusInterrupted), limit)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	if waiting {
		rows, err := q.RunsWithStatus(ctx, string(recovery.StatusWaiting), limit)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return newestFirst(out), nil
}

func newestFirst(rows []dbsqlc.Run) []dbsqlc.Run {
	slices.SortFunc(rows, func(a, b dbsqlc.Run) int { return int(b.No - a.No) })
	return slices.CompactFunc(rows, func(a, b dbsqlc.Run) bool { return a.No == b.No })
}

// Run reads one run. The id is whole; *UnknownIDError when there is none.
func (s Queries) Run(ctx context.Context, id string) (RunRow, error) {
	var out RunRow
	err := s.read(ctx, "read run "+id, func(q *dbsqlc.Queries) error {
		r, err := q.GetRun(ctx, id)
		if errors.Is(err, sql.ErrNoRows) {
			return &UnknownIDError{Kind: 'r', Text: id}
		}
		if err != nil {
			return err
		}
		list, err := s.runRows(ctx, q, []dbsqlc.Run{r})
		if err != nil {
			return err
		}
		out = list[0]
		return nil
	})
	return out, err
}

// StartedWith is the id of the run that has a start key, with the digest of the request that the
// key was first given with; "" where no run has it. *PrunedError names one that had it.
func (s Queries) StartedWith(ctx context.Context, key string) (run, digest string, err error) {
	err = s.read(ctx, "look for the run of a start key", func(q *dbsqlc.Queries) error {
		r, err := startedWith(ctx, q, key)
		if r != nil {
			run, digest = r.ID, r.StartDigest
		}
		return err
	})
	return run, digest, err
}

// startedWith is the run that has a start key; nil where none has.
func startedWith(ctx context.Context, q *dbsqlc.Queries, key string) (*dbsqlc.Run, error) {
	if key == "" {
		return nil, nil
	}
	r, err := q.RunByStartKey(ctx, key)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, neverPruned(ctx, q, key)
	}
	return &r, err
}

// Alive lists the runs that someone should be driving: those marked running or queued, and the
// waiting ones whose request has its end. From the oldest to the newest.
func (s Queries) Alive(ctx context.Context) ([]RunRow, error) {
	var out []RunRow
	err := s.read(ctx, "look for runs that are going", func(q *dbsqlc.Queries) error {
		rows, err := q.RunsToLookAt(ctx)
		if err != nil {
			return err
		}
		out, err = s.runRows(ctx, q, rows)
		return err
	})
	return out, err
}

// LatestRun is the newest run that worked in a folder; nil when there is none.
func (s Queries) LatestRun(ctx context.Context, folder string) (*RunRow, error) {
	rows, err := s.Runs(ctx, Filter{Folder: folder, Limit: 1})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// ThreadRow is a conversation and its workspace.
type ThreadRow struct {
	ID      string
	KeyOf   string // thread with whose key its calls are recognised
	Folder  string
	Created time.Time
}

// Thread reads one thread. The id is whole; *UnknownIDError when there is none.
func (s Queries) Thread(ctx context.Context, id string) (ThreadRow, error) {
	var out ThreadRow
	err := s.read(ctx, "read thread "+id, func(q *dbsqlc.Queries) error {
		t, err := q.GetThread(ctx, id)
		if errors.Is(err, sql.ErrNoRows) {
			return &UnknownIDError{Kind: 't', Text: id}
		}
		out = ThreadRow{ID: t.ID, KeyOf: t.KeyOf, Folder: t.Folder, Created: timeOf(t.CreatedAt)}
		return err
	})
	return out, err
}

// ThreadRuns lists a thread's runs from the oldest to the newest.
func (s Queries) ThreadRuns(ctx context.Context, thread string) ([]RunRow, error) {
	rows, err := s.Runs(ctx, Filter{Thread: thread})
	slices.Reverse(rows)
	return rows, err
}

// runRows completes rows with the open calls and requests of the runs that have not ended, and with
// the calls that wait for a person's decision.
func (s Queries) runRows(ctx context.Context, q *dbsqlc.Queries, rows []dbsqlc.Run) ([]RunRow, error) {
	out, err := above(ctx, q, rows)
	if err != nil {
		return nil, err
	}
	var open, doubtful []int64
	for _, r := range rows {
		if r.Unknown > 0 {
			doubtful = append(doubtful, r.No)
		}
		if !recovery.Status(r.Status).Terminal() {
			open = append(open, r.No)
		}
	}
	if err := addUndecided(ctx, q, out, doubtful); err != nil || len(open) == 0 {
		return out, err
	}
	list, err := marshalNumbers(open)
	if err != nil {
		return nil, err
	}
	calls, err := q.OpenCallsOfRuns(ctx, list)
	if err != nil {
		return nil, err
	}
	requests, err := q.OpenRequestsOfRuns(ctx, list)
	if err != nil {
		return nil, err
	}
	asked, err := s.pendingRows(ctx, q, requests)
	if err != nil {
		return nil, err
	}
	attach(out, calls, asked)
	return out, nil
}

// above makes rows of runs, with the ids of the runs above them.
func above(ctx context.Context, q *dbsqlc.Queries, rows []dbsqlc.Run) ([]RunRow, error) {
	out := make([]RunRow, 0, len(rows))
	ids, numbers := map[int64]string{}, []int64(nil)
	for _, r := range rows {
		if r.RootNo > 0 {
			numbers = append(numbers, r.ParentNo, r.RootNo)
		}
	}
	if len(numbers) > 0 {
		slices.Sort(numbers)
		list, err := marshalNumbers(slices.Compact(numbers))
		if err != nil {
			return nil, err
		}
		found, err := q.RunIDs(ctx, list)
		if err != nil {
			return nil, err
		}
		for _, f := range found {
			ids[f.No] = f.ID
		}
	}
	for _, r := range rows {
		row := runRow(r)
		row.Parent, row.Root = ids[r.ParentNo], ids[r.RootNo]
		out = append(out, row)
	}
	return out, nil
}

// Rows completes rows of the table runs that a room beside this one has selected.
func Rows(ctx context.Context, s *Store, q *dbsqlc.Queries, rows []dbsqlc.Run) ([]RunRow, error) {
	return s.runRows(ctx, q, rows)
}

func addUndecided(ctx context.Context, q *dbsqlc.Queries, out []RunRow, doubtful []int64) error {
	if len(doubtful) == 0 {
		return nil
	}
	list, err := marshalNumbers(doubtful)
	if err != nil {
		return err
	}
	calls, err := q.UndecidedCallsOfRuns(ctx, list)
	if err != nil {
		return err
	}
	at := map[int64]int{}
	for i := range out {
		at[out[i].No] = i
	}
	for _, c := range calls {
		r := &out[at[c.RunNo]]
		r.Undecided = append(r.Undecided, BriefCall(c))
	}
	return nil
}

func attach(out []RunRow, calls []dbsqlc.OpenCallsOfRunsRow, asked []PendingRow) {
	at := map[int64]int{}
	byID := map[string]int{}
	for i := range out {
		at[out[i].No], byID[out[i].ID] = i, i
	}
	for _, c := range calls {
		r := &out[at[c.RunNo]]
		if r.Open == nil {
			r.Open = &CallPlace{Place: journal.Place{Turn: int(c.Turn), Index: int(c.Idx), Attempt: int(c.Attempt)}, ID: c.ID, Tool: c.Tool, Phase: journal.Phase(c.Phase)}
		}
	}
	for i := range asked {
		out[byID[asked[i].Run]].Pending = &asked[i]
	}
}

func runRow(r dbsqlc.Run) RunRow {
	return RunRow{
		No: r.No, ID: r.ID, Thread: r.Thread, Previous: r.Previous, Folder: r.Folder, Name: r.Name, Prompt: r.Words, Model: r.Model,
		Mode: journal.Mode(r.Mode), Status: recovery.Status(r.Status), Cause: journal.Cause(r.Cause), Detail: r.Detail,
		StopReason: r.StopReason, Epoch: r.Epoch, LastSeq: r.LastSeq, Turns: int(r.Turns), MaxTurns: int(r.MaxTurns),
		Calls: int(r.Calls), Unknown: int(r.Unknown), Fruitless: int(max(0, r.Claims-1)),
		PID: int(r.Pid), Boot: r.Boot, OwnerHost: r.Host, Detached: r.Detached == 1, Version: r.Version, ToolsHash: r.Tools,
		RootThread: r.RootThread, Role: r.Role, Progress: r.Progress,
		Created: timeOf(r.CreatedAt), Updated: timeOf(r.UpdatedAt), Ended: timeOrZero(r.EndedAt),
	}
}

// String names the place as a person reads it.
func (p CallPlace) String() string {
	return fmt.Sprintf("turn %d, %s (%s, %s)", p.Turn, p.Tool, p.ID, p.Phase)
}
