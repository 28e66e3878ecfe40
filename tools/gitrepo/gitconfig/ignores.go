package gitconfig

import (
	"path/filepath"
	"strings"
)

// Ignores finds the file that says what a person ignores in every repository: core.excludesFile of
// git-config, whose default is in gitignore. "" is none. One that is not absolute is seen from the
// top of a work tree, as git sees it.
//
// Only the system's and the person's configuration is asked. A repository may be somebody else's:
// its own must not name a file of the person, whose lines would show in what is left out. Where it
// names one, git ignores that, and here it is kept. A value that holds on a condition, or that only
// git can resolve, counts as none: then more is kept, never less.
func Ignores(home string) string { return ignoresOf(home, PersonFiles(home)) }

func ignoresOf(home string, files []string) string {
	l := lookup{home: home}
	for _, file := range files {
		l.read(file, 0)
	}
	switch {
	case l.files > maxFiles:
		return ""
	case l.set:
		return l.value
	case home == "":
		return ""
	}
	return filepath.Join(Folder(home), "ignore")
}

// lookup goes through files in the order in which git does, each included one where it is named:
// the last value counts, which Each does not show.
type lookup struct {
	home        string
	conditional bool // what is read holds on a condition
	files       int  // that were read
	set         bool
	value       string // a path; "" for none
}

func (l *lookup) read(file string, depth int) {
	if l.files++; depth > MaxInclude || l.files > maxFiles {
		return
	}
	content, err := ReadFile(file, MaxFile)
	if err != nil {
		return // most are not there
	}
	list, _ := Parse(content, filepath.Dir(file)) // git refuses to run with one that it cannot read
	for _, s := range list {
		switch {
		case s.Is("core", "excludesfile"):
			l.set, l.value = true, l.path(s.Value)
		case s.Includes():
			outer := l.conditional
			l.conditional = outer || s.Section == "includeif"
			l.read(Resolve(l.home, s.Base, s.Value), depth+1)
			l.conditional = outer
		}
	}
}

// path is what a value names, if that is known.
func (l *lookup) path(value string) string {
	own := strings.HasPrefix(value, "~/") && l.home != ""
	for _, prefix := range []string{"~", "%(", ":("} { // another's home, git's own folder, an option
		if strings.HasPrefix(value, prefix) && !own {
			return ""
		}
	}
	if value == "" || l.conditional {
		return ""
	}
	return Resolve(l.home, "", value)
}
