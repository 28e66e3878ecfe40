package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host/help"
)

// manual makes pages for man, in the macros that groff and mandoc have in common.
type manual struct{ version, date string }

func (m manual) root(c *cli.Command, topics []help.Topic) string {
	var p page
	p.head(m, "agent", c.Usage)
	p.section("SYNOPSIS")
	p.line(`.B agent`)
	p.line(escape("[global options] [command [command options]]"))
	p.described(c.Description)
	p.section("COMMANDS")
	for _, sub := range c.VisibleCommands() {
		p.item("agent-"+sub.Name+"(1)", sub.Usage)
	}
	p.options("GLOBAL OPTIONS", c.VisibleFlags())
	p.section("TOPICS")
	p.line("Each is shown by")
	p.line(".BR \"agent help\" \" TOPIC.\"")
	for _, topic := range topics {
		p.item(topic.Name, topic.About)
	}
	return p.String()
}

func (m manual) command(c *cli.Command) string {
	var p page
	p.head(m, "agent-"+c.Name, c.Usage)
	p.section("SYNOPSIS")
	p.line(".B agent " + escape(c.Name))
	p.line(escape(usage(c)))
	p.described(c.Description)
	p.options("OPTIONS", c.VisibleFlags())
	p.section("SEE ALSO")
	p.line(`.BR agent (1)`)
	return p.String()
}

// page is a manual page that is being written.
type page struct{ strings.Builder }

func (p *page) line(text string) { p.WriteString(text + "\n") }

func (p *page) section(name string) { p.line(".SH " + escape(name)) }

func (p *page) head(m manual, name, about string) {
	p.line(fmt.Sprintf(".TH %s 1 %s \"agent %s\" \"agent manual\"", escape(strings.ToUpper(name)), m.date, escape(m.version)))
	p.section("NAME")
	p.line(escape(name) + ` \- ` + escape(about))
}

func (p *page) item(name, about string) {
	p.line(".TP")
	p.line(".B " + escape(name))
	p.line(escape(about))
}

// options lists flags as the help does, whose text has a tab behind the names.
func (p *page) options(heading string, flags []cli.Flag) {
	if len(flags) == 0 {
		return
	}
	p.section(heading)
	for _, f := range flags {
		names, about, _ := strings.Cut(f.String(), "\t")
		p.item(names, strings.Join(strings.Fields(about), " "))
	}
}

// described is the text of a command. A line of capitals begins a section. What is indented or has
// columns stays as it is; the rest is filled.
func (p *page) described(text string) {
	p.section("DESCRIPTION")
	heading := regexp.MustCompile(`^[A-Z][A-Z ]+$`)
	for i, part := range strings.Split(text, "\n\n") {
		lines := strings.Split(part, "\n")
		if heading.MatchString(lines[0]) {
			p.section(lines[0])
			lines = lines[1:]
		} else if i > 0 {
			p.line(".PP")
		}
		for len(lines) > 0 {
			n := slices.IndexFunc(lines, func(l string) bool { return asItIs(l) != asItIs(lines[0]) })
			if n < 0 {
				n = len(lines)
			}
			p.block(lines[:n], asItIs(lines[0]))
			lines = lines[n:]
		}
	}
}

func (p *page) block(lines []string, verbatim bool) {
	if verbatim {
		p.line(".nf")
	}
	for _, l := range lines {
		p.line(escape(l))
	}
	if verbatim {
		p.line(".fi")
	}
}

func asItIs(line string) bool { return strings.Contains(line, "  ") }

// escape makes text that stands for itself, in ASCII.
func escape(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case i == 0 && (r == '.' || r == '\''):
			b.WriteString(`\&` + string(r))
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
