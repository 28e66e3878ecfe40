package export

import (
	_ "embed" // the style
	"fmt"
	"html"
	"strings"

	"agent/host/view"
)

//go:embed page.css
var pageStyle string

// pageHead is what each page begins with, up to its title. The policy keeps a browser from loading
// or running anything, whatever a text says.
const pageHead = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
`

// HTML is a transcript as one page, without script, that loads nothing.
func HTML(v view.Export, o Options) []byte {
	d := build(v, o)
	var p page
	p.raw(pageHead)
	p.element("title", "", d.Title)
	p.raw("\n<style>" + pageStyle + "</style>\n</head>\n<body>\n<main>")
	if d.Level > 1 {
		p.raw("\n")
		p.element("h1", "", d.Title)
	}
	for _, s := range d.Runs {
		p.section(s)
	}
	p.raw("\n</main>\n</body>\n</html>\n")
	return []byte(p.out.String())
}

// page is a page while it is written. What others wrote gets in by text and element alone, and ids
// by link and section; all of these escape.
type page struct{ out strings.Builder }

func (p *page) raw(markup string) { p.out.WriteString(markup) }

func (p *page) text(s string) { p.raw(html.EscapeString(s)) }

// element is an element that holds a text; "" is no class.
func (p *page) element(tag, class, text string) {
	p.open(tag, class)
	p.text(text)
	p.raw("</" + tag + ">")
}

func (p *page) open(tag, class string) {
	p.raw("<" + tag)
	if class != "" {
		p.raw(` class="` + class + `"`)
	}
	p.raw(">")
}

// link leads to another run of the page.
func (p *page) link(run, text string) {
	p.raw(`<a href="#` + html.EscapeString(run) + `">`)
	p.text(text)
	p.raw("</a>")
}

func (p *page) section(s section) {
	p.raw(fmt.Sprintf("\n<section class=\"run l%d\" id=\"%s\">\n<header>\n", s.Level, html.EscapeString(s.ID)))
	p.element(fmt.Sprintf("h%d", min(s.Level, 3)), "", s.Title)
	status := html.EscapeString(s.Status)
	p.raw("\n<span class=\"pill\" data-status=\"" + status + "\">" + status + "</span>\n<dl>")
	for _, pair := range s.Pairs {
		p.raw("<div>")
		p.element("dt", "", pair.Name)
		p.element("dd", "", pair.Value)
		p.raw("</div>")
	}
	p.raw("</dl>\n</header>\n")
	for _, why := range s.Unread {
		p.raw(`<p class="unread"><strong>Not all of this run could be read:</strong> `)
		p.text(why)
		p.raw("</p>\n")
	}
	for _, i := range s.Items {
		p.item(i)
	}
	p.phases(s.Phases)
	p.files(s.Files, s.Notes)
	for _, below := range s.Below {
		p.section(below)
	}
	p.raw("\n</section>\n")
}

func (p *page) phases(list []phase) {
	if len(list) == 0 {
		return
	}
	p.raw("\n<div class=\"part\"><p class=\"title\">Phases</p>\n<div class=\"wide\"><table><thead><tr>")
	for _, name := range []string{"phase", "status", "run", "time", "made"} {
		p.element("th", "", name)
	}
	p.raw("</tr></thead><tbody>\n")
	for _, f := range list {
		p.raw("<tr>")
		p.element("th", "", f.Name)
		p.raw("<td>")
		p.text(f.Status)
		if f.Reason != "" {
			p.raw("<br>")
			p.element("span", "quiet", f.Reason)
		}
		p.raw("</td><td>")
		if f.Run != "" {
			p.link(f.Run, f.Run)
		}
		p.raw("</td>")
		p.element("td", "", f.Took)
		p.element("td", "", f.Made)
		p.raw("</tr>\n")
	}
	p.raw("</tbody></table></div></div>")
}

func (p *page) files(list []file, notes []string) {
	if len(list)+len(notes) == 0 {
		return
	}
	p.raw("\n<div class=\"part\"><p class=\"title\">Files changed</p>\n")
	for _, f := range list {
		p.raw(`<div class="file"><p class="line">`)
		p.element("span", "mark", f.Mark)
		p.raw(" ")
		p.element("code", "", f.Path)
		p.raw(" ")
		p.element("span", "quiet", f.Lines)
		p.raw("</p>\n")
		p.list(f.Notes)
		p.body(f.Diff)
		p.raw("</div>\n")
	}
	p.list(notes)
	p.raw("</div>")
}

func (p *page) item(i item) {
	p.raw("\n<div class=\"item " + string(i.Kind) + "\">")
	switch i.Kind {
	case kindPrompt, kindTurn, kindEnd:
		p.open("p", strings.TrimSpace("title "+i.Good))
		p.text(i.Head)
		p.raw(" ")
		tail := i.Tail
		if i.At != "" && tail != "" {
			tail = ", " + tail
		}
		p.element("span", "quiet", i.At+tail)
	default:
		p.line(i)
	}
	p.raw("</p>\n")
	p.list(i.More)
	if i.Run != "" {
		p.raw(`<p class="more">`)
		p.link(i.Run, "run "+i.Run)
		p.raw(" carries it out</p>")
	}
	for _, t := range i.Text {
		p.body(t)
	}
	p.raw("</div>\n")
}

func (p *page) line(i item) {
	p.open("p", "line")
	p.element("span", strings.TrimSpace("mark "+i.Good), i.Mark)
	p.raw(" ")
	if i.Head != "" {
		p.element("b", "", i.Head)
		p.raw(" ")
	}
	if i.Code != "" {
		p.element("code", "", i.Code)
	}
	if i.Kind == kindCall {
		p.raw(":")
	}
	p.raw(" ")
	p.element("span", "tail", i.Tail)
	p.raw(" ")
	p.element("span", "quiet", i.At)
}

func (p *page) list(lines []string) {
	if len(lines) == 0 {
		return
	}
	p.open("ul", "more")
	for _, l := range lines {
		p.element("li", "", l)
	}
	p.raw("</ul>")
}

// body is a longer text.
func (p *page) body(t text) {
	if t.Body == "" {
		return
	}
	switch {
	case t.Fold:
		p.raw("<details>")
		p.element("summary", "", t.Name+sizeText(t))
	case t.Name != "" && t.Name != "question":
		p.element("p", "name", t.Name)
	}
	switch {
	case t.Prose:
		p.prose(t.Body)
	case t.Diff:
		p.diff(t.Body)
	default:
		p.element("pre", "", t.Body)
	}
	if t.Fold {
		p.raw("</details>")
	}
	if t.Note != "" {
		p.element("p", "more", t.Note)
	}
}

func (p *page) prose(body string) {
	p.open("div", "prose")
	for _, part := range pieces(body) {
		if part.Code != "" {
			p.element("pre", "", part.Code)
			continue
		}
		p.raw("<p>")
		for n, line := range part.Lines {
			if n > 0 {
				p.raw("<br>")
			}
			p.spans(line)
		}
		p.raw("</p>")
	}
	p.raw("</div>")
}

func (p *page) spans(line spans) {
	for _, s := range line {
		switch s.Style {
		case bold:
			p.element("strong", "", s.Text)
		case code:
			p.element("code", "", s.Text)
		default:
			p.text(s.Text)
		}
	}
}

func (p *page) diff(body string) {
	p.open("pre", "diff")
	inside := false
	for l := range strings.SplitSeq(body, "\n") {
		class := ""
		switch {
		case strings.HasPrefix(l, "@@"):
			inside, class = true, "hunk"
		case strings.HasPrefix(l, "diff "):
			inside, class = false, "head"
		case !inside:
			class = "head"
		case strings.HasPrefix(l, "+"):
			class = "plus"
		case strings.HasPrefix(l, "-"):
			class = "minus"
		}
		p.element("span", class, l+"\n")
	}
	p.raw("</pre>")
}
