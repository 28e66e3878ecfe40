package runbook

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"agent/host/markdown"
)

// parser reads Markdown line by line. It knows the blocks that decide what is a step, and takes all
// else for prose.
type parser struct {
	lines   []string
	n       int // index of the line being read
	steps   []step
	errs    []error
	path    []heading // never changed in place: the steps share it
	offsets []int     // columns at which the contents of the open list items begin
	para    string    // the paragraph so far: an underline makes it a heading
	file    *step     // the write_file or apply_patch item that waits for its block
	others  []string  // fences that are not carried out, for the refusal
	misread bool      // an item was refused: it may have been meant as prose
	doubts  []string  // items that are prose and look like a call
}

// errorLimit bounds how many mistakes one refusal names.
const errorLimit = 10

// paraLimit is how much of a paragraph is kept in case that it is a heading, in bytes.
const paraLimit = 1000

// parse reads the steps of a runbook. The error names every mistake by its line. others names the
// fences that are prose.
func parse(text string) (steps []step, others []string, err error) {
	p := newParser(text)
	if err := p.read(); err != nil {
		return nil, nil, err
	}
	err = named(p.errs)
	if p.misread {
		err = errors.Join(err, errors.New("hint: a list item that is meant as prose begins with another word than a tool's name"))
	}
	return p.steps, p.others, err
}

func newParser(text string) *parser {
	return &parser{lines: markdown.Lines(text)}
}

// read takes the lines in. The error says that they are no text; what is wrong with a step is in
// errs.
func (p *parser) read() error {
	if err := p.legible(); err != nil {
		return err
	}
	p.steps = make([]step, 0, roomFor(p.lines))
	for p.n, _ = markdown.FrontMatter(p.lines); p.n < len(p.lines); p.n++ {
		p.line(p.lines[p.n])
	}
	p.unmet()
	return nil
}

// roomFor is about how many steps there are: there may be very many, and most are a block between
// two fences.
func roomFor(lines []string) int {
	fences := 0
	for _, l := range lines {
		if strings.HasPrefix(l, "```") {
			fences++
		}
	}
	return fences * 5 / 8
}

// named joins mistakes, the first ten by name. It is nil where there are none.
func named(mistakes []error) error {
	if more := len(mistakes) - errorLimit; more > 0 {
		mistakes = append(mistakes[:errorLimit:errorLimit], fmt.Errorf("and %d more", more))
	}
	return errors.Join(mistakes...)
}

// legible refuses text that cannot become arguments without being changed.
func (p *parser) legible() error {
	for i, line := range p.lines {
		if !utf8.ValidString(line) {
			return fmt.Errorf("line %d: not valid UTF-8: a runbook is text", i+1)
		}
		if strings.IndexByte(line, 0) >= 0 {
			return fmt.Errorf("line %d: holds a NUL byte: a runbook is text", i+1)
		}
	}
	return nil
}

// mistake is what is wrong with a line.
type mistake struct {
	line int
	text string
}

func (m *mistake) Error() string { return fmt.Sprintf("line %d: %s", m.line, m.text) }

func (p *parser) wrong(line int, format string, args ...any) {
	p.errs = append(p.errs, &mistake{line, fmt.Sprintf(format, args...)})
}

// add appends a step that begins at the given line.
func (p *parser) add(s step, line int) {
	s.line, s.path = line, p.path
	p.steps = append(p.steps, s)
}

// unmet refuses an item that got no block.
func (p *parser) unmet() {
	if p.file != nil {
		what := "what the file will hold"
		if p.file.tool == toolPatch {
			what = "the patch"
		}
		p.wrong(p.file.line, "%s: no fenced block follows the item: it is %s", p.file.tool, what)
		p.file = nil
	}
}

// The blocks of one line. They are compiled when they are first needed: every start of the binary
// would pay for them, and most parse no runbook.
var (
	headingLine = lazily(`^(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	ruleLine    = lazily(`^(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$`)
	underline   = lazily(`^(=+|-+)[ \t]*$`)
	marker      = lazily(`^(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]|$)`)
)

func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

func (p *parser) line(raw string) {
	col, rest := markdown.Indent(raw, 0)
	if rest == "" {
		p.para = ""
		return
	}
	for len(p.offsets) > 0 && col < p.offsets[len(p.offsets)-1] {
		p.offsets = p.offsets[:len(p.offsets)-1]
		p.para = ""
	}
	p.content(col, rest)
}

// itemLimit is how many list items may begin on one line; what follows is prose.
const itemLimit = 20

// content reads what stands on a line at column col. A list item's text is content again, so it
// loops.
func (p *parser) content(col int, rest string) {
	inItem := false
	for range itemLimit {
		if col-p.base() >= 4 {
			if p.para != "" { // no code: the paragraph goes on
				p.prose(rest)
			}
			p.unmet()
			return
		}
		if f, ok := markdown.OpenFence(rest); ok {
			p.fence(col, f)
			return
		}
		p.unmet()
		if m := underline().FindStringSubmatch(rest); m != nil && p.para != "" && !inItem {
			p.heading(1+strings.Count(m[1][:1], "-"), p.para)
			return
		}
		if m := headingLine().FindStringSubmatch(rest); m != nil {
			p.heading(len(m[1]), p.uncomment(m[2]))
			return
		}
		if ruleLine().MatchString(rest) || rest[0] == '>' {
			p.para = ""
			return
		}
		width := len(strings.TrimRight(marker().FindString(rest), " \t"))
		if width == 0 {
			break
		}
		inItem = true
		if col, rest = p.open(col, width, rest); rest == "" {
			return
		}
	}
	if inItem && p.item(rest) {
		return
	}
	p.prose(rest)
}

// base is the column at which the contents of the innermost open list item begin.
func (p *parser) base() int {
	if len(p.offsets) == 0 {
		return 0
	}
	return p.offsets[len(p.offsets)-1]
}

// open begins a list item and returns its text and the text's column.
func (p *parser) open(col, width int, rest string) (int, string) {
	p.para = ""
	at, content := markdown.Indent(rest[width:], col+width)
	if content == "" || at-(col+width) > 4 {
		p.offsets = append(p.offsets, col+width+1)
		return at, content
	}
	p.offsets = append(p.offsets, at)
	return at, content
}

// item takes a list item's text if it begins with a tool's name.
func (p *parser) item(content string) bool {
	s, ok, err := item(content)
	if !ok {
		p.doubt(content)
		return false
	}
	p.para = ""
	switch line := p.n + 1; {
	case err != nil:
		p.wrong(line, "%v", err)
		p.misread = true
	case s.tool == toolWrite, s.tool == toolPatch:
		s.line = line
		p.file = &s
	default:
		p.add(s, line)
	}
	return true
}

func (p *parser) prose(rest string) {
	p.unmet()
	rest = p.uncomment(rest)
	if len(p.para) < paraLimit {
		p.para = strings.TrimSpace(p.para + " " + rest)
	}
}

func (p *parser) heading(level int, text string) {
	p.para = ""
	var path []heading
	for _, h := range p.path {
		if h.level < level {
			path = append(path, h)
		}
	}
	if text = strings.TrimSpace(text); text != "" {
		path = append(path, heading{level: level, line: p.n + 1, text: text})
	}
	p.path = path
}

// uncomment takes the HTML comments out of a line of prose. One that stays open swallows the lines
// up to its end.
func (p *parser) uncomment(line string) string {
	var b strings.Builder
	for {
		at := comment(line)
		if at < 0 {
			b.WriteString(line)
			return b.String()
		}
		b.WriteString(line[:at])
		_, after, closed := strings.Cut(line[at+2:], "-->") // <!--> is a whole comment
		if !closed {
			p.skipComment()
			return b.String()
		}
		line = after
	}
}

func (p *parser) skipComment() {
	for i := p.n + 1; i < len(p.lines); i++ {
		if strings.Contains(p.lines[i], "-->") {
			p.n = i
			return
		}
	}
	p.wrong(p.n+1, "a comment begins with <!-- and is never closed")
	p.n = len(p.lines)
}

// comment finds where a comment begins, code spans left out.
func comment(line string) int {
	for i := 0; i < len(line); {
		switch {
		case strings.HasPrefix(line[i:], "<!--"):
			return i
		case line[i] == '`':
			run := line[i : i+len(line[i:])-len(strings.TrimLeft(line[i:], "`"))]
			i += len(run)
			if end := strings.Index(line[i:], run); end >= 0 {
				i += end + len(run)
			}
		default:
			i++
		}
	}
	return -1
}
