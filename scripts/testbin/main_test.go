//go:build unix

package main

import (
	"strings"
	"testing"
)

func TestUsage(t *testing.T) {
	for _, c := range []struct{ arg, want string }{
		{"x", "testbin: no argument is known, and there is \"x\"\n"},
		{"-fast", "flag provided but not defined: -fast\n"},
	} {
		var out, errs strings.Builder
		if code := run([]string{c.arg}, &out, &errs); code != 2 || out.Len() > 0 || !strings.HasPrefix(errs.String(), c.want) {
			t.Errorf("%s: %d %q %q", c.arg, code, &out, &errs)
		}
	}
}
