package terminal

import (
	"strings"
	"testing"
)

// Columns stand under each other whatever the width of their letters, a cell is one line, and
// nothing in it reaches the terminal as a command.
func TestTable(t *testing.T) {
	tab := Table{Head: []string{"A", "LONG", "NEXT"}, Most: []int{0, 6, 3}}
	tab.Add("x", "日本語文字", "agent resume r-1")
	tab.Add("yy\n\x1b[31mz", "", "")
	var b strings.Builder
	tab.Write(&b)
	want := "A     LONG   NEXT\n" +
		"x     日本…  agent resume r-1\n" +
		"yy z\n"
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// On a narrow terminal the next command stays whole, on a line of its own.
func TestTableOnNarrowTerminal(t *testing.T) {
	tab := Table{Head: []string{"RUN", "PROMPT", "NEXT"}, Most: []int{0, 32, 0}, Fit: 24}
	tab.Add("r-7k2m9qx4", "put the house in order", "agent answer p-3f9x0000 yes|no")
	tab.Add("r-00000000", "done", "")
	for fit, want := range map[int]string{
		24: "RUN         PROMPT\n" +
			"r-7k2m9qx4  put the hou…\n" +
			"    agent answer p-3f9x0000 yes|no\n" +
			"r-00000000  done\n",
		10: "RUN         PROMPT\n" +
			"r-7k2m9qx4  put the…\n" +
			"    agent answer p-3f9x0000 yes|no\n" +
			"r-00000000  done\n",
		66: "RUN         PROMPT                  NEXT\n" +
			"r-7k2m9qx4  put the house in order  agent answer p-3f9x0000 yes|no\n" +
			"r-00000000  done\n",
	} {
		var b strings.Builder
		tab.Fit = fit
		if tab.Write(&b); b.String() != want {
			t.Errorf("%d cells: got\n%s\nwant\n%s", fit, b.String(), want)
		}
	}
}

func TestTilde(t *testing.T) {
	for _, c := range []struct{ home, path, want string }{
		{"/home/me", "/home/me", "~"}, {"/home/me", "/home/me/site", "~/site"}, {"/home/me/", "/home/me/site", "~/site"},
		{"/home/me", "/home/mean", "/home/mean"}, {"", "/srv", "/srv"}, {"/", "/srv", "/srv"},
	} {
		a := &Terminal{Getenv: func(string) string { return c.home }}
		if got := a.Tilde(c.path); got != c.want {
			t.Errorf("home %q, path %q: %q, want %q", c.home, c.path, got, c.want)
		}
	}
}
