//go:build linux

package lab

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"agent/scripts/crashlab/trial"
)

// -only takes one story, or those whose keys begin alike; without it all are carried out, whatever was found in one of them. The lab's own trouble ends it.
func TestOrdeals(t *testing.T) {
	var told atomic.Int32
	all := func(err error) []Case {
		try := func(context.Context, string) error { told.Add(1); return err }
		return []Case{{"a/1", try}, {"a/2", try}, {"b/1", try}}
	}
	for _, c := range []struct {
		only string
		err  error
		want int32
		says string
	}{{"", nil, 3, ""}, {"a/2", nil, 1, ""}, {"", trial.ErrFound, 3, ""}, {"a", nil, 2, ""}, {"c", nil, 0, `no story "c"`}, {"b/1", io.ErrUnexpectedEOF, 1, "b/1: unexpected EOF"}} {
		told.Store(0)
		err := (&Lab{Report: NewReport(io.Discard, "faults", 1)}).RunCases(context.Background(), "x", Choice{Only: c.only, Workers: 2}, all(c.err))
		if told.Load() != c.want || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %d stories, %v", c, told.Load(), err)
		}
	}
}
