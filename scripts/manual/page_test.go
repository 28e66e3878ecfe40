package main

import (
	"strings"
	"testing"

	"agent/host/command"
	"agent/host/help"
)

// Prose is filled, examples and tables stay as they are, and nothing that was written is taken for
// a macro.
func TestDescribed(t *testing.T) {
	var p page
	p.described("Runs `a\\b`.\n.hidden is a file:\n   agent run -f x\n\nMore.\n\nEXIT STATUS\n   0  done\n'quoted' … ends")
	const want = `.SH DESCRIPTION
Runs ` + "`a\\eb`" + `.
\&.hidden is a file:
.nf
   agent run \-f x
.fi
.PP
More.
.SH EXIT STATUS
.nf
   0  done
.fi
\&'quoted' \[u2026] ends
`
	if got := p.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Every command of the list has a page, with all its flags.
func TestPages(t *testing.T) {
	m := manual{version: "1.2.3", date: "2026-11-27"}
	root := command.Tree()
	top := m.root(root, []help.Topic{{Name: "models", About: "providers"}})
	for _, c := range root.VisibleCommands() {
		if !strings.Contains(top, "\n.B agent\\-"+c.Name+"(1)\n") {
			t.Errorf("agent(1) does not list %s", c.Name)
		}
		text := m.command(c)
		for _, f := range c.VisibleFlags() {
			if !strings.Contains(text, `\-\-`+escape(f.Names()[0])) {
				t.Errorf("agent-%s(1) lacks --%s", c.Name, f.Names()[0])
			}
		}
	}
	if !strings.Contains(top, `.TH AGENT 1 2026-11-27 "agent 1.2.3" "agent manual"`) || !strings.Contains(top, ".B models\nproviders\n") {
		t.Errorf("agent(1) begins and ends otherwise:\n%s", top)
	}
}
