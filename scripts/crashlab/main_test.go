//go:build linux

package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// What names nothing is refused before anything begins: a pass of no stories would end well.
func TestOptionsThatNameNothing(t *testing.T) {
	for _, bad := range [][]string{
		{"-point", "nowhere"}, {"-tool", "nothing"}, {"-situation", "never"}, {"-only", "no/key"}, {"-jobs", "0"}, {"-for", "-1s"}, {"more"},
	} {
		var out strings.Builder
		if _, err := parse(bad, &out); err == nil || !strings.HasPrefix(out.String(), "crashlab: ") {
			t.Errorf("%v: %v, %q", bad, err, out.String())
		}
	}
	o, err := parse([]string{"-exe", "agent", "-dir", ".", "-point", "db.before_commit", "-tool", "shell:write", "-situation", "limit"}, io.Discard)
	if err != nil || !filepath.IsAbs(o.exe) || !filepath.IsAbs(o.dir) {
		t.Errorf("%+v, %v", o, err)
	}
}

// What is not given a seed has the one of all tests.
func TestSeed(t *testing.T) {
	t.Setenv("AGENT_SEED", "7")
	for seed, args := range map[uint64][]string{7: {"-short"}, 3: {"-short", "-seed", "3"}} {
		if o, err := parse(args, io.Discard); err != nil || o.seed != seed {
			t.Errorf("%v: seed %d, %v", args, o.seed, err)
		}
	}
	t.Setenv("AGENT_SEED", "none")
	var out strings.Builder
	if _, err := parse([]string{"-short"}, &out); err == nil || !strings.HasPrefix(out.String(), "crashlab: AGENT_SEED: ") {
		t.Errorf("%v, %q", err, out.String())
	}
}
