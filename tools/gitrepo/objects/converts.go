package objects

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"agent/tools/gitrepo/gitconfig"
)

// Conversion says how the bytes of a file on disk may differ from its blob.
type Conversion int

// The conversions, each with those before it.
const (
	Same    Conversion = iota // they do not
	Endings                   // ends of lines: only if the sizes differ, too
	Any                       // even where the sizes are equal: a filter, $Id$, an encoding
)

// Conversions says of paths, seen from the folder, how the bytes on disk could differ from the
// blob. It follows gitattributes and git-config: attributes of every level, core.autocrlf and
// core.attributesFile wherever they may be set, whatever condition an include has. A rule that
// excepts files from another is not heeded, and a pattern may take in more than git's. What
// .gitattributes said when git wrote a file, and says no more, is not known.
//
// The index is the repository's. absent says of a path that nothing is there, which spares a look;
// nil where that is not known. The function reads .gitattributes of a folder once it is asked about
// a path there, and is not for use by several at once.
func (r Repository) Conversions(ix Index, absent func(path string) bool) func(path string) Conversion {
	a := &attributes{r: r, absent: absent, tracked: ix.attributes, macros: map[string]Conversion{}, at: map[string]*rules{}}
	var outer []attributeLine
	for _, file := range append(a.configured(), filepath.Join(r.Common, "info", "attributes")) {
		list, all := load(file)
		outer, a.always = append(outer, list...), max(a.always, all)
	}
	top, _ := load(filepath.Join(r.Top, ".gitattributes")) // its rules are taken in with those of its folder
	a.define(append(top, outer...))
	a.outer.add(a, outer, "")
	return a.of
}

// attributes are the rules of a work tree, as far as they were asked for.
type attributes struct {
	r       Repository
	absent  func(path string) bool
	fold    bool       // names are compared without case
	always  Conversion // of every file
	outer   rules      // of no folder of the work tree
	macros  map[string]Conversion
	tracked map[string]Indexed // .gitattributes in the index, by path in the work tree
	at      map[string]*rules  // by folder in the work tree

	last   string // the folder that was asked for last
	lastAt *rules
}

// of judges one path.
func (a *attributes) of(name string) Conversion {
	if a.r.Prefix != "" {
		name = a.r.Prefix + "/" + name
	}
	cut := max(strings.LastIndexByte(name, '/'), 0)
	dir, base := name[:cut], strings.TrimPrefix(name[cut:], "/")
	full, low := name, base
	if a.fold {
		full, low = strings.ToLower(name), strings.ToLower(base)
	}
	if a.lastAt == nil || a.last != dir {
		a.last, a.lastAt = dir, a.folder(dir)
	}
	found := max(a.always, a.outer.always, a.outer.match(full, low))
	for at := a.lastAt; at != nil && found < Any; at = at.above {
		found = max(found, at.always, at.match(full, low))
	}
	return found
}

// folder reads the rules of a folder, and of those above it.
func (a *attributes) folder(dir string) *rules {
	if known, ok := a.at[dir]; ok {
		return known
	}
	at := &rules{}
	if dir != "" {
		above, _ := path.Split(dir)
		at.above = a.folder(strings.TrimSuffix(above, "/"))
		if len(at.above.list) == 0 && at.above.always == Same {
			at.above = at.above.above // nothing is there to be matched
		}
	}
	a.at[dir] = at
	name := path.Join(dir, ".gitattributes")
	file := filepath.Join(a.r.Top, filepath.FromSlash(name))
	info, err := a.look(name, file)
	if was, ok := a.tracked[name]; ok && (err != nil || !was.Clean(statOf(info))) {
		text, err := gitconfig.ReadFile(file, maxAttributes)
		if err != nil || BlobID(text, a.r.SHA256) != was.Blob {
			at.always = Any // git may have written files by what the index has
		}
	}
	if err == nil {
		if info.Mode()&fs.ModeSymlink != 0 {
			at.always = Any // by its version, git follows it or not
		}
		list, all := load(file)
		at.always = max(at.always, all)
		at.add(a, list, dir)
	} else if !absent(err) {
		at.always = Any
	}
	return at
}

// look is what lies at a path.
func (a *attributes) look(name, file string) (fs.FileInfo, error) {
	rel, below := name, true
	if a.r.Prefix != "" {
		rel, below = strings.CutPrefix(name, a.r.Prefix+"/")
	}
	if below && a.absent != nil && a.absent(rel) {
		return nil, fs.ErrNotExist
	}
	return os.Lstat(file)
}

// absent says whether an error means that there is no such file.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// configured takes in what configurations say, and lists the files of attributes outside of the
// work tree.
func (a *attributes) configured() []string {
	home, _ := os.UserHomeDir() // without one there are no files of it
	prefixes := []string{"/etc", "/usr/local/etc", "/opt/homebrew/etc", "/opt/local/etc", "/usr/etc"}
	files := gitconfig.PersonFiles(home)
	global := []string{}
	for _, dir := range prefixes {
		files = append(files, filepath.Join(dir, "gitconfig"))
		global = append(global, filepath.Join(dir, "gitattributes"))
	}
	if home != "" {
		global = append(global, filepath.Join(gitconfig.Folder(home), "attributes"), filepath.Join(home, ".config", "git", "attributes"))
	}
	for _, name := range []string{"GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL"} {
		if file := os.Getenv(name); file != "" {
			files = append(files, file)
		}
	}
	files = append(files, filepath.Join(a.r.Common, "config"), filepath.Join(a.r.Git, "config.worktree"))
	take := func(s gitconfig.Setting) {
		switch {
		case s.Is("core", "autocrlf") && !isFalse(s.Value):
			a.always = max(a.always, Endings)
		case s.Is("core", "ignorecase") && !isFalse(s.Value):
			a.fold = true
		case s.Is("attr", "tree"):
			a.always = Any // attributes are taken out of a commit
		case s.Is("core", "attributesfile"), s.Includes():
			if strings.HasPrefix(s.Value, "%(") || strings.HasPrefix(s.Value, ":(") || strings.HasPrefix(s.Value, "~") && !strings.HasPrefix(s.Value, "~/") {
				a.always = Any // it is somewhere that only git knows
			} else if s.Name == "attributesfile" && s.Value != "" {
				global = append(global, gitconfig.Resolve(home, s.Base, s.Value), gitconfig.Resolve(home, a.r.Top, s.Value))
			}
		}
	}
	gitconfig.Each(files, home, func(_ string, list []gitconfig.Setting, err error) {
		if err != nil {
			a.always = Any
		}
		for _, s := range list {
			take(s)
		}
	})
	a.environment(take)
	return global
}

// maxPairs bounds the settings that the environment may hold.
const maxPairs = 1000

// environment takes in the settings of git-config, ENVIRONMENT.
func (a *attributes) environment(take func(gitconfig.Setting)) {
	if os.Getenv("GIT_ATTR_SOURCE") != "" || os.Getenv("GIT_CONFIG_PARAMETERS") != "" {
		a.always = Any
	}
	count, _ := strconv.Atoi(os.Getenv("GIT_CONFIG_COUNT")) // without a number there are none
	for i := range min(count, maxPairs) {
		section, name, _ := strings.Cut(strings.ToLower(os.Getenv("GIT_CONFIG_KEY_"+strconv.Itoa(i))), ".")
		take(gitconfig.Setting{Section: section, Name: name, Value: os.Getenv("GIT_CONFIG_VALUE_" + strconv.Itoa(i)), Base: a.r.Top})
		if section == "include" || section == "includeif" {
			a.always = Any
		}
	}
}
