package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"time"

	"agent/db"
	"agent/db/find"
	flow "agent/host/flow/standing"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// What a state folder answers with. A front door reads it through these names and reaches neither
// the store's package nor tools.
type (
	Store      = db.Store
	RunRow     = db.RunRow
	CallRow    = db.CallRow
	PendingRow = db.PendingRow
	Filter     = db.Filter
)

// Why a state folder refuses something.
type (
	BehindError    = db.BehindError
	CommitError    = db.CommitError
	ConflictError  = db.ConflictError
	CorruptError   = db.CorruptError
	ExpiredError   = db.ExpiredError
	NewerError     = db.NewerError
	UnknownIDError = db.UnknownIDError
	PrunedError    = db.PrunedError
)

// Likewise.
var (
	ErrDiskFull = db.ErrDiskFull
	ErrLostRace = db.ErrLostRace
	ErrNoState  = db.ErrNoState
	ErrReadOnly = db.ErrReadOnly
)

// How a question stands, and how many runs a list without a filter shows.
const (
	RequestOpen      = db.RequestOpen
	RequestResolved  = db.RequestResolved
	RequestCancelled = db.RequestCancelled
	RequestExpired   = db.RequestExpired
	NewestShown      = db.NewestShown
)

// RoomNeeded is how much must be free on the disk of a state folder before it is used again as one
// that is not full, bytes.
const RoomNeeded = db.RoomNeeded

// HasRoom says that this is free there.
func HasRoom(home string) bool {
	disk, err := db.DiskOf(home)
	return err == nil && disk.Free >= RoomNeeded && disk.Files != 0
}

// CheckFormat says with a *NewerError that a newer binary has brought an open store up to date.
func CheckFormat(ctx context.Context, s *Store) error { return db.CheckFormat(ctx, s) }

// OpenRead opens the store of a state folder for reading alone, as it is.
func OpenRead(ctx context.Context, home string) (*Store, error) { return db.OpenRead(ctx, home) }

// Snapshot is where a run stands, as it is now. Facts that a newer binary wrote are not known to
// it.
func (s *Folder) Snapshot(ctx context.Context, run string) (view.Snapshot, error) {
	x := NewStanding(s, run)
	defer x.forget()
	return x.Snapshot(ctx)
}

// Record is everything that is on record of a run.
func (s *Folder) Record(ctx context.Context, run string) (v view.Record, err error) {
	v.Calls, v.Facts = []view.Call{}, []view.Fact{}
	x := NewStanding(s, run)
	defer x.forget()
	v.Snapshot, err = x.snapshot(ctx, func(e journal.Event) {
		v.Facts = append(v.Facts, view.Fact{Seq: e.Seq, Turn: e.Turn, Time: e.Time, Kind: e.Body.Kind(), Body: e.Body})
	})
	if err != nil {
		return v, err
	}
	rows, err := s.Store.Calls(ctx, run)
	if err != nil {
		return v, err
	}
	found, err := view.Decisions(run, s.Store.Load(ctx, run, 0))
	if err != nil {
		return v, err
	}
	for _, row := range rows {
		v.Calls = append(v.Calls, view.NewCall(row, found[row.Place.String()]))
	}
	return v, nil
}

// Standing is where one run stands, for many who ask: its journal is read once, then only what was
// added. What that takes of memory is let go of when nobody asks for a while. Its methods may be
// called by any goroutine.
type Standing struct {
	Run string // its id

	s    *Folder
	turn chan struct{} // a place for the one who reads
	idle *time.Timer

	seq    int64  // of the last fact of v
	digest []byte // of the journal up to there
	uses   bool   // a model with a provider
	v      view.Snapshot
	state  *recovery.State // nil where it cannot be folded, or was not yet
	flow   flow.Fold
}

// standingKept is how long what was read of a run is kept for the next one who asks.
const standingKept = 5 * time.Second

// NewStanding reads nothing yet.
func NewStanding(s *Folder, run string) *Standing {
	return &Standing{s: s, Run: run, turn: make(chan struct{}, 1)}
}

// Snapshot is where the run stands now. Facts that a newer binary wrote are not known to it.
func (x *Standing) Snapshot(ctx context.Context) (view.Snapshot, error) {
	v, err := x.snapshot(ctx, func(journal.Event) {})
	if errors.As(err, new(*journal.UnknownFactError)) {
		err = nil
	}
	return v, err
}

// snapshot hands on each fact that was not read before.
func (x *Standing) snapshot(ctx context.Context, each func(journal.Event)) (view.Snapshot, error) {
	now, err := x.s.Now(ctx, x.Run)
	if err == nil {
		runs := []view.Run{now}
		err = AddChildren(ctx, x.s, runs, false)
		now = runs[0]
	}
	if err != nil {
		return view.Snapshot{Version: 1}, err
	}
	done, err := x.enter(ctx)
	if err != nil {
		return view.Snapshot{Version: 1}, err
	}
	err = x.read(each)
	v := x.v
	if err == nil && x.uses && x.fold() == nil { // whoever reads on in the record comes to the fault, and says it
		used := view.Spent(x.s.Finished(x.state))
		u := used.View()
		v.Usage, v.CostUSD = &u, used.Dollars()
	}
	v.Table, _ = x.flow.Table(x.s.Host, now.Children) // likewise
	done()
	v.Run = now
	if err != nil {
		return v, err
	}
	kept, err := x.s.Store.Answered(ctx, x.Run)
	if err == nil && kept != nil {
		r := view.NewRequest(*kept, fault.Now())
		v.Kept = &r
	}
	return v, err
}

// Outcome is how far the run came, as run prints it with --json.
func (x *Standing) Outcome(ctx context.Context) (view.Outcome, error) {
	done, err := x.enter(ctx)
	if err != nil {
		return view.Outcome{}, err
	}
	if err := x.fold(); err != nil {
		done()
		return view.Outcome{}, err
	}
	out := x.s.Finished(x.state)
	done()
	return x.s.Outcome(out, view.OutcomeCode(out)), nil
}

// enter waits for the one who reads now.
func (x *Standing) enter(ctx context.Context) (leave func(), err error) {
	select {
	case x.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	return func() { <-x.turn }, nil
}

// read reads what was added. It goes on although who asked is leaving: the next one wants it too.
func (x *Standing) read(each func(journal.Event)) error {
	ctx := context.Background()
	if err := x.begin(ctx); err != nil {
		return err
	}
	var failed error
	for e, err := range x.s.Store.Load(ctx, x.Run, x.seq) {
		if failed = err; err != nil {
			break
		}
		if b, ok := e.Body.(journal.RunCreated); ok {
			x.uses, x.v.Environment = b.Setup.Provider != "", variableNames(ctx, x.s.Store, b)
		}
		x.v.Add(e.Body)
		x.flow.Take(e)
		x.seq = e.Seq
		each(e)
	}
	digest, _, err := db.DigestAt(ctx, x.s.Store, x.Run, x.seq)
	x.digest = digest
	return cmp.Or(failed, err)
}

// begin forgets what is of another history, as where the database was put back from a copy.
func (x *Standing) begin(ctx context.Context) error {
	if x.idle == nil {
		x.idle = time.AfterFunc(standingKept, x.forget)
	}
	x.idle.Reset(standingKept)
	if x.seq > 0 {
		digest, found, err := db.DigestAt(ctx, x.s.Store, x.Run, x.seq)
		if err != nil || found && bytes.Equal(digest, x.digest) {
			return err
		}
	}
	x.seq, x.v, x.state, x.flow = 0, view.Snapshot{Version: 1}, nil, flow.Fold{}
	return nil
}

// fold folds what was added.
func (x *Standing) fold() (err error) {
	if x.state, err = x.s.Reader().Further(context.Background(), x.Run, x.state); err != nil {
		x.state = nil
	}
	return err
}

// forget lets go of what was read.
func (x *Standing) forget() {
	x.turn <- struct{}{}
	defer func() { <-x.turn }()
	if x.idle != nil {
		x.idle.Stop()
	}
	x.seq, x.v, x.state, x.flow, x.idle = 0, view.Snapshot{}, nil, flow.Fold{}, nil
}

// Used is what a run used of its model so far; false for a model without a provider, and where the
// record cannot be added up.
func (s *Folder) Used(ctx context.Context, b journal.RunCreated) (view.Spending, bool) {
	if b.Setup.Provider == "" {
		return view.Spending{}, false
	}
	st, err := s.State(ctx, b.Run)
	if err != nil {
		return view.Spending{}, false // whoever reads on in the record comes to the same fault, and says it
	}
	return view.Spent(s.Finished(st)), true
}

// Find completes what a person typed to a whole id.
func Find(ctx context.Context, s *Store, kind byte, text string) (string, error) {
	return find.ID(ctx, s, kind, text)
}
