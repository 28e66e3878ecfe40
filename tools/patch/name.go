package patch

import (
	"errors"
	"fmt"
	"strings"
)

// name decides which file the header means.
func (h header) name(f *File) error {
	switch {
	case h.made && h.gone || h.moves && (h.made || h.gone):
		return errors.New("the header says two things at once")
	case h.moves:
		return h.renamed(f)
	case h.old == "" && h.new == "":
		return h.byGit(f)
	case h.old == nowhere && h.new == nowhere:
		return fmt.Errorf("both names are %s", nowhere)
	case h.made && h.old != nowhere:
		return fmt.Errorf("a new file's old name is %s", nowhere)
	case h.gone && h.new != nowhere:
		return fmt.Errorf("a deleted file's new name is %s", nowhere)
	case h.old == nowhere:
		return h.oneSided(h.new, "b/", &f.New, &f.Literal)
	case h.new == nowhere:
		return h.oneSided(h.old, "a/", &f.Old, &f.Literal)
	}
	return h.both(f)
}

func (h header) renamed(f *File) error {
	if h.from == "" || h.to == "" {
		return errors.New("a rename needs a line rename from and a line rename to")
	}
	for _, pair := range [][2]string{{h.old, h.from}, {h.new, h.to}} {
		if written, name := pair[0], pair[1]; written != "" && written != name && !strings.HasSuffix(written, "/"+name) {
			return fmt.Errorf("the names %s and %s contradict each other", shown(written), shown(name))
		}
	}
	if h.from == h.to {
		return errors.New("the rename leads to the same name")
	}
	f.Old, f.New = h.from, h.to
	return nil
}

// byGit names a file that has no lines --- and +++: one that is empty, or whose mode changes.
func (h header) byGit(f *File) error {
	if h.git == "" {
		return errors.New("the line diff --git names no file, or two; a rename needs the lines rename from and rename to")
	}
	if !h.made {
		f.Old = h.git
	}
	if !h.gone {
		f.New = h.git
	}
	return nil
}

// oneSided names a file that is made or deleted. Without git's line nothing tells a prefix from a
// folder of that name.
func (h header) oneSided(written, prefix string, name, literal *string) error {
	bare, prefixed := strings.CutPrefix(written, prefix)
	switch {
	case h.git != "" && h.git != written && !strings.HasSuffix(written, "/"+h.git):
		return fmt.Errorf("the names %s and %s contradict each other", shown(h.git), shown(written))
	case h.git != "":
		*name = h.git
	case prefixed && bare != "":
		*name, *literal = bare, written
	default:
		*name = written
	}
	return nil
}

func (h header) both(f *File) error {
	name, ok := same(h.old, h.new)
	switch {
	case !ok:
		return fmt.Errorf("the names %s and %s are two files; a rename needs git's lines rename from and rename to", shown(h.old), shown(h.new))
	case h.git != "" && h.git != name && !strings.HasSuffix(name, "/"+h.git):
		return fmt.Errorf("the names %s and %s contradict each other", shown(h.git), shown(name))
	case h.git != "":
		name = h.git
	case h.old == h.new:
		for _, prefix := range []string{"a/", "b/"} {
			if bare, ok := strings.CutPrefix(name, prefix); ok && bare != "" {
				f.Literal, name = name, bare
				break
			}
		}
	}
	f.Old, f.New = name, name
	return nil
}
