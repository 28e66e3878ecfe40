//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"agent/db"
	"agent/host/owner"
	"agent/recovery/journal"
	"agent/tools/process"
)

// pruned measures for how long the commits of a run wait while another process removes finished
// runs, and how long that takes.
func pruned(ctx context.Context, b *bench) (rows []row, err error) {
	count := b.times(10000)
	home, err := b.manyRuns(ctx, count, 0, finished)
	if err != nil {
		return nil, err
	}
	store, err := db.Open(ctx, home, db.Options{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	lock, err := owner.Locks{Dir: filepath.Join(home, "locks"), Self: process.Self()}.Take("r-beside00")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	done, began := make(chan error, 1), time.Now()
	go func() { done <- in(ctx, home, []string{b.exe, "prune", "--keep", "1", "--yes"})() }()
	c := journal.RunCreated{Run: "r-beside00", Thread: "t-beside00", Prompt: "go", Folder: "/work", Model: "runbook", Mode: journal.ModeYolo}
	head, err := store.Create(ctx, db.ThreadRef{ID: c.Thread, New: true}, []journal.Event{{Body: c}, {Body: journal.RunClaimed{Epoch: 1, PID: 1}}})
	if err != nil {
		return nil, errors.Join(err, <-done)
	}
	pace := time.NewTicker(4 * time.Millisecond)
	defer pace.Stop()
	var took []time.Duration
	for {
		select {
		case err := <-done:
			if err != nil {
				return nil, err
			}
			slices.Sort(took)
			last := float64(took[len(took)-1]) / float64(time.Millisecond)
			return []row{
				cost(fmt.Sprintf("the longest wait of a commit while %d runs are removed", count), last, "ms", 50, "by design"),
				plain("half of the commits take less than", median(took, time.Millisecond), "ms"),
				plain("the removal", time.Since(began).Seconds(), "s"),
			}, nil
		case <-pace.C:
			begin := time.Now()
			if head, err = store.Append(ctx, head, []journal.Event{{Body: journal.RunNoted{Text: "on its way"}}}, db.AppendOptions{}); err != nil {
				return nil, errors.Join(err, <-done)
			}
			took = append(took, time.Since(begin))
		}
	}
}
