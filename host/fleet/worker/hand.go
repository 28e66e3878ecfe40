package worker

import (
	"context"
	"strings"
	"time"

	"agent/host/witness/line"
)

// handing is what a driver hears that wants to begin a call while its run is handed over.
const handing = "the run is being handed over to another host"

// settleTime is how long the calls that run may take before the driver is stopped in any case. What
// goes on then becomes a call of unknown outcome on the next host.
const settleTime = 100 * time.Second

// holds has no call of a run begin that is handed over: its driver waits for the log.
func (h *Host) holds(q line.Request) string {
	if q.Op != line.Append || !strings.HasPrefix(q.Why, "start of call") {
		return ""
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	asked, yes := h.held[q.Root]
	if !yes {
		return ""
	}
	select {
	case <-asked:
	default:
		close(asked)
	}
	return handing
}

// settle waits until no call of a run acts. None begins from here on, until release.
func (h *Host) settle(ctx context.Context, a Agent, run string) error {
	asked := make(chan struct{})
	h.mu.Lock()
	h.held[run] = asked
	h.mu.Unlock()
	late := time.After(settleTime)
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		held, err := a.held(run)
		if err != nil || !held {
			return err
		}
		s, err := a.show(ctx, run)
		if err != nil {
			return err
		}
		acting := s.acting()
		select {
		case <-asked:
			acting-- // it waits, and does not act
		default:
		}
		if acting <= 0 {
			return nil
		}
		select {
		case <-t.C:
		case <-late:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// release lets calls of a run begin again.
func (h *Host) release(run string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.held, run)
}

// acting is how many calls have begun and have no result.
func (s *shown) acting() (n int) {
	if s == nil {
		return 0
	}
	for _, c := range s.Calls {
		if c.Phase == "started" {
			n++
		}
	}
	return n
}
