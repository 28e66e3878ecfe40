package runbook

import (
	"fmt"
	"strings"

	"agent/host/markdown"
	"agent/host/model"
)

// fence reads the block that is opened on the present line, and leaves the parser on its last line.
// What a fence encloses is its block, whatever its indentation: up to the fence's own is taken off
// each line.
func (p *parser) fence(col int, f markdown.Fence) {
	p.para = ""
	open := p.n + 1
	var body []string
	for p.n++; p.n < len(p.lines) && !f.ClosedBy(p.lines[p.n], col); p.n++ {
		if f.Nested(p.lines[p.n], col) {
			p.wrong(p.n+1, "a fence begins inside the block of line %d: close that first, or give it a longer row of %c", open, f.Mark)
		}
		body = append(body, markdown.Outdent(p.lines[p.n], col))
	}
	if p.n == len(p.lines) {
		p.wrong(open, "the fenced block is never closed")
		p.file = nil
		return
	}
	if p.file != nil {
		s := *p.file
		p.file = nil
		name := "content"
		if s.tool == toolPatch {
			name = "patch"
		}
		s.args[name] = whole(body)
		p.add(s, s.line)
		return
	}
	tag, attributes := f.Tag()
	if tag != "sh" && tag != "bash" {
		if tag == "" {
			tag = "no tag"
		}
		p.others = append(p.others, fmt.Sprintf("line %d: %s", open, cut(tag, titleLimit)))
		return
	}
	p.shell(open, tag, attributes, strings.Join(body, "\n"))
}

// shell adds the call of a block tagged sh or bash.
func (p *parser) shell(line int, tag, attributes, command string) {
	s := step{tool: toolShell, command: command, noun: "sh block", title: model.FirstCommand(command, titleLimit)}
	if tag == "bash" {
		s.args, s.noun = map[string]any{"shell": tag}, "bash block"
	}
	for _, a := range strings.Fields(attributes) {
		name, value, _ := strings.Cut(a, "=")
		option, ok := shapes[toolShell].opts[name]
		if !ok || option == asShell || s.args[name] != nil {
			p.wrong(line, "%q after %s is not understood: one timeout=30m and one access=read may stand there", a, tag)
			continue
		}
		v, err := option.read(value)
		if err != nil {
			p.wrong(line, "%s: %v", name, err)
		}
		if s.args == nil {
			s.args = map[string]any{}
		}
		s.args[name] = v
	}
	if strings.TrimSpace(command) == "" {
		p.wrong(line, "the %s block is empty", tag)
	}
	p.add(s, line)
}

// whole joins lines that each end in a line break.
func whole(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}
