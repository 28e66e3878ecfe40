//go:build linux

package boot

import (
	"agent/recovery/fault"
	"maps"
	"slices"
	"strings"
	"testing"
)

// Every fault point is met by a restart; a key names one story.
func TestRestartsCoverThePoints(t *testing.T) {
	keys := map[string]bool{}
	for _, r := range restarts() {
		if keys[r.key()] {
			t.Errorf("%s names two stories", r.key())
		}
		keys[r.key()] = true
	}
	for _, p := range fault.Driving() {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(keys)), func(k string) bool { return strings.HasPrefix(k, string(p)+"/") }) {
			t.Errorf("no story of %s", p)
		}
	}
}
