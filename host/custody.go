package host

import (
	"context"
	"errors"
	"time"

	"agent/db"
	"agent/host/drive"
)

// Witness hears what runs did before they act.
type Witness = drive.Witness

// CustodyError says that a run has a witness, and this process was given none.
type CustodyError = drive.CustodyError

// Elsewhere says that a decision on a run was not taken since a fleet has the run, or another host.
func Elsewhere(err error) bool {
	return errors.As(err, new(*CustodyError)) || errors.As(err, new(*drive.FencedError)) || errors.As(err, new(*drive.WitnessError))
}

// witness is the address of this process's witness; "" for none.
func witness(h *Host) string {
	if h.Witness == nil {
		return ""
	}
	return h.Witness.Name()
}

// InCustody is *CustodyError for a run that a fleet has, where this process was given no witness:
// the fleet hears what a person decides, and only once.
func InCustody(ctx context.Context, h *Host, run string) error {
	c, err := h.firstFact(ctx, run)
	if errors.As(err, new(*db.CorruptError)) {
		return nil // nobody drives it, and a decision is kept
	}
	if err != nil {
		return err
	}
	return h.InCustody(c)
}

// askFor is how long a witness is asked who has a run, before a decision on it is taken.
const askFor = 5 * time.Second

// decides is InCustody, and *drive.FencedError or *drive.WitnessError where the witness says that
// another host has the run, and an error where nobody listens there.
func decides(ctx context.Context, h *Host, run string) error {
	c, err := h.firstFact(ctx, run)
	if errors.As(err, new(*db.CorruptError)) {
		return nil // as above
	}
	if err != nil || c.Witness == "" || h.Witness == nil {
		return errors.Join(err, h.InCustody(c))
	}
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	if err := h.Witness.Reach(ctx); err != nil {
		return err
	}
	err = h.Witness.Still(ctx, c)
	if errors.As(err, new(*drive.FencedError)) || errors.As(err, new(*drive.WitnessError)) {
		return err
	}
	return nil // its log is silent: whoever drives the run waits for it
}

// asks is decides for the run of a question. One that is not there is reported by
// whoever is about to use it.
func asks(ctx context.Context, h *Host, id string) error {
	row, err := h.Store.PendingByID(ctx, id)
	if errors.As(err, new(*db.UnknownIDError)) {
		return nil
	}
	if err != nil {
		return err
	}
	return decides(ctx, h, row.Run)
}
