//go:build linux

package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"agent/scripts/crashlab/lab"
)

func quietLab() *lab.Lab {
	return &lab.Lab{Mounts: errors.New("no mounts in a test"), Report: lab.NewReport(io.Discard, "faults", 1)}
}

// A kind of fault is named by the first part of a key, so names are unique and hold no slash; each
// says what it is.
func TestTroubleNames(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range faults() {
		if x.Name == "" || strings.Contains(x.Name, "/") || seen[x.Name] || x.What == "" || x.Needs == nil || x.Run == nil {
			t.Errorf("%+v", x)
		}
		seen[x.Name] = true
	}
}

// What cannot be tried here, or by this user, is named before anything begins, and is no failure;
// what there is not is an error.
func TestNotTried(t *testing.T) {
	for _, x := range faults() {
		l := quietLab()
		why := x.Needs(l)
		if why == nil {
			continue
		}
		l.NoteUntried(faults(), x.Name)
		if err := l.RunFaults(context.Background(), faults(), lab.Choice{Only: x.Name}); err != nil {
			t.Errorf("%s: %v", x.Name, err)
		}
		if !strings.Contains(l.Report.NotTried[x.Name], why.Error()) || !strings.Contains(l.Report.NotTried[x.Name], "namespace") || len(l.Report.Failures) > 0 {
			t.Errorf("%s: %v %v", x.Name, l.Report.NotTried, l.Report.Failures)
		}
	}
	l := quietLab()
	if l.NoteUntried(faults(), ""); len(l.Report.NotTried) < 5 { // all but the clocks and, for root, the boots
		t.Errorf("without mounts only this is not tried: %v", l.Report.NotTried)
	}
	if err := quietLab().RunFaults(context.Background(), faults(), lab.Choice{Only: "flood/1"}); err == nil || !strings.Contains(err.Error(), `no fault "flood"`) {
		t.Errorf("a fault that there is not: %v", err)
	}
}
