package db

import (
	"bytes"
	"context"
	"fmt"
	"testing"
)

// CHK: one checkpoint for every settled turn, in the commit that settled it.
// EN-53.
func TestCheckpoints(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	h := startRun(t, s, "r-checkpoi")
	other := startRun(t, s, "r-otherrun")
	for n := 1; n <= 3; n++ {
		a, b := turnFacts(n, fmt.Sprintf("c-%08d", n), "out")
		h = appendAll(t, s, h, append(a, b...), AppendOptions{})
		a, b = turnFacts(n, fmt.Sprintf("c-o%07d", n), "other")
		other = appendAll(t, s, other, append(a, b...), AppendOptions{})
	}
	a, _ := turnFacts(4, "c-00000004", "out")
	h = appendAll(t, s, h, a, AppendOptions{})
	list, err := s.Checkpoints(ctx, h.Run)
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v %v", list, err)
	}
	for i, c := range list {
		if c.Turn != i+1 || c.ID != fmt.Sprintf("k-%08d", i+1) || c.TurnsLeft != 99-i || c.Time.IsZero() || len(c.Digest) != digestSize {
			t.Errorf("%+v", c)
		}
		if digest, found, err := DigestAt(ctx, s, h.Run, c.Seq); err != nil || !found || !bytes.Equal(digest, c.Digest) {
			t.Errorf("checkpoint %s has the digest %x, its fact %x, %v", c.ID, c.Digest, digest, err)
		}
	}
	// A reading from a checkpoint is chained to the journal before it.
	n := list[1].Seq
	for e, err := range s.Load(ctx, h.Run, n) {
		if n++; err != nil || e.Seq != n {
			t.Fatal(e.Seq, err)
		}
	}
	if n != h.Seq {
		t.Errorf("the reading ended at %d and not at %d", n, h.Seq)
	}
	end, err := s.Head(ctx, h.Run)
	if err != nil || !bytes.Equal(end.Digest, h.Digest) {
		t.Errorf("%+v %v", end, err)
	}
}
