package export_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"agent/host/export"
	"agent/host/markdown"
	"agent/host/stream"
	"agent/scripts/testkit/seed"
)

// hostile are texts that mean something in Markdown, in HTML or at a terminal.
func hostile() []string {
	return []string{
		"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "</pre></details></section><h1>Run r-9</h1>", "' onclick='x", "<!--", "]]>", "<details>", "{{.ID}}",
		"```\n## Turn 9\n```", "````\n</details>\n\n# Title\n````", "~~~\nopen", "```", "`", "``` ` ```", "# Title", "Title\n===", "Title\n---", "- item", "1. item", "2) item", "> quote", "| a | b |\n|---|---|",
		"    indented", "\tindented", "[a]: javascript:x", "[a](javascript:alert(1))", "![a](https://example.com/a.png)", "<https://example.com>", "https://example.com/a_b", "www.example.com",
		"**bold**", "** not **", "*a*", "_a_", "a_b_c", "~~gone~~", "&lt;b&gt;", "&#60;b>", "a\\", "\\# a", "$a$", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "a\r\nb\rc", "\u202egnp.exe", "a\x00b", "\xff\xfe", "a\u2028b", "-", "=", "+", "~", ">", "#",
	}
}

func say(t *rapid.T) string {
	part := rapid.OneOf(rapid.SampledFrom(hostile()), rapid.StringMatching("[a-z <>`#*_~|\\\\\n\t\\[\\]()!&;:./'\"=+0-9-]{0,12}"), rapid.SampledFrom([]string{"\n", "\n\n", "`", "> ", " "}))
	return "x" + strings.Join(rapid.SliceOfN(part, 1, 6).Draw(t, "say"), "") + "x"
}

// tame is a text of the same length that means nothing.
func tame(text string) string {
	var b strings.Builder
	for _, r := range stream.Visible(text) {
		if r == '\n' {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Repeat("x", len(string(r))))
		}
	}
	return b.String()
}

// Whatever texts say, the page has the elements and attributes that its template has, no text is in
// an attribute that a browser acts on, and no control sequence is left.
func TestHTMLIsOurs(t *testing.T) {
	allowed := map[string][]string{
		"html": {"lang"}, "head": nil, "meta": {"charset", "http-equiv", "content", "name"}, "title": nil, "style": nil, "body": nil, "main": nil, "section": {"class", "id"}, "header": nil,
		"h1": nil, "h2": nil, "h3": nil, "span": {"class", "data-status"}, "dl": nil, "div": {"class"}, "dt": nil, "dd": nil, "p": {"class"}, "strong": nil, "b": nil, "code": nil, "pre": {"class"}, "br": nil, "ul": {"class"}, "li": nil,
		"details": nil, "summary": nil, "a": {"href"}, "table": nil, "thead": nil, "tbody": nil, "tr": nil, "th": nil, "td": nil,
	}
	check := func(t rapid.TB, text string) {
		page := export.HTML(everywhere(text), options())
		noControl(t, page)
		doc, err := html.Parse(bytes.NewReader(page))
		if err != nil {
			t.Fatal(err)
		}
		once := map[string]int{}
		for n := range doc.Descendants() {
			if n.Type == html.CommentNode {
				t.Fatalf("a comment: %q", n.Data)
			}
			if n.Type != html.ElementNode {
				continue
			}
			once[n.Data]++
			attrs, known := allowed[n.Data]
			if !known {
				t.Fatalf("an element %q of %q", n.Data, text)
			}
			for _, a := range n.Attr {
				if !slices.Contains(attrs, a.Key) || a.Key == "href" && a.Val != "#r-2" || a.Key == "class" && strings.Contains(a.Val, "x") {
					t.Fatalf("%s has %s=%q of %q", n.Data, a.Key, a.Val, text)
				}
			}
		}
		if once["style"] != 1 || once["meta"] != 5 || once["section"] != 2 || once["h1"] != 1 || once["table"] != 1 {
			t.Fatalf("elements of %q: %v", text, once)
		}
	}
	for _, text := range hostile() {
		check(t, text)
	}
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) { check(t, say(t)) })
}

// Whatever texts say, the Markdown has the headings, lists, fences and folds that it has with texts
// that mean nothing, and inside a quotation nothing is HTML.
func TestMarkdownIsOurs(t *testing.T) {
	check := func(t rapid.TB, text string) {
		out := export.Markdown(everywhere(text), options())
		noControl(t, out)
		got, want := skeleton(t, string(out)), skeleton(t, string(export.Markdown(everywhere(tame(text)), options())))
		if !slices.Equal(got, want) {
			t.Fatalf("%q gives\n%v\ninstead of\n%v\n%s", text, got, want, out)
		}
	}
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) { check(t, say(t)) })
}

// skeleton is the blocks that a reader sees, without quotations, which it looks into.
func skeleton(t rapid.TB, text string) (list []string) {
	var fence, quoted *markdown.Fence
	for line := range strings.SplitSeq(text, "\n") {
		if fence != nil {
			if fence.ClosedBy(line, 0) {
				fence = nil
			}
			continue
		}
		if inner, ok := strings.CutPrefix(line, ">"); ok {
			quoted = quote(t, quoted, strings.TrimPrefix(inner, " "))
			continue
		}
		if quoted != nil {
			t.Fatalf("a fence is open at the end of a quotation, before %q", line)
		}
		col, rest := markdown.Indent(line, 0)
		f, opens := markdown.OpenFence(rest)
		marks := len(line) - len(strings.TrimLeft(line, "#"))
		switch {
		case line == "":
		case col > 0:
			t.Fatalf("a line is set in: %q", line)
		case opens:
			fence = &f
			list = append(list, "fence "+f.Info)
		case marks > 0:
			list = append(list, fmt.Sprint("heading ", marks))
		case strings.HasPrefix(line, "<"):
			list = append(list, line[:min(10, len(line))])
		case strings.ContainsAny(line[:1], "-|"):
			list = append(list, line[:1])
			plainLine(t, line)
		default:
			list = append(list, "line")
			plainLine(t, line)
		}
	}
	return list
}

func quote(t rapid.TB, fence *markdown.Fence, line string) *markdown.Fence {
	if fence != nil {
		if fence.ClosedBy(line, 0) {
			return nil
		}
		return fence
	}
	if f, ok := markdown.OpenFence(line); ok {
		return &f
	}
	if strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, ">") {
		t.Fatalf("a block in a quotation: %q", line)
	}
	plainLine(t, line)
	return nil
}

// plainLine refuses what is HTML, a link or a picture outside of code.
func plainLine(t rapid.TB, line string) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '`':
			n := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
			marks := line[i : i+n]
			_, rest, ok := strings.Cut(line[i+n:], marks)
			for strings.HasPrefix(rest, "`") { // a longer row
				_, rest, ok = strings.Cut(strings.TrimLeft(rest, "`"), marks)
			}
			if !ok {
				t.Fatalf("code that does not end in %q", line)
			}
			i = len(line) - len(rest) - 1
		case '<', '[':
			t.Fatalf("%c in %q", line[i], line)
		}
	}
}

func noControl(t rapid.TB, out []byte) {
	for _, r := range string(out) {
		if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0x2028 {
			t.Fatalf("a control character %x is left", r)
		}
	}
}
