//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
)

// trouble is one kind of fault of the machine.
type trouble struct {
	name  string
	what  string             // one sentence
	takes string             // what only root has on most machines; "" for nothing
	needs func(l *lab) error // why it cannot be tried on this machine, or by this user; nil when it can
	run   func(ctx context.Context, l *lab, c troubleChoice) error
}

// troubleChoice says how much of a fault is tried.
type troubleChoice struct {
	short   bool
	seed    uint64
	only    string // the rest of a key after "name/"; "" for all
	workers int
}

// troubles lists every kind: faults of the machine, and after them what people and other processes do. The order is that of the run.
// A kind of its own is a line here and a file or a package below fault.
func troubles() []trouble {
	return []trouble{
		clockTrouble(),
		fullTrouble(),
		ioTrouble(),
		powerTrouble(),
		readonlyTrouble(),
		slowTrouble(),
		bootTrouble(),
		signalTrouble(),
		cancelTrouble(),
		takeoverTrouble(),
		panicTrouble(),
		twinTrouble(),
		decisionTrouble(),
		olderTrouble(),
		goneTrouble(),
		attackTrouble(),
	}
}

// errNoFaults stands where nothing was asked for that would need a mount.
var errNoFaults = errors.New("no fault of the machine was asked for")

// needsMounts is for faults that are made by a mount.
func needsMounts(l *lab) error { return l.mounts }

// survey notes what was asked for and cannot be tried here: it is said before anything begins, not after an hour.
func (l *lab) survey(all []trouble, only string) {
	name, _, _ := strings.Cut(only, "/")
	for _, t := range all {
		if name != "" && name != t.name {
			continue
		}
		if why := t.needs(l); why != nil {
			l.report.notTried(t.name, fmt.Errorf("it takes %s, and user %d has not all of that here: %w", t.takes, os.Getuid(), why))
		}
	}
}

// troubled carries out the faults that were asked for and that survey has not ruled out, one kind after the other.
func (l *lab) troubled(ctx context.Context, all []trouble, c troubleChoice) error {
	name, rest, _ := strings.Cut(c.only, "/")
	met := false
	var names []string
	for _, t := range all {
		names = append(names, t.name)
		if name != "" && name != t.name {
			continue
		}
		met = true
		if l.report.NotTried[t.name] != "" {
			continue
		}
		fmt.Fprintf(l.report.out, "%s: %s\n", t.name, t.what)
		its := c
		its.only = rest
		if err := t.run(ctx, l, its); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	if !met {
		return fmt.Errorf("there is no fault %q: there are %s", name, strings.Join(names, ", "))
	}
	return nil
}

// ordeal is one story of a fault. try reports what it finds itself; its error is the lab's own.
type ordeal struct {
	key string // after "name/"
	try func(ctx context.Context, key string) error
}

// ordeals carries out those that were asked for, several at once: all, one, or those whose keys begin alike.
func (l *lab) ordeals(ctx context.Context, name string, c troubleChoice, all []ordeal) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	room := make(chan struct{}, max(c.workers, 1))
	var wg sync.WaitGroup
	met := 0
	l.report.stage(len(all), "stories of "+name)
	for _, o := range all {
		if c.only != "" && c.only != o.key && !strings.HasPrefix(o.key, c.only+"/") {
			continue
		}
		met++
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-room }()
			defer l.report.progress()
			if err := o.try(ctx, name+"/"+o.key); err != nil && !errors.Is(err, errFound) {
				stop(fmt.Errorf("%s: %w", o.key, err))
			}
		})
	}
	wg.Wait()
	if met == 0 {
		return fmt.Errorf("there is no story %q", c.only)
	}
	return context.Cause(ctx)
}

// verdictOn ends a fault's story: it is counted, and what was found in it is reported and kept.
func (l *lab) verdictOn(key string, t *tale, kills int) error {
	kind, _, _ := strings.Cut(key, "/")
	l.report.trouble(kind, t, kills)
	if len(t.found) == 0 {
		return t.world.close(false)
	}
	again := "go run ./scripts/crashlab -faults -only " + key
	l.report.add(failure{Key: key, Repeat: again, Folder: t.world.root, Findings: t.found})
	return errors.Join(t.world.keep(again), t.world.close(true))
}
