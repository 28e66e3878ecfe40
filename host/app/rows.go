package app

import (
	"context"

	"agent/db"
	"agent/tools/runner"
	"agent/tools/sandbox"
)

// What a state folder answers with. A front door reads it through these names and reaches neither the store's package nor tools.
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

// The first arguments with which this binary becomes what a run needs beside itself. They are the first thing that is looked at: neither
// shares anything with a front door.
const (
	SandboxCommand = sandbox.Command
	RunnerCommand  = "__runner"
)

// Sandbox confines a command as its arguments say, and runs it.
func Sandbox(args []string) int { return sandbox.Main(args) }

// Runner carries the call out that lies at path.
func Runner(path string) int { return runner.Main(path, runner.MainOptions{}) }
