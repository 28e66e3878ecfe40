package prompt

import (
	"cmp"
	"encoding/json"
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
	maxSkills  = 50   // that are listed
	maxFolders = 1000 // that are looked into for them
	maxName    = 64   // characters of a name
	maxAbout   = 1024 // bytes of what one says of itself
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
	var out []skill
	for i, name := range names {
		if len(out) == maxSkills || i == maxFolders {
			r.note("there are more folders in %s than are looked into: %d, and %d skills", filepath.Join(r.folder, in), maxFolders, maxSkills)
			break
		}
		s, err := r.skill(filepath.Join(at, name, "SKILL.md"))
		if errors.Is(err, fs.ErrNotExist) {
			continue // a folder of something else
		}
		if err != nil {
			r.note("the skill %s is not listed: %v", path.Join(in, name), reason(err))
			continue
		}
		s.name, s.path = oneLine(first(cmp.Or(s.name, name), maxName)), oneLine(path.Join(in, name, "SKILL.md"))
		out = append(out, s)
	}
	return out
}

// folders are the names of the folders in a folder, sorted, and of the links in it.
func (r *reader) folders(at string) ([]string, error) {
	f, err := r.root.OpenFile(at, os.O_RDONLY|syscall.O_NONBLOCK, 0) // nothing waits for the other end of a pipe
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read from
	entries, err := f.ReadDir(-1)
	var names []string
	for _, e := range entries {
		if e.IsDir() || e.Type()&fs.ModeSymlink != 0 {
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
			s.name = scalar(lines[f.Line-1 : end])
		case "description":
			s.about = scalar(lines[f.Line-1 : end])
		}
	}
	if s.about == "" {
		return s, errors.New("its front matter has no description")
	}
	if s.about = oneLine(s.about); len(s.about) > maxAbout {
		s.about = strings.ToValidUTF8(s.about[:maxAbout], "") + "…"
	}
	return s, nil
}

// scalar is the text of a field of YAML (https://yaml.org/spec/1.2.2/#scalars): plain, in quotes or
// in the lines below, with each white space as a blank.
func scalar(lines []string) string {
	_, text, _ := strings.Cut(lines[0], ":")
	text = strings.TrimSpace(text)
	below := indented(lines[1:])
	switch {
	case strings.HasPrefix(text, ">"), strings.HasPrefix(text, "|"):
		text = below
	case strings.HasPrefix(text, "\""):
		text += " " + below
		var plain string
		if end := strings.LastIndexByte(text, '"'); end > 0 && json.Unmarshal([]byte(text[:end+1]), &plain) == nil {
			text = plain
		}
	case strings.HasPrefix(text, "'"):
		text += " " + below
		if end := strings.LastIndexByte(text, '\''); end > 0 {
			text = strings.ReplaceAll(text[1:end], "''", "'")
		}
	default:
		if text, _, _ = strings.Cut(text, " #"); below != "" {
			text += " " + below
		}
	}
	return strings.Join(strings.Fields(text), " ")
}

// first is the beginning of a text in at most so many characters.
func first(text string, most int) string {
	all := []rune(text[:min(len(text), 4*most)])
	return string(all[:min(len(all), most)])
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
