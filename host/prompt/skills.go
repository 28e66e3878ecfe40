package prompt

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"agent/host/markdown"
)

const (
	maxSkills = 50   // that are listed
	maxAbout  = 1024 // bytes of what one says of itself
)

// skill is a text about one kind of task, which a model reads when it has such a task: a folder
// with a SKILL.md (https://agentskills.io/specification).
type skill struct {
	name  string
	about string
	path  string // of its file, in the workspace, with slashes
}

// skills lists what lies in .agents/skills of the workspace, by name of the folder.
func (r *reader) skills() []skill {
	const in = ".agents/skills"
	at, err := filepath.Rel(r.top, filepath.Join(r.folder, in))
	if err != nil {
		return nil // the folder lies in its repository
	}
	names, err := r.folders(at)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.note("the skills in %s are not listed: %v", filepath.Join(r.folder, in), reason(err))
	}
	if more := len(names) - maxSkills; more > 0 {
		r.note("%d skills in %s are not listed: at most %d are", more, filepath.Join(r.folder, in), maxSkills)
		names = names[:maxSkills]
	}
	var out []skill
	for _, name := range names {
		s, err := r.skill(filepath.Join(at, name, "SKILL.md"))
		if errors.Is(err, fs.ErrNotExist) {
			continue // a folder of something else
		}
		if err != nil {
			r.note("the skill %s is not listed: %v", path.Join(in, name), reason(err))
			continue
		}
		s.name, s.path = oneLine(cmp.Or(s.name, name)), oneLine(path.Join(in, name, "SKILL.md"))
		out = append(out, s)
	}
	return out
}

// folders are the names of the folders in a folder, sorted.
func (r *reader) folders(at string) ([]string, error) {
	f, err := r.root.Open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read from
	entries, err := f.ReadDir(-1)
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, err
}

// skill reads what a skill says of itself in its front matter.
func (r *reader) skill(at string) (s skill, err error) {
	f, err := r.root.OpenFile(at, os.O_RDONLY|syscall.O_NONBLOCK, 0) // nothing waits for the other end of a pipe
	if err != nil {
		return s, err
	}
	data, err := r.content(f, filepath.Join(r.top, at))
	if err != nil {
		return s, err
	}
	lines := markdown.Lines(strings.ToValidUTF8(string(data), "\uFFFD"))
	end, fields := markdown.FrontMatter(lines)
	for _, f := range fields {
		switch f.Name {
		case "name":
			s.name = f.Value
		case "description":
			s.about = f.Value
			if strings.HasPrefix(s.about, ">") || strings.HasPrefix(s.about, "|") { // a text in the lines below
				s.about = indented(lines[f.Line:end])
			}
		}
	}
	s.about = oneLine(strings.Join(strings.Fields(s.about), " "))
	if s.about == "" {
		return s, fmt.Errorf("its front matter has no description")
	}
	if len(s.about) > maxAbout {
		s.about = strings.ToValidUTF8(s.about[:maxAbout], "") + "…"
	}
	return s, nil
}

// indented are the lines that belong to a field above them.
func indented(lines []string) string {
	var out []string
	for _, l := range lines {
		if l != "" && l[0] != ' ' && l[0] != '\t' {
			break
		}
		out = append(out, strings.TrimSpace(l))
	}
	return strings.Join(out, " ")
}

// skillsText lists skills for the model.
func skillsText(list []skill) string {
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\n# Skills\n\nEach is a file of instructions for one kind of task. Before a task of its kind, read it with read_file, and follow it.\n")
	for _, s := range list {
		fmt.Fprintf(&b, "- %s (%s): %s\n", s.name, s.path, s.about)
	}
	return b.String()
}
