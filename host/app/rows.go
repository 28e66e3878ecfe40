package app

import (
	"context"
	"errors"

	"agent/db"
	"agent/host/view"
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
	UnknownIDError = db.UnknownIDError
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

// OpenRead opens the store of a state folder for reading alone, as it is.
func OpenRead(ctx context.Context, home string) (*Store, error) { return db.OpenRead(ctx, home) }

// Snapshot is where a run stands, as it is now. Facts that a newer binary wrote are not known to
// it.
func (s *Folder) Snapshot(ctx context.Context, run string) (view.Snapshot, error) {
	v, err := s.snapshot(ctx, run, func(journal.Event) {})
	if errors.As(err, new(*journal.UnknownFactError)) {
		err = nil
	}
	return v, err
}

// Record is everything that is on record of a run.
func (s *Folder) Record(ctx context.Context, run string) (v view.Record, err error) {
	v.Calls, v.Facts = []view.Call{}, []view.Fact{}
	v.Snapshot, err = s.snapshot(ctx, run, func(e journal.Event) {
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

// snapshot hands each fact on as it reads it.
func (s *Folder) snapshot(ctx context.Context, run string, each func(journal.Event)) (v view.Snapshot, err error) {
	v.Version = 1
	if v.Run, err = s.Now(ctx, run); err != nil {
		return v, err
	}
	var created journal.RunCreated
	for e, err := range s.Store.Load(ctx, run, 0) {
		if err != nil {
			return v, err
		}
		if b, ok := e.Body.(journal.RunCreated); ok {
			created = b
		}
		v.Add(e.Body)
		each(e)
	}
	v.Environment = variableNames(ctx, s.Store, created)
	if used, ok := s.Used(ctx, created); ok {
		u := used.View()
		v.Usage, v.CostUSD = &u, used.Dollars()
	}
	kept, err := s.Store.Answered(ctx, run)
	if err == nil && kept != nil {
		r := view.NewRequest(*kept, fault.Now())
		v.Kept = &r
	}
	return v, err
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
