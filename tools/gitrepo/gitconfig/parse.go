package gitconfig

import (
	"bytes"
	"errors"
	"slices"
	"strings"
)

// Setting is one line of a configuration.
type Setting struct {
	Section string `json:"section"`       // in lower case
	Sub     string `json:"sub,omitempty"` // subsection
	Name    string `json:"name"`          // in lower case
	Value   string `json:"value"`
	Base    string `json:"base"` // folder of the file that it stands in, absolute
}

// Key is its name as git writes it.
func (s Setting) Key() string {
	if s.Sub == "" {
		return s.Section + "." + s.Name
	}
	return s.Section + "." + s.Sub + "." + s.Name
}

// Is says whether it is the setting of a section without subsections.
func (s Setting) Is(section, name string) bool {
	return s.Section == section && s.Sub == "" && s.Name == name
}

// Includes says whether it names another file whose settings count as well, perhaps on a condition.
func (s Setting) Includes() bool {
	return s.Name == "path" && (s.Section == "include" || s.Section == "includeif")
}

var errConfig = errors.New("it is not written as git writes it")

// reader reads the syntax of git-config, "Syntax".
type reader struct {
	text []byte
	at   int
}

const end = byte(0)

func (r *reader) next() byte {
	if r.at >= len(r.text) {
		return end
	}
	c := r.text[r.at]
	r.at++
	return c
}

func (r *reader) back() {
	if r.at > 0 {
		r.at--
	}
}

// Parse reads a configuration, whose file lies in the folder base. What it cannot read, git refuses
// too: then the settings before it are returned with the error.
func Parse(text []byte, base string) ([]Setting, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, errConfig
	}
	r := &reader{text: append(slices.Clip(text), '\n')}
	var list []Setting
	section, sub := "", ""
	for r.at < len(r.text) {
		switch c := r.next(); {
		case isSpace(c):
		case c == '#' || c == ';':
			r.line()
		case c == '[':
			var err error
			if section, sub, err = r.header(); err != nil {
				return list, err
			}
		case isAlpha(c) && section != "":
			r.back()
			s, err := r.setting()
			if err != nil {
				return list, err
			}
			s.Section, s.Sub, s.Base = section, sub, base
			list = append(list, s)
		default:
			return list, errConfig
		}
	}
	return list, nil
}

func (r *reader) line() {
	for c := r.next(); c != '\n' && c != end; c = r.next() {
	}
}

// header reads [section], [section "subsection"] or the older [section.subsection].
func (r *reader) header() (section, sub string, err error) {
	var name strings.Builder
	for {
		c := r.next()
		switch {
		case c == ']':
			section, sub, _ = strings.Cut(strings.ToLower(name.String()), ".")
			return section, sub, nil
		case c == ' ' || c == '\t':
			sub, err = r.subsection()
			return strings.ToLower(name.String()), sub, err
		case isAlpha(c) || c >= '0' && c <= '9' || c == '-' || c == '.':
			name.WriteByte(c)
		default:
			return "", "", errConfig
		}
	}
}

func (r *reader) subsection() (string, error) {
	c := r.next()
	for c == ' ' || c == '\t' {
		c = r.next()
	}
	var sub strings.Builder
	if c != '"' {
		return "", errConfig
	}
	for {
		switch c = r.next(); c {
		case '"':
			if r.next() != ']' {
				return "", errConfig
			}
			return sub.String(), nil
		case '\\':
			c = r.next()
			if c == '\n' || c == end {
				return "", errConfig
			}
			sub.WriteByte(c)
		case '\n', end:
			return "", errConfig
		default:
			sub.WriteByte(c)
		}
	}
}

// setting reads a name and what follows it.
func (r *reader) setting() (Setting, error) {
	var name strings.Builder
	c := r.next()
	for isAlpha(c) || c >= '0' && c <= '9' || c == '-' {
		name.WriteByte(c)
		c = r.next()
	}
	for c == ' ' || c == '\t' {
		c = r.next()
	}
	s := Setting{Name: strings.ToLower(name.String()), Value: "true"}
	switch c {
	case '\n', end:
		return s, nil
	case '=':
		var err error
		s.Value, err = r.value()
		return s, err
	}
	return s, errConfig
}

// value reads up to the end of the line: quotes, escapes, comments and lines that go on.
func (r *reader) value() (string, error) {
	var out strings.Builder
	quoted, kept := false, 0 // kept: length without the white space at the end
	for {
		c := r.next()
		switch {
		case c == '\n' || c == end:
			if quoted {
				return "", errConfig
			}
			return out.String()[:kept], nil
		case !quoted && (c == '#' || c == ';'):
			r.line()
			return out.String()[:kept], nil
		case !quoted && isSpace(c):
			if out.Len() > 0 {
				out.WriteByte(c)
			}
			continue
		case c == '"':
			quoted = !quoted
		case c == '\\':
			if err := r.escape(&out); err != nil {
				return "", err
			}
		default:
			out.WriteByte(c)
		}
		kept = out.Len()
	}
}

func (r *reader) escape(out *strings.Builder) error {
	switch c := r.next(); c {
	case '\n': // the line goes on
	case 't':
		out.WriteByte('\t')
	case 'b':
		out.WriteByte('\b')
	case 'n':
		out.WriteByte('\n')
	case '\\', '"':
		out.WriteByte(c)
	default:
		return errConfig
	}
	return nil
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f'
}

func isAlpha(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
