package fetch

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
)

// Bounds of a page's text.
const (
	maxPage  = MaxBytes // bytes of text: links are longer than what they are made from
	maxToken = 4 << 20  // bytes of one tag or comment
	maxOpen  = 512      // elements inside one another
	maxLink  = 2000     // bytes of an address that is shown
	maxDepth = 8        // lists inside one another that are indented
)

// Render makes readable text of a page: title, headings, paragraphs, lists, tables, preformatted
// text, links with their addresses. What the page hides is left out, and nothing is loaded. whole
// is false where a bound ended it.
func Render(text, address string) (page string, whole bool) {
	p := &renderer{}
	p.base, _ = url.Parse(address) // without a base, links stay as they are
	z := html.NewTokenizer(strings.NewReader(text))
	z.SetMaxBuf(maxToken)
	for p.out.Len() <= maxPage {
		switch z.Next() {
		case html.ErrorToken:
			for len(p.open) > 0 {
				p.pop()
			}
			return p.page(), errors.Is(z.Err(), io.EOF)
		case html.TextToken:
			p.text(z.Text())
		case html.StartTagToken, html.SelfClosingTagToken:
			p.start(z)
		case html.EndTagToken:
			name, _ := z.TagName()
			p.end(string(name))
		}
	}
	return p.page(), false
}

// renderer is a page on its way to text.
type renderer struct {
	base  *url.URL
	title string
	out   bytes.Buffer
	open  []element
	hid   int    // open elements that are hidden
	pre   int    // open elements that keep white space
	gap   int    // line breaks that are due before the next text
	space bool   // a space is due
	based bool   // the page named its base
	depth int    // lists that are open
	mark  string // what the next text of a block begins with
}

// element is an open element.
type element struct {
	name  string
	hides bool
	href  string
	begin int // where its text begins
	count int // of a list: its items so far; of a row: its cells
}

// page is the text, with the title before it.
func (p *renderer) page() string {
	body := strings.Trim(p.out.String(), "\n")
	if title := strings.Join(strings.Fields(p.title), " "); title != "" {
		return strings.TrimRight("Title: "+title+"\n\n"+body, "\n") + "\n"
	}
	if body == "" {
		return ""
	}
	return body + "\n"
}

// attributes are those that matter here.
type attributes struct {
	hidden               bool
	href, alt, kind, val string
	start                string
}

func (p *renderer) start(z *html.Tokenizer) {
	raw, more := z.TagName()
	name := string(raw)
	var a attributes
	for more {
		var key, val []byte
		key, val, more = z.TagAttr()
		a.take(string(key), val)
	}
	if name == "noscript" {
		z.NextIsNotRawText() // no script runs here, so this is what is meant for us
	}
	p.close(name)
	if p.hid == 0 {
		p.single(name, a)
	}
	e := element{name: name, begin: -1, hides: a.hidden || isHidden(name)}
	if isVoid(name) || len(p.open) >= maxOpen && (!e.hides || p.hid > 0) {
		return
	}
	if p.hid == 0 && !e.hides {
		p.opens(&e, a)
	}
	if e.hides {
		p.hid++
	}
	p.open = append(p.open, e)
}

func (a *attributes) take(key string, val []byte) {
	switch key {
	case "hidden":
		a.hidden = true
	case "style":
		style := strings.ToLower(strings.ReplaceAll(string(val), " ", ""))
		a.hidden = a.hidden || strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden")
	case "href":
		a.href = string(val)
	case "alt":
		a.alt = string(val)
	case "type":
		a.kind = strings.ToLower(string(val))
	case "value":
		a.val = string(val)
	case "start":
		a.start = string(val)
	}
}

// single shows elements that hold nothing.
func (p *renderer) single(name string, a attributes) {
	switch name {
	case "br":
		p.line()
	case "hr":
		p.block()
		p.write("---")
		p.block()
	case "img":
		if alt := strings.Join(strings.Fields(a.alt), " "); alt != "" {
			p.write("[image: " + alt + "]")
		}
	case "input":
		if a.val != "" && (a.kind == "submit" || a.kind == "button") {
			p.write("[" + strings.Join(strings.Fields(a.val), " ") + "]")
		}
	case "base":
		if ref, err := url.Parse(a.href); err == nil && !p.based && a.href != "" && p.base != nil {
			p.base, p.based = p.base.ResolveReference(ref), true
		}
	}
}

// opens begins an element that is shown.
func (p *renderer) opens(e *element, a attributes) {
	switch e.name {
	case "h1", "h2", "h3", "h4", "h5", "h6":
		p.block()
		p.mark += strings.Repeat("#", int(e.name[1]-'0')) + " "
	case "blockquote":
		p.block()
		p.mark += "> "
	case "ul", "ol", "menu":
		p.breaks(p.depth == 0)
		if n, err := strconv.Atoi(a.start); err == nil && n > 0 && n < 1<<30 && e.name == "ol" {
			e.count = n - 1
		}
		p.depth++
	case "li":
		p.breaks(false)
		p.mark = p.bullet()
	case "dd":
		p.breaks(false)
		p.mark = "  "
	case "tr":
		p.breaks(false)
	case "td", "th":
		p.cell()
	case "pre", "textarea", "listing", "xmp":
		p.block()
		p.write("```")
		p.breaks(false)
		p.pre++
	case "a":
		e.href, e.begin = p.resolve(a.href), p.out.Len()
	case "title":
		e.begin = p.out.Len()
	default:
		if isBlock(e.name) {
			p.breaks(isApart(e.name))
		}
	}
}

// bullet is the mark of the next item of the innermost list.
func (p *renderer) bullet() string {
	for i := len(p.open) - 1; i >= 0; i-- {
		switch e := &p.open[i]; e.name {
		case "ol":
			e.count++
			return strconv.Itoa(e.count) + ". "
		case "ul", "menu":
			return "- "
		}
	}
	return "- "
}

// cell parts a cell from the one before it in its row.
func (p *renderer) cell() {
	for i := len(p.open) - 1; i >= 0; i-- {
		switch e := &p.open[i]; e.name {
		case "tr":
			if e.count++; e.count > 1 {
				p.write(" | ")
			}
			return
		case "table":
			return
		}
	}
}

// resolve makes a link's address whole; "" for what leads nowhere else.
func (p *renderer) resolve(href string) string {
	href = strings.Join(strings.Fields(href), "")
	if href == "" || href[0] == '#' || len(href) > maxLink {
		return ""
	}
	u, err := url.Parse(href)
	if err != nil {
		return ""
	}
	if p.base != nil {
		u = p.base.ResolveReference(u)
	}
	switch u.Scheme {
	case "http", "https", "mailto", "ftp":
		if s := u.String(); len(s) <= maxLink {
			return s
		}
	}
	return ""
}
