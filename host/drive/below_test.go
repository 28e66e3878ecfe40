package drive

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
)

// hands is a tool that has runs of their own carry its calls out. After a crash the first of them
// goes on until the second has begun, which had not.
type hands struct {
	lasting
	shares []int64 // of the limit on tokens, as they were handed on
	second chan struct{}
}

type handed string

func (h handed) Child() string { return string(h) }

func (h *hands) Prepare(_ context.Context, c tools.Call) (json.RawMessage, any, error) {
	h.shares = append(h.shares, c.Parent.Limits.MaxTokens)
	return nil, handed(fmt.Sprintf("r-%d", len(h.shares))), nil
}

func (h *hands) Find(_ context.Context, c tools.Call) recovery.ProcessEvidence {
	if c.Index == 0 {
		return recovery.ProcessEvidence{State: recovery.ProcessRunning}
	}
	return recovery.ProcessEvidence{State: recovery.ProcessNever}
}

func (h *hands) Attach(context.Context, tools.Call) (journal.Result, error) {
	<-h.second
	return fine(), nil
}

// A run below that had not begun when its host died begins beside those that are picked up, with
// the share of what is left that it would have had (flows, promises 22 and 24).
func TestStoryBeginBesideOthers(t *testing.T) {
	h := &hands{lasting: lasting{prop: prop{name: "hands", effect: journal.EffectRead}}}
	story(t, []line{calls("hands", "hands")}, []tools.Tool{h}, func(s *stage) {
		s.created.Limits.MaxTokens = 1000
		s.failsAt(journal.KindCallSettled, false, errCrash)
		if _, err := s.start(s.t.Context()); err == nil {
			t.Fatal("the commit did not fail")
		}
		s.heals()
		h.second = make(chan struct{})
		h.act = func(context.Context, tools.Call) (journal.Result, error) {
			close(h.second)
			return fine(), nil
		}
		s.wants(s.resume(), recovery.StatusCompleted, "")
		if !slices.Equal(h.shares, []int64{500, 500, 500}) {
			t.Errorf("of 1000 tokens they got %d", h.shares)
		}
	})
}
