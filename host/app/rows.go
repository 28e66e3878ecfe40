package app

import (
	"context"

	"agent/db"
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
	UnknownIDError = db.UnknownIDError
)

// Likewise.
var (
	ErrLostRace = db.ErrLostRace
	ErrNoState  = db.ErrNoState
)

// How a question stands, and how many runs a list without a filter shows.
const (
	RequestOpen      = db.RequestOpen
	RequestCancelled = db.RequestCancelled
	NewestShown      = db.NewestShown
)

// OpenRead opens the store of a state folder for reading alone, as it is.
func OpenRead(ctx context.Context, home string) (*Store, error) { return db.OpenRead(ctx, home) }
