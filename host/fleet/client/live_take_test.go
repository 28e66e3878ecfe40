package client_test

import (
	"context"
	"testing"

	"agent/fleet/custody"
)

// The host that carries out the workflow takes a run at once; where it has no free slot, the run is
// offered to all.
func TestTheHostAtHandTakesARunOnAServer(t *testing.T) {
	e := newEngine(t)
	h := newHosts(t, connected(t, e), "h-1", "h-2")
	h.drives(func(_ context.Context, _ string, d custody.Drive) (custody.Report, error) {
		if d.Step.Start != nil {
			return publish, nil
		}
		return done, nil
	})
	for name, hand := range map[string]string{"taken": "h-2", "declined": ""} {
		h.mu.Lock()
		h.hand = hand
		h.mu.Unlock()
		run := h.start(custody.Run{})
		if row := h.until(run, "waiting"); hand == "" && row.Host != "h-1" || hand != "" && row.Host != hand {
			t.Errorf("%s: it is %+v", name, row)
		}
		if _, err := h.client.Answer(t.Context(), custody.Answer{Request: "p-aaaa1111", Text: "yes", By: "ada"}); err != nil {
			t.Fatal(err)
		}
		h.until(run, "completed")
		h.save(run, name)
	}
}
