package host

import (
	"context"
	"errors"

	"agent/db"
	"agent/host/drive"
)

// Witness hears what runs did before they act.
type Witness = drive.Witness

// CustodyError says that a run has a witness, and this process was given none.
type CustodyError = drive.CustodyError

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
	if h.Witness != nil {
		return nil
	}
	c, err := h.firstFact(ctx, run)
	if errors.As(err, new(*db.CorruptError)) {
		return nil // nobody drives it, and a decision is kept
	}
	if err != nil {
		return err
	}
	return h.InCustody(c)
}

// asksInCustody is InCustody for the run of a question. One that is not there is reported by
// whoever is about to use it.
func asksInCustody(ctx context.Context, h *Host, id string) error {
	row, err := h.Store.PendingByID(ctx, id)
	if errors.As(err, new(*db.UnknownIDError)) {
		return nil
	}
	if err != nil {
		return err
	}
	return InCustody(ctx, h, row.Run)
}
