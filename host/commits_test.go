package host_test

import (
	"context"
	"encoding/json"
	"iter"
	"path/filepath"
	"strconv"
	"testing"

	"agent/db"
	"agent/host/model"
	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// steady is a model that asks for one call in each of so many turns.
type steady struct {
	tool  string
	turns int
}

func (m steady) Stream(_ context.Context, req model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		a := &model.Answer{Stop: journal.AnswerEnd, Blocks: []journal.Block{{Kind: journal.BlockText, Text: "done"}}}
		if req.Turn <= m.turns {
			a.Stop = journal.AnswerCalls
			a.Blocks = []journal.Block{{Kind: journal.BlockCall, Call: &journal.CallBlock{
				Tool: m.tool, Args: json.RawMessage(`{"n":` + strconv.Itoa(req.Turn) + `}`),
			}}}
		}
		yield(model.Delta{Answer: a}, nil)
	}
}

// STORE: a turn with a call that acts takes two commits: the answer with the start of the call, and
// its result with the end of the turn, its checkpoint and the next request.
func TestATurnTakesTwoCommits(t *testing.T) {
	commits := func(turns int) int {
		n := 0
		h := newHost(t, steady{"acts", turns}, fake{"acts", journal.EffectWriteLocal, func(context.Context) (journal.Result, error) {
			return journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, Content: "done"}, nil
		}})
		store, err := db.Open(t.Context(), filepath.Join(t.TempDir(), "state"), db.Options{NoBallast: true, Hit: func(point fault.Point) {
			if point == fault.AfterCommit {
				n++
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := store.Close(); err != nil {
				t.Error(err)
			}
		})
		h.Store = store
		if out, _ := start(t, h); out.Status != recovery.StatusCompleted || out.Turns != turns+1 {
			t.Fatalf("%+v", out)
		}
		return n
	}
	two, five := commits(2), commits(5)
	if five-two != 2*3 {
		t.Errorf("three turns more take %d commits", five-two)
	}
}
