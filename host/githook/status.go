package githook

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent/tools/gitrepo/gitconfig"
	"agent/tools/gitrepo/hooklines"
)

// View is what agent git shows.
type View struct {
	Version    int      `json:"version"`
	Repository string   `json:"repository"`
	Git        string   `json:"git"`     // its version
	On         bool     `json:"on"`      // git runs both hooks
	Where      string   `json:"where"`   // config or files; "" where nothing is on
	Program    string   `json:"program"` // that git runs; "" where nothing is on
	Missing    bool     `json:"missing"` // it is not there any more
	Others     []string `json:"others"`  // what else runs at these events
	Add        []Line   `json:"to_add"`  // what a person has to add
	Next       []string `json:"next"`    // commands that bring it forward
	files      []string // of each hook: the program that its file runs
}

// Line is one that a person adds to a file.
type Line struct {
	File string `json:"file"`
	Line string `json:"line"`
}

// Status looks at what is on. It changes nothing.
func (p *Place) Status() (*View, error) {
	v := &View{Version: 1, Repository: p.repo.Top, Git: p.version, Others: []string{}, Add: []Line{}, Next: []string{}}
	text, err := gitconfig.ReadFile(p.config(), gitconfig.MaxFile)
	if err != nil {
		return nil, fmt.Errorf("read git's configuration: %w", err)
	}
	list, err := gitconfig.Parse(text, "")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", p.config(), err)
	}
	for _, s := range list {
		ours := slices.ContainsFunc(hooklines.Hooks(), func(h hooklines.Hook) bool { return h.Name == s.Sub })
		if s.Section == "hook" && s.Name == "command" && !ours {
			v.Others = append(v.Others, "hook."+s.Sub)
		}
	}
	v.inFiles(p)
	exe := hooklines.Installed(string(text))
	switch {
	case exe != "" && p.reads:
		v.On, v.Where, v.Program = true, "config", exe
	case !slices.Contains(v.files, ""):
		v.On, v.Where, v.Program = true, "files", v.files[0]
	case exe != "":
		v.Next = append(v.Next, "agent git on") // this git is older than the one that it was done with
	}
	if v.Program != "" {
		if info, err := os.Stat(v.Program); err != nil || info.Mode()&0o111 == 0 {
			v.Missing, v.Next = true, append(v.Next, "agent git on")
		}
	}
	if !v.On && len(v.Next) == 0 {
		v.Next = append(v.Next, "agent git on")
	}
	return v, nil
}

// inFiles looks at the files of the hooks that git runs.
func (v *View) inFiles(p *Place) {
	for _, h := range hooklines.Hooks() {
		exe := ""
		for _, name := range slices.Compact([]string{filepath.Join(p.hooks, h.Event), p.byHand(h)}) {
			text, err := gitconfig.ReadFile(name, gitconfig.MaxFile)
			if err != nil {
				continue
			}
			is := h.InScript(string(text))
			if is == "" {
				v.Others = append(v.Others, name)
				if strings.Contains(string(text), h.Line(p.exe)+"\n") { // a person added it
					is = p.exe
				}
			}
			if is != "" {
				exe = is
			}
		}
		v.files = append(v.files, exe)
	}
}

// Write prints it.
func (v *View) Write(out io.Writer, tilde func(string) string) error {
	var b strings.Builder
	state := "off"
	switch {
	case v.On && v.Where == "config":
		state = "on, in the repository's configuration"
	case v.On:
		state = "on, by files of hooks"
	case len(v.Add) > 0:
		state = "not on yet"
	}
	fmt.Fprintf(&b, "%s: %s (git %s)\n", tilde(v.Repository), state, v.Git)
	if v.Program != "" {
		there := ""
		if v.Missing {
			there = ", which is not there: git goes on without it"
		}
		fmt.Fprintf(&b, "  runs    %s%s\n", tilde(v.Program), there)
	}
	for _, o := range v.Others {
		fmt.Fprintf(&b, "  beside  %s\n", tilde(o))
	}
	for _, l := range v.Add {
		fmt.Fprintf(&b, "  add to  %s\n          %s\n", tilde(l.File), l.Line)
	}
	for _, n := range v.Next {
		fmt.Fprintf(&b, "  next    %s\n", n)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// Do carries out agent git on, off or status in a folder.
func Do(what, folder string) (*View, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	p, err := Find(folder, exe)
	if err != nil {
		return nil, err
	}
	v, err := map[string]func() (*View, error){"on": p.On, "off": p.Off, "status": p.Status}[what]()
	if err != nil {
		return nil, err
	}
	if what == "off" {
		v.Next = []string{}
	}
	return v, nil
}
