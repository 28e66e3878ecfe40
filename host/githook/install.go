package githook

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"agent/host/view"
	hooks "agent/tools/githook"
	"agent/tools/gitrepo/gitconfig"
	"agent/tools/gitrepo/hooklines"
	"agent/tools/gitrepo/objects"
)

// Place is a repository, and the git that is used in it.
type Place struct {
	repo    objects.Repository
	exe     string // this program
	version string // of git
	reads   bool   // git reads hooks from its configuration
	hooks   string // the folder of hooks
	moved   bool   // it is another than the repository's own
}

// RefusedError says why git cannot be had run this program, and what helps.
type RefusedError struct {
	Doing, Why string
	Next       []view.Fix
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%s: %s", e.Doing, e.Why) }

// Fixes is what there is to do instead.
func (e *RefusedError) Fixes() []view.Fix { return e.Next }

// Find finds the repository of a folder. Git is asked where its hooks are.
func Find(folder, exe string) (*Place, error) {
	refuse := func(why string, next ...view.Fix) error {
		return &RefusedError{"find the repository of " + folder, why, next}
	}
	text, major, minor, err := hooks.Version("")
	if err != nil {
		return nil, refuse(err.Error())
	}
	repo, ok, err := objects.Find(folder)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, refuse("there is none with a work tree", view.Fix{Does: "make one", Command: "git init"}, view.Fix{Does: "or name it", Command: "agent git on --dir FOLDER"})
	}
	p := &Place{repo: repo, exe: exe, version: text, reads: hooks.Reads(major, minor), hooks: filepath.Join(repo.Common, "hooks")}
	cmd := exec.Command("git", "config", "--type=path", "--get", "core.hooksPath")
	cmd.Dir = folder
	if out, err := cmd.Output(); err == nil { // else it is not set
		if dir := strings.TrimSuffix(string(out), "\n"); dir != "" {
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(repo.Top, dir)
			}
			p.moved, p.hooks = filepath.Clean(dir) != p.hooks, filepath.Clean(dir)
		}
	}
	return p, nil
}

func (p *Place) config() string { return filepath.Join(p.repo.Common, "config") }

// On has git run this program, and says what is left for a person to do. Whatever is there stays.
func (p *Place) On() (*View, error) {
	refuse := func(why string, next ...view.Fix) error {
		return &RefusedError{"have git run this program in " + p.repo.Top, why, next}
	}
	if !hooklines.Usable(p.exe) {
		return nil, refuse(fmt.Sprintf("the path %q of this program cannot stand in a hook", p.exe))
	}
	if rel, err := filepath.Rel(p.repo.Top, p.exe); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return nil, refuse(fmt.Sprintf("%s lies in the repository, where commands of runs may write: git would run what they put there", p.exe),
			view.Fix{Does: "install it elsewhere", Command: "go build -o ~/.local/bin/agent ."})
	}
	if p.reads {
		if err := p.setConfig(true); err != nil {
			return nil, err
		}
		if _, err := p.removeFiles(); err != nil {
			return nil, err
		}
		return p.Status()
	}
	if !p.moved {
		if err := p.writeFiles(); err != nil {
			return nil, err
		}
	}
	v, err := p.Status()
	if err != nil {
		return nil, err
	}
	for i, h := range hooklines.Hooks() {
		if v.files[i] == "" {
			v.Next = []string{}
			v.Add = append(v.Add, Line{File: p.byHand(h), Line: h.Line(p.exe)})
		}
	}
	return v, nil
}

// byHand is the file into which a person puts a hook's line: husky has its own behind those that it
// shows to git.
func (p *Place) byHand(h hooklines.Hook) string {
	dir := p.hooks
	if filepath.Base(dir) == "_" {
		dir = filepath.Dir(dir)
	}
	return filepath.Join(dir, h.Event)
}

// writeFiles writes the hooks that are not there.
func (p *Place) writeFiles() error {
	if err := os.MkdirAll(p.hooks, 0o755); err != nil {
		return fmt.Errorf("write hooks: %w", err)
	}
	for _, h := range hooklines.Hooks() {
		name := filepath.Join(p.hooks, h.Event)
		if text, err := gitconfig.ReadFile(name, gitconfig.MaxFile); err == nil && h.InScript(string(text)) != "" && h.InScript(string(text)) != p.exe {
			if err := os.Remove(name); err != nil { // it runs this program where it was before
				return fmt.Errorf("write the hook %s: %w", name, err)
			}
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			_, err = f.WriteString(h.Script(p.exe))
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			return fmt.Errorf("write the hook %s: %w", name, err)
		}
	}
	return nil
}

// Off takes away what On added, to the byte.
func (p *Place) Off() (*View, error) {
	if err := p.setConfig(false); err != nil {
		return nil, err
	}
	if _, err := p.removeFiles(); err != nil {
		return nil, err
	}
	return p.Status()
}

// removeFiles removes the files that are ours to the byte.
func (p *Place) removeFiles() (removed int, err error) {
	for _, dir := range []string{filepath.Join(p.repo.Common, "hooks"), p.hooks} {
		for _, h := range hooklines.Hooks() {
			name := filepath.Join(dir, h.Event)
			text, err := gitconfig.ReadFile(name, gitconfig.MaxFile)
			if err != nil || h.InScript(string(text)) == "" {
				continue // it is not there, or somebody else's
			}
			if err := os.Remove(name); err != nil {
				return removed, fmt.Errorf("remove the hook %s: %w", name, err)
			}
			removed++
		}
	}
	return removed, nil
}

// setConfig has the section in the repository's configuration or not. It takes git's own lock.
func (p *Place) setConfig(on bool) (err error) {
	name := p.config()
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	lock := name + ".lock"
	f, err := os.OpenFile(lock, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return &RefusedError{"change " + name, lock + " is there: a git is changing it, or was killed while it did", []view.Fix{{Does: "if no git runs", Command: "rm " + lock}}}
	}
	if err != nil {
		return fmt.Errorf("change %s: %w", name, err)
	}
	keep := false
	defer func() {
		if err = errors.Join(err, f.Close()); err == nil && keep {
			err = os.Rename(lock, name)
		} else {
			err = errors.Join(err, os.Remove(lock))
		}
	}()
	text, err := gitconfig.ReadFile(name, gitconfig.MaxFile)
	if err != nil {
		return fmt.Errorf("read git's configuration: %w", err)
	}
	info, err := os.Stat(name)
	if err != nil {
		return fmt.Errorf("read git's configuration: %w", err)
	}
	changed, err := p.changed(string(text), on)
	if err != nil || changed == string(text) {
		return err
	}
	if _, err = f.WriteString(changed); err == nil {
		err = errors.Join(f.Chmod(info.Mode().Perm()), f.Sync())
	}
	if err != nil {
		return fmt.Errorf("change %s: %w", name, err)
	}
	keep = true
	return nil
}

// changed is the configuration with the section or without it. It goes to the front of one whose
// last line does not end: what is taken away later must leave what was there.
func (p *Place) changed(text string, on bool) (string, error) {
	was := hooklines.Installed(text)
	if on && was == p.exe {
		return text, nil
	}
	if was != "" {
		text, _ = hooklines.Cut(text, was)
	}
	list, err := gitconfig.Parse([]byte(text), "")
	if err != nil {
		return text, &RefusedError{"change " + p.config(), "git cannot read it either", []view.Fix{{Does: "see where", Command: "git config --local --list"}}}
	}
	for _, s := range list {
		for _, h := range hooklines.Hooks() {
			if s.Section == "hook" && s.Sub == h.Name {
				return text, &RefusedError{"change " + p.config(), fmt.Sprintf("hook.%s was changed since, and is not taken for ours", h.Name),
					[]view.Fix{{Does: "remove it", Command: "git config --local --remove-section hook." + h.Name}}}
			}
		}
	}
	if !on {
		return text, nil
	}
	section := hooklines.Section(p.exe)
	if text != "" && !strings.HasSuffix(text, "\n") {
		return section + text, nil
	}
	return text + section, nil
}
