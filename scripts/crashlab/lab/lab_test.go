//go:build linux

package lab

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"agent/scripts/crashlab/trial"
)

// -only takes one story, or those whose keys begin alike; without it all are carried out, whatever
// was found in one of them. An error of the lab itself ends it.
func TestOrdeals(t *testing.T) {
	var tried atomic.Int32
	all := func(err error) []Case {
		try := func(context.Context, string) error { tried.Add(1); return err }
		return []Case{{"a/1", try}, {"a/2", try}, {"b/1", try}}
	}
	for _, c := range []struct {
		only string
		err  error
		want int32
		says string
	}{{"", nil, 3, ""}, {"a/2", nil, 1, ""}, {"", trial.ErrFound, 3, ""}, {"a", nil, 2, ""}, {"c", nil, 0, `no story "c"`}, {"b/1", io.ErrUnexpectedEOF, 1, "b/1: unexpected EOF"}} {
		tried.Store(0)
		err := (&Lab{Report: NewReport(io.Discard, "faults", 1)}).RunCases(context.Background(), "x", Choice{Only: c.only, Workers: 2}, all(c.err))
		if tried.Load() != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %d stories, %v", c, tried.Load(), err)
		}
	}
}

// Whoever compares two passes reads the same names in the same order.
func TestReportIsOneObject(t *testing.T) {
	path := filepath.Join(t.TempDir(), "counts.json")
	if err := NewReport(io.Discard, "short", 7).Write(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^  "(\w+)":`).FindAllStringSubmatch(string(text), -1) {
		got = append(got, m[1])
	}
	want := "version mode seed seconds cpu_seconds_of_the_lab cpu_seconds_of_the_commands stories commands kills effects_done_twice results_lost " +
		"runs_stuck silent_decisions other_findings outcomes_unknown outcomes_unknown_with_the_runner_alive kills_by_point stories_by_tool " +
		"stories_by_shape stories_by_situation stories_by_fault figures not_tried skipped left_out points_not_met controls failures"
	if strings.Join(got, " ") != want {
		t.Errorf("it is written as %s\nwant %s", strings.Join(got, " "), want)
	}
}
