// Package markdown reads the parts of a Markdown file that describe the file itself.
package markdown

import "strings"

// Field is a line "name: value" of front matter.
type Field struct {
	Line  int // in the file, from 1
	Name  string
	Value string // without the quotes around it
}

// Lines cuts a text at its line ends, LF or CRLF. A byte order mark at its beginning and a line end
// at its end are left out.
func Lines(text string) []string {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// FrontMatter reads the block between a first line of three dashes and the next such line, or one
// of three dots. It returns the number of its lines, the two rules included, and the fields that
// are not indented; 0 where there is no front matter. A first line of dashes with a blank line or a
// fence below it is a rule across the page, so that no step hides between two of them.
func FrontMatter(lines []string) (int, []Field) {
	if !rule(lines[0]) {
		return 0, nil
	}
	var fields []Field
	for i, line := range lines[1:] {
		switch trimmed := strings.TrimRight(line, " \t"); {
		case rule(line) || trimmed == "...":
			return i + 2, fields
		case i == 0 && trimmed == "", strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			return 0, nil
		default:
			if f, ok := field(trimmed); ok {
				f.Line = i + 2
				fields = append(fields, f)
			}
		}
	}
	return 0, nil
}

// rule reports whether a line is the three dashes with which front matter begins.
func rule(line string) bool { return strings.TrimRight(line, " \t") == "---" }

// field reads a line as "name: value". A comment behind the value is left out, as YAML has it.
func field(line string) (Field, bool) {
	name, value, ok := strings.Cut(line, ":")
	if !ok || name == "" || strings.ContainsAny(name, " \t#\"'") || value != "" && value[0] != ' ' && value[0] != '\t' {
		return Field{}, false
	}
	value = strings.TrimSpace(value)
	if at := strings.Index(value, " #"); at >= 0 {
		value = strings.TrimSpace(value[:at])
	}
	for _, quote := range []string{`"`, "'"} {
		if inner, opens := strings.CutPrefix(value, quote); opens && strings.HasSuffix(inner, quote) {
			value = strings.TrimSuffix(inner, quote)
		}
	}
	return Field{Name: name, Value: value}, true
}
