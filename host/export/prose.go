package export

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"agent/host/markdown"
)

// piece is a part of a text that is read as sentences: a paragraph or a block of code.
type piece struct {
	Code  string // lines of a block of code; else "" and Lines counts
	Lines []spans
}

// spans is a line of a paragraph.
type spans []span

// span is a part of a line that looks like one thing.
type span struct {
	Style style
	Text  string
}

type style int

const (
	plain style = iota
	bold
	code
)

// pieces cuts a text of Markdown into what a transcript shows of it: paragraphs, blocks of code,
// and in lines bold words and code. What else it says stays as it is written.
func pieces(body string) (list []piece) {
	var para []spans
	end := func() {
		if len(para) > 0 {
			list = append(list, piece{Lines: para})
		}
		para = nil
	}
	lines := strings.Split(body, "\n")
	for i := 0; i < len(lines); i++ {
		col, rest := markdown.Indent(lines[i], 0)
		fence, opens := markdown.OpenFence(rest)
		switch {
		case opens:
			end()
			var inside []string
			for i++; i < len(lines) && !fence.ClosedBy(lines[i], col); i++ {
				inside = append(inside, markdown.Outdent(lines[i], col))
			}
			if text := strings.Join(inside, "\n"); strings.TrimSpace(text) != "" {
				list = append(list, piece{Code: text})
			}
		case strings.TrimSpace(rest) == "":
			end()
		default:
			para = append(para, lineSpans(lines[i]))
		}
	}
	end()
	return list
}

// lineSpans cuts a line. A heading is bold.
func lineSpans(text string) (list spans) {
	text = strings.TrimRight(text, " \t")
	if title := strings.TrimLeft(text, "#"); len(text)-len(title) <= 6 && title != text && strings.HasPrefix(title, " ") {
		if title = strings.Trim(title, " #*"); title != "" {
			return spans{{bold, title}}
		}
	}
	from := 0
	add := func(to int, st style, inner string, next int) {
		if to > from {
			list = append(list, span{plain, text[from:to]})
		}
		list = append(list, span{st, inner})
		from = next
	}
	for at := 0; at < len(text); at++ {
		switch {
		case text[at] == '`':
			n := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
			inner, ok := closed(text[at+n:], n)
			if !ok {
				at += n - 1
				continue
			}
			next := at + n + len(inner) + n
			add(at, code, strings.TrimSpace(inner), next)
			at = next - 1
		case strings.HasPrefix(text[at:], "**"):
			inner, _, ok := strings.Cut(text[at+2:], "**")
			if !ok || !wordLike(inner) || at > 0 && !unicode.IsSpace(before(text, at)) && before(text, at) != '(' {
				at++
				continue
			}
			next := at + 2 + len(inner) + 2
			add(at, bold, inner, next)
			at = next - 1
		}
	}
	if from < len(text) {
		list = append(list, span{plain, text[from:]})
	}
	return list
}

// closed is the text up to a row of exactly n backticks.
func closed(text string, n int) (inner string, ok bool) {
	for at := 0; at < len(text); {
		if text[at] != '`' {
			at++
			continue
		}
		row := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		if row == n {
			return text[:at], strings.TrimSpace(text[:at]) != ""
		}
		at += row
	}
	return "", false
}

func before(text string, at int) rune {
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return r
}

// wordLike says whether a text begins and ends as words do, so that marks around it are marks in
// every reader.
func wordLike(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	last, _ := utf8.DecodeLastRuneInString(text)
	word := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	return text != "" && word(first) && word(last) && !strings.Contains(text, "`")
}
