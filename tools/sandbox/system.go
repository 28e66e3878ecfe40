package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// System is the sandbox as one host uses it. It is safe for concurrent use. A nil System confines
// nothing.
type System struct {
	Exe      string          // this binary
	Hidden   string          // the state folder
	Guarded  []string        // what holds the person's policy; the first is a folder, which is made where it is missing
	Caches   string          // holds a folder a workspace for the caches of tools; "" is none
	Settings func() Settings // of the person; nil is none; called once, when first needed
	Probed   func() Support  // what Probe says of this system, for several who share it; nil: it is asked

	once     sync.Once
	support  Support
	settings Settings
}

// Settings are what a person configures.
type Settings struct {
	Open     bool     // full commands run in no namespace
	Writable []string // further folders and files that commands with access write may change
}

// Support is what this system can enforce. It is found out once, which takes some milliseconds.
func (s *System) Support() Support {
	if s == nil {
		return Support{}
	}
	s.once.Do(func() {
		if s.Settings != nil {
			s.settings = s.Settings()
		}
		if s.Probed != nil {
			s.support = s.Probed()
		} else {
			s.support = Probe(s.Exe)
		}
		s.support.Open = s.settings.Open
	})
	return s.support
}

// Profile confines a command of a run to its workspace. With Write it makes the run's private
// temporary folder; run may be empty, then there is an empty one that is gone after. fixed are
// paths in the workspace that a command with Write leaves as they are (tools/gitrepo). The profile
// names what is there now, so it is made anew for each start. beside are folders that can be read
// though one above them is covered; one that is not there, or leads elsewhere now, is left out.
func (s *System) Profile(a Access, workspace, run string, beside []string, fixed ...string) (Profile, error) {
	p := Profile{Access: a, Support: s.Support()}
	if s == nil || !p.Confines() {
		return p, nil
	}
	var err error
	if p.Workspace, err = resolved(workspace); err != nil {
		return p, fmt.Errorf("confine a command to its workspace: %w", err)
	}
	if err := s.fence(&p); err != nil {
		return p, err
	}
	for _, dir := range beside {
		if real, err := resolved(dir); err == nil && real == dir {
			p.Readable = append(p.Readable, dir)
		}
	}
	if a != Write {
		return p, nil
	}
	for _, w := range s.settings.Writable {
		// A cache that was never used is not there; who lists it wants it.
		if err := os.MkdirAll(w, 0o700); err != nil && !isFile(w) {
			return p, fmt.Errorf("make %s writable for commands ([sandbox] writable in config.toml): %w", w, err)
		}
		if w, err = resolved(w); err != nil {
			return p, fmt.Errorf("make it writable for commands ([sandbox] writable in config.toml): %w", err)
		}
		p.Writable = append(p.Writable, w)
	}
	if p.Cache, err = s.cacheOf(p.Workspace); err != nil {
		return p, err
	}
	if p.Cache != "" {
		p.Writable = append(p.Writable, p.Cache)
	}
	p.fix(fixed)
	if run == "" {
		return p, nil
	}
	p.Temp, err = MakeTemp(run)
	return p, err
}

// fence names the state folder and the policy.
func (s *System) fence(p *Profile) error {
	hidden, err := resolved(s.Hidden)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("hide the state folder: %w", err)
	}
	if err == nil && hidden != "" {
		if p.Hidden, err = aliases(hidden); err != nil {
			return fmt.Errorf("hide the state folder wherever it is mounted: %w", err)
		}
		p.Links = trail(s.Hidden)
	}
	for i, g := range s.Guarded {
		if i == 0 {
			// A folder that is there cannot be made by a command, nor a file in it.
			if err := os.MkdirAll(g, 0o700); err != nil {
				return fmt.Errorf("guard the folder of the policy: %w", err)
			}
		}
		real, err := resolved(g)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("guard the policy: %w", err)
		}
		reals := []string{real}
		p.Links = append(p.Links, trail(g)...)
		for _, link := range linksIn(real) {
			if to, err := resolved(link); err == nil {
				reals = append(reals, to)
				p.Links = append(p.Links, trail(link)...)
			}
		}
		for _, real := range reals {
			at, err := aliases(real)
			if err != nil {
				return fmt.Errorf("guard the policy wherever it is mounted: %w", err)
			}
			p.Guarded = append(p.Guarded, at...)
		}
	}
	return nil
}

// Veiled lists the mounts that may show the state folder once more without a way to find out, such
// as one of bindfs: there it is not hidden.
func (s *System) Veiled() []string {
	if s == nil {
		return nil
	}
	hidden, err := resolved(s.Hidden)
	if err != nil {
		return nil // what is not there shows nowhere
	}
	return veiled(hidden)
}

// Policy lists what holds the person's policy, without links: the folders and files that are
// guarded, and what links in them lead to.
func (s *System) Policy() []string {
	if s == nil {
		return nil
	}
	var out []string
	for _, g := range s.Guarded {
		real := deepest(g)
		out = append(out, real)
		for _, link := range linksIn(real) {
			out = append(out, deepest(link))
		}
	}
	return out
}

// deepest takes the links out of as much of a path as is there.
func deepest(path string) string {
	if real, err := resolved(path); err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(deepest(dir), filepath.Base(path))
	}
	return path
}

// trail lists the symbolic links that are followed on the way to an absolute path, each with no
// link before its last name: who could replace one of them would put other things in the place of
// what the path names.
func trail(path string) []string {
	const most = 40 // as the kernel has it
	var links []string
	at, todo := "/", strings.Split(path, "/")
	for len(todo) > 0 && len(links) < most {
		name := todo[0]
		todo = todo[1:]
		if name == "" || name == "." {
			continue
		}
		next := filepath.Join(at, name)
		to, err := os.Readlink(next)
		if err != nil {
			at = next // no link, or nothing: what cannot be looked at cannot be followed either
			continue
		}
		links = append(links, next)
		if filepath.IsAbs(to) {
			at = "/"
		}
		todo = append(strings.Split(to, "/"), todo...)
	}
	return links
}

// fix guards what lies in the workspace; what is not there needs no guard, and what a link leads to
// outside has its own.
func (p *Profile) fix(fixed []string) {
	for _, name := range fixed {
		path := filepath.Join(p.Workspace, filepath.FromSlash(name))
		for _, link := range trail(path) {
			if within(link, p.Workspace) {
				p.Links = append(p.Links, link)
			}
		}
		if real, err := resolved(path); err == nil && within(real, p.Workspace) && real != p.Workspace {
			p.Guarded = append(p.Guarded, real)
		}
	}
}

// linksIn lists the links in a folder: a policy kept among a person's dotfiles is guarded there
// too.
func linksIn(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // a file has none
	}
	var out []string
	for _, e := range entries {
		if e.Type()&fs.ModeSymlink != 0 {
			out = append(out, filepath.Join(dir, e.Name()))
		}
	}
	return out
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// resolved is a path without links; "" stays.
func resolved(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.EvalSymlinks(path)
}
