package fetch

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// end closes the innermost element of a name and all that is open inside it. Nothing inside a cell
// closes what is around its table.
func (p *renderer) end(name string) {
	if name == "br" {
		p.line() // browsers read it so
		return
	}
	for i := len(p.open) - 1; i >= 0; i-- {
		if p.open[i].name == name {
			for len(p.open) > i {
				p.pop()
			}
			return
		}
		if isCell(p.open[i].name) && !isTable(name) {
			return
		}
	}
}

// close ends what a start tag ends without saying so (HTML, 13.1.2.4).
func (p *renderer) close(name string) {
	switch name {
	case "li":
		p.upTo(name, "ul", "ol", "menu")
	case "dt", "dd":
		p.upTo("dt", "dl")
		p.upTo("dd", "dl")
	case "tr", "tbody", "thead", "tfoot":
		p.upTo("td", "table")
		p.upTo("th", "table")
		p.upTo("tr", "table")
	case "td", "th":
		p.upTo("td", "tr", "table")
		p.upTo("th", "tr", "table")
	case "option", "optgroup":
		p.upTo("option", "select")
	case "body":
		p.upTo("head", "body")
	case "a":
		p.upTo("a", "td", "th", "table")
	}
	if isBlock(name) || name == "hr" {
		p.upTo("p", "td", "th", "table", "li", "div", "button")
	}
}

// upTo closes the innermost element of a name, if it is open inside the innermost of the others.
func (p *renderer) upTo(name string, within ...string) {
	for i := len(p.open) - 1; i >= 0; i-- {
		if p.open[i].name == name {
			for len(p.open) > i {
				p.pop()
			}
			return
		}
		for _, w := range within {
			if p.open[i].name == w {
				return
			}
		}
	}
}

// pop ends the innermost open element.
func (p *renderer) pop() {
	e := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	if e.hides {
		p.hid--
		return
	}
	if p.hid > 0 {
		return
	}
	switch e.name {
	case "ul", "ol", "menu":
		p.depth--
		p.mark = ""
		p.breaks(p.depth == 0)
	case "li", "dd":
		p.mark = ""
		p.breaks(false)
	case "tr":
		p.breaks(false)
	case "pre", "textarea", "listing", "xmp":
		p.pre--
		p.breaks(false)
		p.write("```")
		p.block()
	case "a":
		p.address(e)
	case "h1", "h2", "h3", "h4", "h5", "h6", "blockquote":
		p.mark = ""
		p.block()
	default:
		if isBlock(e.name) {
			p.breaks(isApart(e.name))
		}
	}
}

// address shows where a link leads, unless it is what the link says.
func (p *renderer) address(e element) {
	if e.href == "" || e.begin < 0 || p.out.Len() == e.begin {
		return
	}
	if strings.TrimSpace(string(p.out.Bytes()[e.begin:])) == e.href {
		return
	}
	p.put(" <" + e.href + ">")
}

// text takes what stands between tags.
func (p *renderer) text(b []byte) {
	if n := len(p.open); n > 0 && p.open[n-1].name == "title" {
		if p.hid == 0 && len(p.title) < maxLink {
			p.title += string(b[:min(len(b), maxLink)])
		}
		return
	}
	if p.hid > 0 || len(b) == 0 {
		return
	}
	if p.pre > 0 {
		p.kept(b)
		return
	}
	first, _ := utf8.DecodeRune(b)
	p.space = p.space || isSpace(first)
	for len(b) > 0 {
		b = bytes.TrimLeftFunc(b, isSpace)
		end := bytes.IndexFunc(b, isSpace)
		if end < 0 {
			end = len(b)
		}
		if end > 0 {
			p.write(string(b[:end]))
			p.space = end < len(b)
		}
		b = b[end:]
	}
}

// isSpace is the white space that runs together. A no-break space is none of it in HTML; in text
// nobody sees the difference.
func isSpace(r rune) bool { return unicode.IsSpace(r) }

// kept writes preformatted text, line by line.
func (p *renderer) kept(b []byte) {
	for more := true; more; {
		var l []byte
		if l, b, more = bytes.Cut(b, []byte("\n")); len(l) > 0 {
			p.write(string(l))
		}
		if more {
			p.flush()
			p.out.WriteByte('\n')
			p.indent()
		}
	}
}

// write puts text that is not empty after what is due before it.
func (p *renderer) write(s string) {
	if p.gap > 0 || p.out.Len() == 0 {
		p.flush()
		s = strings.TrimLeft(s, " ")
		if p.mark != "" {
			p.out.WriteString(p.mark)
			p.mark = ""
		}
	} else if p.space && p.pre == 0 && !strings.HasPrefix(s, " ") && !bytes.HasSuffix(p.out.Bytes(), []byte(" ")) {
		p.out.WriteByte(' ')
	}
	p.space = false
	p.put(s)
}

func (p *renderer) put(s string) { p.out.WriteString(s) }

// flush writes the line breaks that are due.
func (p *renderer) flush() {
	if p.gap > 0 && p.out.Len() > 0 {
		p.out.WriteString(strings.Repeat("\n", p.gap))
	}
	if p.gap > 0 || p.out.Len() == 0 {
		p.indent()
	}
	p.gap, p.space = 0, false
}

// indent begins a line as deep as its list is.
func (p *renderer) indent() {
	if p.depth > 1 {
		p.out.WriteString(strings.Repeat("  ", min(p.depth, maxDepth)-1))
	}
}

// line is a line break inside a paragraph; a row stays one line.
func (p *renderer) line() {
	if p.inCell() {
		p.space = true
		return
	}
	if p.hid == 0 {
		p.gap = min(max(p.gap, 1), 2)
	}
}

// block parts paragraphs.
func (p *renderer) block() { p.breaks(true) }

// breaks asks for a new line, or for an empty one between.
func (p *renderer) breaks(apart bool) {
	switch {
	case p.inCell():
		p.space = true
	case apart && p.mark == "" && p.depth == 0:
		p.gap = 2
	case p.mark == "":
		p.gap = max(p.gap, 1)
	}
}

// inCell says whether what is written stands in a cell of the innermost table.
func (p *renderer) inCell() bool {
	for i := len(p.open) - 1; i >= 0; i-- {
		switch {
		case isCell(p.open[i].name):
			return true
		case p.open[i].name == "table":
			return false
		}
	}
	return false
}

func isCell(name string) bool { return name == "td" || name == "th" || name == "caption" }

func isTable(name string) bool {
	switch name {
	case "table", "tr", "tbody", "thead", "tfoot", "td", "th", "caption":
		return true
	}
	return false
}

// isVoid are the elements without an end (HTML, 13.1.2).
func isVoid(name string) bool {
	switch name {
	case "area", "base", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr":
		return true
	}
	return false
}

// isHidden are the elements that show nothing, or nothing that is text.
func isHidden(name string) bool {
	switch name {
	case "script", "style", "template", "svg", "iframe", "noembed", "noframes", "object", "canvas", "audio", "video", "datalist":
		return true
	}
	return false
}

// isBlock are the elements that begin a line.
func isBlock(name string) bool {
	switch name {
	case "address", "article", "aside", "center", "details", "dialog", "dir", "div", "dl", "dt", "dd", "fieldset", "figcaption",
		"figure", "footer", "form", "header", "hgroup", "legend", "main", "nav", "section", "summary", "table", "tbody", "thead",
		"tfoot", "tr", "caption", "p", "ul", "ol", "menu", "li", "blockquote", "pre", "option", "optgroup", "select", "body", "html",
		"h1", "h2", "h3", "h4", "h5", "h6", "textarea", "listing", "xmp", "search":
		return true
	}
	return false
}

// isApart are those of them with an empty line around.
func isApart(name string) bool {
	switch name {
	case "p", "table", "dl", "figure", "article", "section", "header", "footer", "main", "nav", "aside", "fieldset", "details", "form":
		return true
	}
	return false
}
