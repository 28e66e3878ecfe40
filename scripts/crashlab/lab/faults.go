//go:build linux

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/trial"
)

// Fault is one kind of fault of the machine.
type Fault struct {
	Name  string
	What  string             // one sentence
	Takes string             // what only root has on most machines; "" for nothing
	Needs func(l *Lab) error // why it cannot be tried on this machine, or by this user; nil when it can
	Run   func(ctx context.Context, l *Lab, c Choice) error
}

// Choice says which stories of a fault are carried out.
type Choice struct {
	Short   bool
	Seed    uint64
	Only    string // the rest of a key after "name/"; "" for all
	Workers int
}

// NoteUntried notes what was asked for and cannot be tried here: it is printed before anything
// begins, not after an hour.
func (l *Lab) NoteUntried(all []Fault, only string) {
	name, _, _ := strings.Cut(only, "/")
	for _, t := range all {
		if name != "" && name != t.Name {
			continue
		}
		if why := t.Needs(l); why != nil {
			l.Report.NoteNotTried(t.Name, fmt.Errorf("it takes %s, and user %d has not all of that here: %w", t.Takes, os.Getuid(), why))
		}
	}
}

// RunFaults carries out the faults that were asked for and that NoteUntried has not ruled out, one
// kind after the other.
func (l *Lab) RunFaults(ctx context.Context, all []Fault, c Choice) error {
	name, rest, _ := strings.Cut(c.Only, "/")
	met := false
	var names []string
	for _, t := range all {
		names = append(names, t.Name)
		if name != "" && name != t.Name {
			continue
		}
		met = true
		if l.Report.NotTried[t.Name] != "" || !l.Parts.begin("fault "+t.Name) {
			continue
		}
		left := l.Parts.Left()
		fmt.Fprintf(l.Report.Out, "%s: %s\n", t.Name, t.What)
		its := c
		its.Only = rest
		if err := t.Run(ctx, l, its); err != nil {
			return fmt.Errorf("%s: %w", t.Name, err)
		}
		if l.Parts.Left() > left {
			continue
		}
		if err := l.Parts.end("fault " + t.Name); err != nil {
			return err
		}
	}
	if !met {
		return fmt.Errorf("there is no fault %q: there are %s", name, strings.Join(names, ", "))
	}
	return nil
}

// Case is one story of a fault. Try reports what it finds itself; its error is the lab's own.
type Case struct {
	Key string // after "name/"
	Try func(ctx context.Context, key string) error
}

// RunCases carries out the stories that were asked for, several at once: all, one, or those whose
// keys begin with the same parts.
func (l *Lab) RunCases(ctx context.Context, name string, c Choice, all []Case) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	room := make(chan struct{}, max(c.Workers, 1))
	var wg sync.WaitGroup
	met := 0
	l.Report.BeginPart(len(all), "stories of "+name)
	for _, o := range all {
		if c.Only != "" && c.Only != o.Key && !strings.HasPrefix(o.Key, c.Only+"/") {
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
		if !l.Parts.begin(name + "/" + o.Key) {
			l.Report.Progress()
			<-room
			continue
		}
		wg.Go(func() {
			defer func() { <-room }()
			defer l.Report.Progress()
			err := o.Try(ctx, name+"/"+o.Key)
			if err == nil || errors.Is(err, trial.ErrFound) {
				err = l.Parts.end(name + "/" + o.Key)
			}
			if err != nil {
				stop(fmt.Errorf("%s: %w", o.Key, err))
			}
		})
	}
	wg.Wait()
	if met == 0 {
		return fmt.Errorf("there is no story %q", c.Only)
	}
	return context.Cause(ctx)
}

// Finish ends a fault's story: it is counted, and what was found in it is reported and kept.
func (l *Lab) Finish(key string, t *trial.Trial, kills int) error {
	kind, _, _ := strings.Cut(key, "/")
	l.Report.CountFault(kind, t, kills)
	if len(t.Found) == 0 {
		return t.World.Close(false)
	}
	again := "go run ./scripts/crashlab -faults -only " + key
	l.Report.AddFailure(Failure{Key: key, Repeat: again, Folder: t.World.Root, Findings: t.Found})
	return errors.Join(t.World.SaveTranscript(again), t.World.Close(true))
}

// controlKey begins the key of a control that did not find its damage.
const controlKey = "control: "

// Control notes that damage made on purpose was found as what it is, or reports that it was not.
func (l *Lab) Control(name, kind string, f judge.Findings) {
	for _, x := range f {
		if x.Kind == kind {
			l.Report.NoteCaught(name)
			return
		}
	}
	var missing judge.Findings
	missing.Add(judge.Unlisted, "the control %q was not found as %q; found: %v", name, kind, f)
	l.Report.AddFailure(Failure{Key: controlKey + name, Repeat: "go run ./scripts/crashlab -only " + plan.Job{Tool: "shell", Situation: "first", Shape: "runbook", Victim: "host"}.Key(), Findings: missing})
}
