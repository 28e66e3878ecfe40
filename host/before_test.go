package host_test

import (
	"context"
	"slices"
	"testing"

	"agent/recovery"
	"agent/recovery/journal"
)

// A cancel that comes while it is looked at whether a call may act is heard before it does.
// issue 18, part 4
func TestLookedAtBeforeACall(t *testing.T) {
	for name, c := range map[string]struct {
		look   func(*testing.T, func()) string // gets what cancels the run
		status recovery.Status
		acted  []string
	}{
		"a cancel meanwhile": {func(_ *testing.T, cancel func()) string { cancel(); return "" }, recovery.StatusCancelled, nil},
		"nothing":            {func(*testing.T, func()) string { return "" }, recovery.StatusCompleted, []string{"one", "two"}},
	} {
		t.Run(name, func(t *testing.T) {
			var acted []string
			read := func(name string) fake {
				return fake{name, journal.EffectWriteExternal, func(context.Context) (journal.Result, error) {
					acted = append(acted, name)
					return journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes}, nil
				}}
			}
			h := newHost(t, scripted{[]string{"one", "two"}}, read("one"), read("two"))
			h.Env.Before = func(ctx context.Context, run journal.RunCreated, _ journal.Mode, _ *recovery.Call) (string, bool, error) {
				return c.look(t, func() {
					if _, err := h.AskCancel(ctx, run.Run); err != nil {
						t.Error(err)
					}
				}), true, nil
			}
			out, _ := start(t, h)
			if out.Status != c.status || !slices.Equal(acted, c.acted) {
				t.Errorf("the run is %s, and %v acted", out.Status, acted)
			}
		})
	}
}
