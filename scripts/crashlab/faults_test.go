//go:build linux

package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func quietLab() *lab {
	return &lab{mounts: errors.New("no mounts in a test"), report: newReport(io.Discard, "faults", 1)}
}

// A kind of fault is named by the first part of a key, so names are unique and hold no slash; each says what it is.
func TestTroubleNames(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range troubles() {
		if x.name == "" || strings.Contains(x.name, "/") || seen[x.name] || x.what == "" || x.needs == nil || x.run == nil {
			t.Errorf("%+v", x)
		}
		seen[x.name] = true
	}
}

// What cannot be tried here, or by this user, is named before anything begins, and is no failure; what there is not is an error.
func TestNotTried(t *testing.T) {
	for _, x := range troubles() {
		l := quietLab()
		why := x.needs(l)
		if why == nil {
			continue
		}
		l.survey(troubles(), x.name)
		if err := l.troubled(context.Background(), troubles(), troubleChoice{only: x.name}); err != nil {
			t.Errorf("%s: %v", x.name, err)
		}
		if !strings.Contains(l.report.NotTried[x.name], why.Error()) || !strings.Contains(l.report.NotTried[x.name], "namespace") || len(l.report.Failures) > 0 {
			t.Errorf("%s: %v %v", x.name, l.report.NotTried, l.report.Failures)
		}
	}
	l := quietLab()
	if l.survey(troubles(), ""); len(l.report.NotTried) < 5 { // all but the clocks and, for root, the boots
		t.Errorf("without mounts only this is not tried: %v", l.report.NotTried)
	}
	if err := quietLab().troubled(context.Background(), troubles(), troubleChoice{only: "flood/1"}); err == nil || !strings.Contains(err.Error(), `no fault "flood"`) {
		t.Errorf("a fault that there is not: %v", err)
	}
}
