package githook

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"agent/tools/gitrepo/gitconfig"
	"agent/tools/gitrepo/hooklines"
)

// strip empties a message that would be no message without our trailer, so that git refuses it as
// it would have done: one of nothing else, or a template as it was. Of one that nobody edited
// prepare sees to that.
func (m message) strip(ctx context.Context) error {
	text, err := gitconfig.ReadFile(m.file, maxMessage)
	if err != nil {
		return fmt.Errorf("read the message: %w", err)
	}
	said := string(text)
	if !strings.Contains(said, hooklines.Trailer) {
		return nil
	}
	is := settings{counts: true}
	if m.edited() {
		is = m.settings(ctx)
	}
	rest, found := without(is.tidy(said))
	if !found {
		return nil
	}
	if rest == "" || is.template != "" && rest == is.tidy(m.template(is.template)) {
		return m.write(nil)
	}
	return nil
}

// without is a tidy message less its lines of our trailer.
func without(said string) (rest string, found bool) {
	var b strings.Builder
	for line := range strings.Lines(said) {
		if hooklines.IsLine(strings.TrimSuffix(line, "\n")) {
			found = true
			continue
		}
		b.WriteString(line)
	}
	return settings{counts: true}.tidy(b.String()), found
}

// scissors is the line below which git cuts a message off, behind the comment character.
const scissors = " ------------------------ >8 ------------------------"

// tidy is git's clean-up of a message: no comments, no white space at the end of lines, no more
// than one empty line, and nothing behind the scissors. It is only compared with.
func (is settings) tidy(said string) string {
	var lines []string
	for line := range strings.Lines(said) {
		comment := is.comment != "" && strings.HasPrefix(line, is.comment)
		if comment && strings.HasPrefix(line, is.comment+scissors) {
			break
		}
		if comment && !is.counts {
			continue
		}
		line = strings.TrimRight(line, " \t\n\v\f\r")
		if line == "" && (len(lines) == 0 || lines[len(lines)-1] == "") {
			continue
		}
		lines = append(lines, line)
	}
	if text := strings.TrimRight(strings.Join(lines, "\n"), "\n"); text != "" {
		return text + "\n"
	}
	return ""
}

// settings are those that say what of an edited message counts.
type settings struct {
	comment  string // that begins a comment
	counts   bool   // comments are a part of the message
	template string // file that the message began with
}

// settings asks git.
func (m message) settings(ctx context.Context) settings {
	is := settings{comment: "#"}
	out, err := m.git(ctx, nil, "config", "--null", "--type=path", "--get-regexp", `^(core\.comment(char|string)|commit\.(template|cleanup))$`)
	if err != nil {
		return is // git fails where nothing is set
	}
	for setting := range strings.SplitSeq(string(out), "\x00") {
		switch name, value, _ := strings.Cut(setting, "\n"); name {
		case "core.commentchar", "core.commentstring":
			if value != "auto" && value != "" {
				is.comment = value
			}
		case "commit.template":
			is.template = value
		case "commit.cleanup":
			is.counts = value == "verbatim" || value == "whitespace" || value == "scissors"
		}
	}
	return is
}

// template reads the file that a message began with.
func (m message) template(name string) string {
	if !filepath.IsAbs(name) {
		name = filepath.Join(m.Dir, name)
	}
	text, err := gitconfig.ReadFile(name, maxMessage)
	if err != nil {
		return ""
	}
	return string(text)
}
