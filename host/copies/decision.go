package copies

import (
	"context"
	"fmt"
	"time"

	"agent/host"
	"agent/recovery/journal"
)

// WentOn says whether runs went on, after a copy was made, in what it is a copy of.
type WentOn int

// What a person may say.
const (
	NotKnown WentOn = iota // each call that acts asks first
	Not                    // runs go on as they are
	Yes                    // the copy is an archive
)

// String is the word for it in JSON.
func (w WentOn) String() string { return [...]string{"unknown", "no", "yes"}[w] }

// Decision is what a person decided about a copy.
type Decision struct {
	WentOn
	Reason string    // why the record may not be all
	Made   time.Time // when the copy was made; zero where that is not known
}

// Apply records the decision, and names the runs that had not ended.
func Apply(ctx context.Context, h *host.Host, d Decision) (runs []string, err error) {
	if b := h.Store.Behind(); b != nil && b.Archive && d.WentOn == Not {
		return nil, fmt.Errorf("%w; whoever wants runs of an archive to go on says that it is not known (--yes), and is asked before each call that acts", b)
	}
	if d.WentOn == Yes {
		why := "runs went on, after it was made, in what it is a copy of"
		if !d.Made.IsZero() {
			why = fmt.Sprintf("runs went on after %s in what it is a copy of", d.Made.Local().Format(time.DateTime))
		}
		return nil, host.Archive(ctx, h, why)
	}
	return h.RestoreHere(ctx, journal.RunRestored{Reason: d.Reason, Made: d.Made, Nothing: d.WentOn == Not})
}
