package db

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"agent/db/redact"
	"agent/recovery/journal"
	"agent/scripts/testkit/seed"
)

// startKeyed creates a run with a start key in a thread of its own.
func startKeyed(s *Store, run, key string) error {
	c := createdFact(run, "t-"+run[2:])
	c.StartKey, c.StartDigest = key, "digest of "+run
	_, err := s.Create(context.Background(), ThreadRef{ID: c.Thread, Folder: c.Folder, New: true}, events(c, journal.RunClaimed{Epoch: 1}))
	return err
}

// A start key is that of the run which was first given it, in whatever order keys come and whoever
// is asked, and runs without one are as many as are started.
func TestStartKeyIsOneRun(t *testing.T) {
	ctx, dir, n := context.Background(), stateDir(t), 0
	stores := []*Store{openStore(t, dir), openStore(t, dir)}
	first := map[string]string{}
	checks(t, 20)
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom([]string{"", "a", "A", " a", "nightly 2026-11-23", "'; --"}).Draw(t, "key")
		s := stores[rapid.IntRange(0, 1).Draw(t, "store")]
		n++
		run := fmt.Sprintf("r-%08d", n)
		err := startKeyed(s, run, key)
		var taken *StartKeyError
		switch {
		case key == "" || first[key] == "":
			if err != nil {
				t.Fatalf("start %s with key %q: %v", run, key, err)
			}
			first[key] = run
		case !errors.As(err, &taken) || taken.Run != first[key]:
			t.Fatalf("start %s with key %q, which is that of %s: %v", run, key, first[key], err)
		}
		for key, run := range first {
			got, digest, err := s.StartedWith(ctx, key)
			if key == "" {
				run = ""
			}
			if err != nil || got != run || run != "" && digest != "digest of "+run {
				t.Fatalf("the run of key %q is %q (%s): %v; it is %q", key, got, digest, err, run)
			}
		}
	})
}

// Of those that start with one key at once, one gets the run and the others hear which it is.
func TestStartKeyAtOnce(t *testing.T) {
	dir := stateDir(t)
	const many = 6
	var stores [many]*Store
	for i := range stores {
		stores[i] = openStore(t, dir)
	}
	for round := range rounds(t, 10) {
		var wg sync.WaitGroup
		var got [many]error
		for i, s := range stores {
			wg.Go(func() { got[i] = startKeyed(s, fmt.Sprintf("r-%03d0000%d", round, i), fmt.Sprint("round ", round)) })
		}
		wg.Wait()
		run, _, err := stores[0].StartedWith(context.Background(), fmt.Sprint("round ", round))
		if err != nil {
			t.Fatal(err)
		}
		for i, err := range got {
			var taken *StartKeyError
			if own := fmt.Sprintf("r-%03d0000%d", round, i) == run; own != (err == nil) || !own && (!errors.As(err, &taken) || taken.Run != run) {
				t.Errorf("round %d: start %d: %v; the run is %s", round, i, err, run)
			}
		}
	}
}

// The index itself keeps a second row out, whatever a program does.
func TestStartKeyIndex(t *testing.T) {
	s := openStore(t, stateDir(t))
	if err := startKeyed(s, "r-7k2m9qx4", "k"); err != nil {
		t.Fatal(err)
	}
	startRun(t, s, "r-abcdefgh")
	err := s.write(context.Background(), func(t *tx) error { return t.Once("UPDATE runs SET start_key = 'k' WHERE id = 'r-abcdefgh'") })
	if err == nil {
		t.Error("two runs have one start key")
	}
}

// A key that is a secret is refused: it would stand in the clear where it is looked up.
func TestStartKeyIsNoSecret(t *testing.T) {
	s := openStore(t, stateDir(t), func(o *Options) { o.Known = []redact.Known{{Rule: "env", Value: "k-correct-horse-7"}} })
	for _, key := range []string{"k-correct-horse-7", "ghp_" + "0123456789abcdefghijklmnopqrstuvwxyz", "[secret:env:0123456789]"} {
		if err := startKeyed(s, "r-7k2m9qx4", key); !errors.Is(err, ErrSecretKey) {
			t.Errorf("start with %q: %v", key, err)
		}
	}
	if rows, err := s.Runs(context.Background(), Filter{}); err != nil || len(rows) > 0 {
		t.Errorf("%d runs (%v)", len(rows), err)
	}
}
