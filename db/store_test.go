package db

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agent/recovery"
)

// JRN-01: what was appended is read back, and the rows beside the journal say the same as its fold.
func TestAppendAndLoad(t *testing.T) {
	ctx := context.Background()
	dir := stateDir(t)
	s := openStore(t, dir)
	h := startRun(t, s, "r-aaaaaaaa")
	a, b := turnFacts(1, "c-11111111", "it went well\n")
	h = appendAll(t, s, h, a, AppendOptions{})
	h = appendAll(t, s, h, b, AppendOptions{})
	got := loadAll(t, s, "r-aaaaaaaa")
	if len(got) != 8 {
		t.Fatalf("%d facts were read, 8 were written", len(got))
	}
	state, err := recovery.Fold(got)
	if err != nil {
		t.Fatal(err)
	}
	row, err := s.Run(ctx, "r-aaaaaaaa")
	if err != nil {
		t.Fatal(err)
	}
	if row.Status != state.Status || row.Epoch != state.Epoch || row.LastSeq != state.Seq || row.Turns != len(state.Turns) || row.Fruitless != state.Fruitless {
		t.Errorf("row %+v does not say what the journal says %+v", row, state)
	}
	if diff := cmp.Diff(append(a, b...), got[3:]); diff != "" {
		t.Errorf("what Append left in the caller's events differs from what is read (-left +read):\n%s", diff)
	}
	again, err := s.Head(ctx, "r-aaaaaaaa")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h, again); diff != "" {
		t.Errorf("the head that Append returned differs from the stored one (-returned +stored):\n%s", diff)
	}
	for _, f := range []func(context.Context, Filter) ([]RunRow, error){s.Runs} {
		rows, err := f(ctx, Filter{})
		if err != nil || len(rows) != 1 {
			t.Fatal(rows, err)
		}
	}
}
