package file

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"agent/host/markdown"
	"agent/recovery/flow"
)

// The tags of the fences that say what a flow is.
const (
	phaseTag = "phase"
	flowTag  = "flow"
)

// fence is a block of TOML.
type fence struct {
	at    place    // of its marks
	lines []string // between the marks
	cut   []int    // bytes that were taken off each line's beginning
}

// section is a heading with a phase fence directly below it, and the text up to the next such
// heading.
type section struct {
	heading     place
	name, title string
	fence       fence
	from, to    int // lines of the text, as indexes of reader.lines
}

// title is a heading of the file.
type title struct {
	line int // as an index
	at   place
	text string
}

// above is what stands above a line, blank lines apart.
type above int

const (
	aboveNothing above = iota
	aboveHeading
	abovePhase
)

// scanner cuts a file into its sections. It knows headings, fences and comments, and takes all else
// for text.
type scanner struct {
	*reader
	n        int // the line that is read
	above    above
	title    title
	sections []section
	flow     *fence
	skip     map[int]bool // lines before the phases that are not for the model
	first    string       // text of the first heading
}

// headingLine is compiled when it is first needed: every start of the binary would pay for it.
var headingLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
})

// scan reads all lines behind the front matter.
func (s *scanner) scan(from int) {
	s.skip = map[int]bool{}
	for s.n = from; s.n < len(s.lines); s.n++ {
		col, rest := markdown.Indent(s.lines[s.n], 0)
		if rest == "" {
			continue
		}
		indented := len(s.lines[s.n]) - len(rest)
		here := place{s.n + 1, indented + 1}
		if col > 3 {
			s.above = aboveNothing // indented code, or what belongs to a list
			continue
		}
		if f, ok := markdown.OpenFence(rest); ok {
			s.fence(f, col, here)
			continue
		}
		if strings.HasPrefix(rest, "<!--") {
			s.comment(here)
			continue
		}
		s.above = aboveNothing
		if m := headingLine().FindStringSubmatchIndex(rest); m != nil {
			s.above, s.title = aboveHeading, title{line: s.n, at: here}
			if m[4] >= 0 {
				s.title.text = rest[m[4]:m[5]]
				s.title.at.column += m[4]
			}
			if len(s.sections) == 0 && s.first == "" {
				s.first = s.title.text
			}
		}
	}
	if len(s.sections) > 0 {
		s.sections[len(s.sections)-1].to = len(s.lines)
	}
}

// comment passes over an HTML comment, which may hide whole phases.
func (s *scanner) comment(at place) {
	s.above = aboveNothing
	begin := s.n
	for ; s.n < len(s.lines); s.n++ {
		if strings.Contains(s.lines[s.n], "-->") {
			return
		}
	}
	s.wrong(at, "end it with -->", "a comment begins with <!-- and is never closed")
	s.n = max(begin, len(s.lines)-1)
}

// fence reads the block that is opened on the present line, and leaves the scanner on its last
// line.
func (s *scanner) fence(f markdown.Fence, col int, at place) {
	open, block := s.n, fence{at: at}
	tag, attributes := f.Tag()
	ours := tag == phaseTag || tag == flowTag
	for s.n++; s.n < len(s.lines) && !f.ClosedBy(s.lines[s.n], col); s.n++ {
		if ours && f.Nested(s.lines[s.n], col) {
			s.wrong(at, fmt.Sprintf("close it above line %d with %s", s.n+1, strings.Repeat(string(f.Mark), f.Len)),
				"the %s fence is not closed before another begins", tag)
			s.n-- // so that the other is read
			ours = false
			break
		}
		line := markdown.Outdent(s.lines[s.n], col)
		block.lines = append(block.lines, line)
		block.cut = append(block.cut, len(s.lines[s.n])-len(line))
	}
	if s.n >= len(s.lines) {
		s.wrong(at, fmt.Sprintf("close it with %s on a line of its own", strings.Repeat(string(f.Mark), f.Len)), "the fenced block is never closed")
		s.n = len(s.lines) - 1
	}
	was := s.above
	s.above = aboveNothing
	if attributes != "" && ours {
		s.wrong(at, "write "+attributes+" as lines inside the fence", "nothing may stand behind %s", tag)
	}
	switch {
	case tag == phaseTag:
		s.phase(was, block, open)
	case tag == flowTag:
		s.defaults(block, open)
	case was == aboveHeading && nearest([]string{phaseTag, flowTag}, tag) != "" && len(tag) > 3:
		s.wrong(at, "write ```"+nearest([]string{phaseTag, flowTag}, tag), "a fence tagged %s says nothing about a flow", tag)
	}
}

// phase begins a section, where the fence stands directly below a heading.
func (s *scanner) phase(was above, block fence, open int) {
	switch {
	case was == abovePhase:
		s.above = abovePhase
		last := s.sections[len(s.sections)-1]
		s.wrong(block.at, "keep one of the two, or give this one a heading of its own",
			"the phase %s has a fence already, at line %d", last.name, last.fence.at.line)
		return
	case was != aboveHeading && len(s.sections) > 0 && s.title.line < s.sections[len(s.sections)-1].fence.at.line:
		last := s.sections[len(s.sections)-1]
		s.wrong(block.at, "give it a heading of its own, such as ## next", "a phase fence stands in the text of the phase %s", last.name)
		return
	case was != aboveHeading && s.title.at.line == 0:
		s.wrong(block.at, "put a heading with the phase's name above it, such as ## build", "the phase fence has no heading")
		return
	case was != aboveHeading:
		s.wrong(block.at, fmt.Sprintf("move it up to line %d", s.title.at.line+1),
			"the phase fence does not stand directly below its heading, which is at line %d", s.title.at.line)
	}
	name, about, _ := strings.Cut(s.title.text, ":")
	sec := section{heading: s.title.at, name: strings.TrimSpace(name), title: strings.TrimSpace(about), fence: block, from: s.n + 1}
	if !flow.ValidName(sec.name) {
		s.wrong(sec.heading, "write "+heading(s.title.text), "%q is no name of a phase: small letters, digits and -, at most 32, a letter first", sec.name)
	}
	if n := len(s.sections); n > 0 {
		s.sections[n-1].to = s.title.line
	}
	s.sections, s.above = append(s.sections, sec), abovePhase
}

// heading is what a heading that names no phase may have meant.
func heading(text string) string {
	name, _, named := strings.Cut(text, ":")
	if !named {
		name, _, _ = strings.Cut(strings.TrimSpace(text), " ")
	}
	var b strings.Builder
	for _, c := range strings.ToLower(strings.TrimSpace(name)) {
		switch {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9' && b.Len() > 0:
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	made := strings.Trim(b.String()[:min(b.Len(), 32)], "-")
	switch {
	case made == "":
		return "a heading such as ## build: " + strings.TrimSpace(text)
	case named:
		_, text, _ = strings.Cut(text, ":")
	case made == text:
		return "## " + made
	}
	return "## " + made + ": " + strings.TrimSpace(text)
}

// defaults takes the one flow fence.
func (s *scanner) defaults(block fence, open int) {
	switch {
	case len(s.sections) > 0:
		s.wrong(block.at, fmt.Sprintf("move it above line %d", s.sections[0].heading.line), "the flow fence stands behind the first phase")
	case s.flow != nil:
		s.wrong(block.at, "put all into one", "there is a flow fence already, at line %d", s.flow.at.line)
	default:
		s.flow = &block
	}
	for i := open; i <= s.n; i++ {
		s.skip[i] = true
	}
}

// preamble is the text before the first phase, without the flow fence.
func (s *scanner) preamble(from int) string {
	to := len(s.lines)
	if len(s.sections) > 0 {
		to = s.sections[0].heading.line - 1
	}
	var kept []string
	for i := from; i < to; i++ {
		if !s.skip[i] {
			kept = append(kept, s.lines[i])
		}
	}
	return strings.TrimSpace(strings.Join(kept, "\n"))
}

// First is the line of the first phase fence of a text, and 0 where it has none: such a text looks
// like a flow.
func First(text string) int {
	if !strings.Contains(text, phaseTag) {
		return 0 // most prompts
	}
	r := &reader{lines: markdown.Lines(text)}
	s := &scanner{reader: r}
	from, _ := markdown.FrontMatter(r.lines)
	s.scan(from)
	if len(s.sections) == 0 {
		return 0
	}
	return s.sections[0].fence.at.line
}

// body is what stands below a phase's fence.
func (r *reader) body(s section) string {
	return strings.TrimSpace(strings.Join(r.lines[s.from:max(s.from, s.to)], "\n"))
}
