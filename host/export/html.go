package export

import (
	"bytes"
	_ "embed" // the page
	"fmt"
	"html/template"
	"strings"

	"agent/host/view"
)

var (
	//go:embed page.html
	pageText string
	//go:embed page.css
	pageStyle string
)

// HTML is a transcript as one page, without script, that loads nothing.
func HTML(v view.Export, o Options) ([]byte, error) {
	t, err := template.New("page").Funcs(template.FuncMap{
		"style":   func() template.CSS { return template.CSS(pageStyle) }, // our own
		"pieces":  pieces,
		"size":    sizeText,
		"diff":    diffLines,
		"heading": func(level int) int { return min(level+1, 6) },
	}).Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("read the page's template: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, build(v, o)); err != nil {
		return nil, fmt.Errorf("write the page: %w", err)
	}
	return out.Bytes(), nil
}

// diffLine is a line of a diff with what it is.
type diffLine struct{ Class, Text string }

func diffLines(body string) (list []diffLine) {
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
		list = append(list, diffLine{class, l})
	}
	return list
}
