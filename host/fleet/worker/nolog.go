package worker

import (
	"context"
	"errors"

	"agent/fleet/custody"
	"agent/fleet/log"
)

// noLog stands for a log that is switched off: it has nothing, and takes nothing.
type noLog struct{}

var _ log.Log = noLog{}

var errNoLog = errors.New("this host has no log (--log " + custody.NoLog + ")")

// Create implements [log.Log].
func (noLog) Create(context.Context, string, int64, []byte) error { return errNoLog }

// Read implements [log.Log].
func (noLog) Read(context.Context, string, int64) ([]byte, error) { return nil, log.ErrNone }

// Last implements [log.Log].
func (noLog) Last(context.Context, string) (int64, error) { return 0, nil }

// Roots implements [log.Log].
func (noLog) Roots(context.Context, func(string) error) error { return nil }

// Close implements [log.Log].
func (noLog) Close() error { return nil }

// unlogged reports whether this host has no log.
func (h *Host) unlogged() bool { return h.Log == custody.NoLog }

// fits refuses a run that this host cannot have without a log: one that may act, since nothing
// would keep two hosts from doing the same, and one whose record is in the log.
func (h *Host) fits(in custody.Drive) error {
	switch {
	case !h.unlogged():
	case !in.Run.Reads():
		return &NotHereError{"it has no log (--log none), and a run that may act goes nowhere without one; one of --mode plan does"}
	case in.Logged && !h.homes.of(in.Run.ID).knowsOf(in.Run.ID):
		return &NotHereError{"it has no log (--log none), and the record of the run is in one"}
	}
	return nil
}
