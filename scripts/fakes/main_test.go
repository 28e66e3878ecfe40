package main

import (
	"strings"
	"testing"
)

func TestNamed(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"/bin/fakes"}, 2, "fakes (unknown): the first argument is mcptest or modelserver\n"},
		{[]string{"/bin/fakes", "nobody"}, 2, "fakes (unknown): the first argument is mcptest or modelserver\n"},
		{[]string{"/bin/fakes", "mcptest", "-mode", "dies"}, 7, "no\x1b[31m config\x1b[0m found\n"},
		{[]string{"/bin/mcptest", "-mode", "dies"}, 7, "no\x1b[31m config\x1b[0m found\n"},
		{[]string{"/bin/fakes", "modelserver", "-protocol", "x"}, 1, "modelserver: unknown protocol \"x\""},
		{[]string{"modelserver", "-protocol", "x"}, 1, "modelserver: unknown protocol \"x\""},
	} {
		var errs strings.Builder
		if code := run(c.args, &errs); code != c.code || !strings.HasPrefix(errs.String(), c.want) {
			t.Errorf("%q: %d %q, want %d %q", c.args, code, errs.String(), c.code, c.want)
		}
	}
}
