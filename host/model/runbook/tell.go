package runbook

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"agent/recovery/journal"
)

// Bounds of what is shown.
const (
	listLimit = 20   // steps in a list
	tailLines = 30   // lines of a step's output
	tailBytes = 4000 // bytes of a step's output
)

var errNothingEarlier = errors.New(`continue: this thread has no runbook to go on with: "continue" carries out what a runbook ` +
	"of the same thread left undone\nhint: agent run -c continue takes the newest thread of the folder, --thread another one")

// refusal says that a runbook cannot be carried out as it is written.
func refusal(mistakes error) error {
	return fmt.Errorf("the runbook cannot be carried out as it is written; nothing was run:\n  %s",
		strings.ReplaceAll(mistakes.Error(), "\n", "\n  "))
}

// nothingRunnable refuses a prompt without a step.
func nothingRunnable(others []string) error {
	var b strings.Builder
	b.WriteString("the prompt holds nothing that the model runbook can carry out: it carries out Markdown runbooks, step by " +
		"step, and understands no prose\n")
	if len(others) > 0 {
		fmt.Fprintf(&b, "of fenced blocks it carries out those tagged sh or bash; found: %s\n",
			strings.Join(others[:min(len(others), 3)], "; "))
	}
	b.WriteString(`what it takes is fenced sh or bash blocks, and list items that begin with a tool's name:

  - read_file go.mod

  ` + "```sh" + `
  make test
  ` + "```" + `

hint: agent tools lists the tools; for prose, leave out what names it a runbook (--runbook, or agent: runbook in its front matter), or name a model with --model (agent models lists what there is)`)
	return errors.New(b.String())
}

// nothingLeft refuses to continue what is done.
func nothingLeft(p *progress) error {
	return fmt.Errorf("continue: nothing is left of the thread's last runbook: %s", p.count())
}

// question asks whether to go on after a step whose outcome is unknown.
func (p *progress) question() string {
	s := p.steps[p.at]
	on := "It was the last step. End the runbook as done?"
	if p.at+1 < len(p.steps) {
		on = fmt.Sprintf("Go on with the next step (%s)?", p.steps[p.at+1].brief())
	}
	text := p.marks[p.at].result.Text
	why, about := cause(text), fmt.Sprintf("The outcome of the %s at %s is unknown, it may or may not have happened: %s", s.noun, s.where(), s.title)
	if strings.HasPrefix(why, "cancelled: ") {
		about = fmt.Sprintf("The %s at %s was stopped, and may have done a part of its work: %s", s.noun, s.where(), s.title)
	}
	return fmt.Sprintf("%s\n%s\n%s No stops here. Neither answer runs it again.", about, why+printed(text), on)
}

// printedLines is how much of what a lost block had printed is shown with the question about it.
const printedLines = 5

// printed is the end of what a block had printed when it was lost: a person judges by it.
func printed(text string) string {
	_, out, ok := strings.Cut(text, "\n"+journal.PrintedMark+"\n")
	if !ok {
		return ""
	}
	lines := strings.Split(strings.TrimRight(out, "\n"), "\n")
	lines = lines[max(0, len(lines)-printedLines):]
	for i, l := range lines {
		lines[i] = "    " + cut(l, causeLimit)
	}
	return "\nIt had printed, at the end:\n" + strings.Join(lines, "\n")
}

// causeLimit bounds what is reported about an unknown outcome, in characters.
const causeLimit = 300

// cause is what a result says about why its outcome is unknown: the line that says so, else the
// last line.
func cause(text string) string {
	last := ""
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if why, ok := strings.CutPrefix(line, "outcome unknown: "); ok {
			return cut(why, causeLimit)
		}
		last = line
	}
	return cut(last, causeLimit)
}

// count says how many steps are done: "2 of 3 steps done, 1 with an unknown outcome".
func (p *progress) count() string {
	done, passed := 0, 0
	for i, m := range p.marks {
		switch s := p.steps[i]; {
		case m.done(s):
			done++
		case m.judge(s) == endPassed:
			passed++
		}
	}
	text := fmt.Sprintf("%d of %d steps done", done, len(p.steps))
	if len(p.steps) == 1 {
		text = fmt.Sprintf("%d of 1 step done", done)
	}
	if passed > 0 {
		text += fmt.Sprintf(", %d with an unknown outcome", passed)
	}
	return text
}

// summary is the last answer of a runbook that was carried out to its end.
func (p *progress) summary() string {
	var lines []string
	plain := 0
	for i, s := range p.steps {
		word, usual := p.marks[i].word(s, p.run)
		if usual && len(p.steps) > listLimit {
			plain++
			continue
		}
		line := fmt.Sprintf("  %-7s  %s", word, s.brief())
		if p.marks[i].told() {
			line += " (a person says so)"
		}
		if s.tool == toolAsk && p.marks[i].result != nil {
			line += fmt.Sprintf(": answered %q", firstLine(p.marks[i].result.Text, titleLimit))
		}
		lines = append(lines, line)
	}
	if len(lines) > listLimit {
		lines = append(lines[:listLimit], fmt.Sprintf("  … and %d more", len(lines)-listLimit))
	}
	text := p.count()
	switch {
	case len(lines) == 0:
		return text
	case plain > 0:
		text += "; of note"
	}
	return text + ":\n" + strings.Join(lines, "\n")
}

// word is the outcome of a step that is over, for the summary; usual where it says no more than
// that the step was carried out.
func (m mark) word(s step, run int) (word string, usual bool) {
	switch e := m.judge(s); {
	case !m.asked:
		return "-", false
	case e == endPassed:
		return "unknown", false
	case s.tool == toolConfirm && m.result.Outcome == journal.OutcomeOK:
		return "yes", true
	case m.told():
		return string(journal.WordHappened), false
	case m.run != run:
		return "earlier", true
	}
	return "ok", s.tool != toolAsk
}

// stopped is the last answer of a runbook that did not come to its end. Its first line says all in
// short.
func (p *progress) stopped(e end) string {
	s, m := p.steps[p.at], p.marks[p.at]
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", reason(e, fmt.Sprintf("%s at %s", s.noun, s.where())), s.title)
	said := m.result.Text
	if e == endUnanswered {
		said = m.confirm.Text
	}
	if said = tail(said); said != "" && e != endNo && e != endUnknownNo {
		fmt.Fprintf(&b, "\nIts result:\n%s\n", inset(said))
	}
	fmt.Fprintf(&b, "\n%s. ", p.count())
	left := p.steps[p.at+1:]
	if len(left) == 0 {
		b.WriteString("No step comes after it.\n")
	} else {
		b.WriteString("Left undone after it:\n")
		for _, s := range left[:min(len(left), listLimit)] {
			fmt.Fprintf(&b, "  %s\n", s.brief())
		}
		if len(left) > listLimit {
			fmt.Fprintf(&b, "  … and %d more\n", len(left)-listLimit)
		}
	}
	fmt.Fprintf(&b, "\n%s give this thread the prompt: continue", onward(e, s))
	return b.String()
}

// reason says what stopped the runbook.
func reason(e end, what string) string {
	switch e {
	case endDenied:
		return "stopped: the " + what + " was refused and not carried out"
	case endSkipped:
		return "stopped: the " + what + " was not carried out"
	case endNo:
		return "stopped by your answer: the " + what + " was answered no"
	case endUnknownNo:
		return "stopped by your answer: the outcome of the " + what + " is unknown"
	case endUnanswered:
		return "stopped: nobody decided whether to go on; the outcome is unknown of the " + what
	}
	return "stopped: the " + what + " failed"
}

// onward says what it is to go on.
func onward(e end, s step) string {
	switch e {
	case endUnknownNo, endUnanswered:
		return "To go on (you are asked first what became of it),"
	case endNo:
		return "To be asked once more and go on,"
	}
	if s.noun != s.tool {
		return "To go on from this block,"
	}
	return "To go on from this step,"
}

// tail is the first line of a text and its end, within bounds.
func tail(text string) string {
	text = strings.TrimRight(text, " \t\n")
	lines := strings.Split(text, "\n")
	if len(lines) <= tailLines && len(text) <= tailBytes {
		return text
	}
	first := cut(lines[0], titleLimit)
	rest := strings.Join(lines[max(1, len(lines)-tailLines+2):], "\n")
	if len(rest) > tailBytes {
		rest = rest[len(rest)-tailBytes:]
		for rest != "" && !utf8.RuneStart(rest[0]) {
			rest = rest[1:]
		}
		if _, whole, ok := strings.Cut(rest, "\n"); ok {
			rest = whole
		}
	}
	return first + "\n… (cut here; agent show --calls shows the whole)\n" + rest
}

// inset moves a text to the right.
func inset(text string) string {
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}
