package patch

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

const nowhere = "/dev/null"

// header is what the lines above a file's hunks say.
type header struct {
	line     int    // index of its first line
	git      string // the name that diff --git gives twice, a/ and b/ taken off; "" when it gives none
	from, to string // of a rename
	old, new string // of --- and +++, as they are written
	oldMode  uint32
	newMode  uint32
	made     bool // new file mode
	gone     bool // deleted file mode
	moves    bool
}

// plainFile reads a file whose header is two lines.
func (r *reader) plainFile() error {
	h := header{line: r.n}
	if err := r.names(&h); err != nil {
		return err
	}
	return r.finish(h)
}

// names reads the lines --- and +++.
func (r *reader) names(h *header) error {
	for i, into := range []*string{&h.old, &h.new} {
		name, err := nameOf(r.lines[r.n][4:])
		if err != nil {
			return r.wrong(r.n, "%v", err)
		}
		*into = name
		r.n++
		if i == 1 {
			continue
		}
		if !strings.HasPrefix(r.at(r.n), "+++ ") {
			return r.wrong(r.n, "the line +++ b/PATH is missing here")
		}
	}
	return nil
}

// gitFile reads a file whose header begins with diff --git.
func (r *reader) gitFile() error {
	h := header{line: r.n}
	h.git = pairOf(strings.TrimPrefix(r.lines[r.n], "diff --git "))
	r.n++
	for r.n < len(r.lines) {
		line := strings.TrimSuffix(r.lines[r.n], "\r")
		if strings.HasPrefix(line, "--- ") {
			if err := r.names(&h); err != nil {
				return err
			}
			break
		}
		more, err := h.extended(line)
		if err != nil {
			return r.wrong(r.n, "%v", err)
		}
		if !more {
			break
		}
		r.n++
	}
	return r.finish(h)
}

// extended reads one line of git's extended header. more is false when the line is none.
func (h *header) extended(line string) (more bool, err error) {
	key, value, _ := cutKey(line)
	switch key {
	case "old mode":
		h.oldMode, err = modeOf(value)
	case "new mode":
		h.newMode, err = modeOf(value)
	case "new file mode":
		h.made = true
		h.newMode, err = modeOf(value)
	case "deleted file mode":
		h.gone = true
		h.oldMode, err = modeOf(value)
	case "rename from":
		h.moves = true
		h.from, err = nameOf(value)
	case "rename to":
		h.moves = true
		h.to, err = nameOf(value)
	case "index":
		if _, mode, ok := strings.Cut(value, " "); ok {
			_, err = modeOf(mode)
		}
	case "similarity index", "dissimilarity index":
	case "copy from", "copy to":
		err = errors.New("a copy is not supported: write the whole new file as a file that is made")
	case "GIT binary patch", "Binary files":
		err = errors.New("a binary file cannot be patched")
	default:
		return false, nil
	}
	return true, err
}

func cutKey(line string) (key, value string, ok bool) {
	for _, key := range []string{
		"old mode", "new mode", "new file mode", "deleted file mode", "rename from", "rename to", "index",
		"similarity index", "dissimilarity index", "copy from", "copy to", "GIT binary patch", "Binary files",
	} {
		if line == key {
			return key, "", true
		}
		if value, ok := strings.CutPrefix(line, key+" "); ok {
			return key, value, true
		}
	}
	return "", "", false
}

// modeOf admits what a file tool can make.
func modeOf(text string) (uint32, error) {
	text = strings.TrimSpace(text)
	mode, err := strconv.ParseUint(text, 8, 32)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s is no file mode", shown(text))
	case mode == 0o120000:
		return 0, errors.New("a symlink cannot be patched")
	case mode == 0o160000:
		return 0, errors.New("a submodule cannot be patched")
	case mode != 0o100644 && mode != 0o100755 && mode != 0o100664:
		return 0, fmt.Errorf("the file mode %s is neither 100644 nor 100755", text)
	}
	return uint32(mode), nil
}

// nameOf reads a name: quoted as C does, or up to a tab.
func nameOf(text string) (string, error) {
	text = strings.TrimSuffix(text, "\r")
	if strings.HasPrefix(text, `"`) {
		name, _, err := quoted(text)
		return name, err
	}
	name, _, _ := strings.Cut(text, "\t")
	if strings.TrimSpace(name) == "" {
		return "", errors.New("a file's name is missing")
	}
	return name, nil
}

func quoted(text string) (name, rest string, err error) {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			name, err := strconv.Unquote(text[:i+1])
			if err != nil || name == "" {
				return "", "", fmt.Errorf("the name %s cannot be read", shown(text[:i+1]))
			}
			return name, text[i+1:], nil
		}
	}
	return "", "", fmt.Errorf("the quote of the name %s is not closed", shown(text))
}

// pairOf finds the name that diff --git gives twice. Names may hold spaces, so the right split is
// the one with equal halves.
func pairOf(text string) string {
	text = strings.TrimSuffix(text, "\r")
	if first, rest, err := quoted(text); err == nil && strings.HasPrefix(text, `"`) {
		second, err := nameOf(strings.TrimPrefix(rest, " "))
		if err != nil {
			return ""
		}
		name, _ := same(first, second)
		return name
	}
	for i := range text {
		if text[i] != ' ' {
			continue
		}
		second, err := nameOf(text[i+1:])
		if err != nil {
			continue
		}
		if name, ok := same(text[:i], second); ok {
			return name
		}
	}
	return ""
}

// same gives the one name that two names with or without prefixes stand for.
func same(old, new string) (string, bool) {
	if old == new {
		return old, true
	}
	o, n, both := strings.Cut(old, "/")
	p, q, too := strings.Cut(new, "/")
	switch {
	case both && too && n == q && n != "" && prefixes(o, p):
		return n, true
	case both && o == "a" && n == new, too && p == "b" && q == old:
		return strings.TrimPrefix(new, "b/"), true
	}
	return "", false
}

// prefixes says whether two first folders are those that git puts before names.
func prefixes(old, new string) bool {
	switch old + new {
	case "ab", "iw", "ci", "cw", "ow", "ic", "wi", "wc", "wo", "ba":
		return true
	}
	return false
}

// finish makes a file of its header and the hunks below it.
func (r *reader) finish(h header) error {
	f := File{Line: h.line + 1, OldMode: h.oldMode, NewMode: h.newMode}
	if err := h.name(&f); err != nil {
		return r.wrong(h.line, "%v", err)
	}
	for strings.HasPrefix(r.at(r.n), "@@") {
		hunk, err := r.hunk()
		if err != nil {
			return fmt.Errorf("%s, hunk %d: %w", f.Name(), len(f.Hunks)+1, err)
		}
		f.Hunks = append(f.Hunks, hunk)
	}
	if key, _, _ := cutKey(r.at(r.n)); key == "GIT binary patch" || key == "Binary files" {
		return r.wrong(r.n, "a binary file cannot be patched")
	}
	if err := f.check(h.made || h.gone); err != nil {
		return r.wrong(h.line, "%s: %v", f.Name(), err)
	}
	r.files = append(r.files, f)
	return nil
}

// check refuses what cannot be meant.
func (f File) check(git bool) error {
	ops := map[byte]bool{}
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			ops[l.Op] = true
		}
	}
	switch {
	case f.Create() && (ops[' '] || ops['-']):
		return errors.New("a file that is made can only have added lines (+)")
	case f.Delete() && (ops[' '] || ops['+']):
		return errors.New("a file that is deleted can only have deleted lines (-)")
	case f.Create() && len(f.Hunks) > 1:
		return errors.New("a file that is made has one hunk")
	case len(f.Hunks) == 0 && !git && !f.Rename() && f.OldMode == f.NewMode:
		return errors.New("no hunk follows: a hunk begins with @@")
	case !f.Create() && !f.Delete() && (f.OldMode == 0) != (f.NewMode == 0):
		return errors.New("a mode is changed by two lines, old mode and new mode")
	}
	return nil
}
