package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agent/recovery/journal"
)

// Within are the paths that a file tool works on, seen from the workspace: as they are written
// and, where links are on the way, as they lead. "." is the workspace; what leads out of it is kept
// as it is, and matches no rule of a workspace.
func (is Traits) Within(folder string, args json.RawMessage) []string {
	var out []string
	for _, p := range is.given(args) {
		for _, q := range []string{within(folder, p), within(folder, Followed(folder, p))} {
			if !slices.Contains(out, q) {
				out = append(out, q)
			}
		}
	}
	return out
}

// given are the paths as they are written; "" is one that is left out.
func (is Traits) given(args json.RawMessage) []string {
	if is.Paths != nil {
		return is.Paths
	}
	var a struct {
		Path string `json:"path"`
	}
	if json.Unmarshal(args, &a) != nil {
		return nil
	}
	return []string{a.Path}
}

// ReadOnly is the error of a write at a path in a folder that a run may only read.
func ReadOnly(p, dir string) error {
	return fmt.Errorf("%s lies in %s, which this run may only read; a person who starts a run lets it write there with --add-dir %s:write", p, dir, dir)
}

// Outside says why a call cannot write at one of its paths: it lies in no folder that the run
// reaches, or in one that it may only read. Nil where that is not so.
func (is Traits) Outside(folder string, dirs []journal.Dir, args json.RawMessage) error {
	if is.Touches != TouchesPaths {
		return nil
	}
	for _, p := range is.given(args) {
		switch d, ok := Reached(folder, dirs, p); {
		case !ok:
			return &OutsideError{p, folder}
		case !d.Write:
			return ReadOnly(p, d.Path)
		}
	}
	return nil
}

// within is a path as it is seen from the workspace.
func within(folder, p string) string {
	if filepath.IsAbs(p) {
		for _, base := range []string{folder, Followed("/", folder)} {
			if rel, err := filepath.Rel(base, p); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
				return filepath.ToSlash(rel)
			}
		}
	}
	return path.Clean(filepath.ToSlash(p))
}

// Reached is the folder that a path lies in as it is written: the workspace, or else the innermost
// of those beside it. Links are not followed: the tool does that.
func Reached(folder string, dirs []journal.Dir, p string) (d journal.Dir, ok bool) {
	if !filepath.IsAbs(p) {
		p = filepath.Join(folder, p)
	}
	p = filepath.Clean(p)
	if holds(folder, p) || holds(Followed("/", folder), p) {
		return journal.Dir{Path: folder, Write: true}, true
	}
	for _, is := range dirs {
		if holds(is.Path, p) && (!ok || len(is.Path) > len(d.Path) || is.Path == d.Path && is.Write) {
			d, ok = is, true
		}
	}
	return d, ok
}

func holds(dir, p string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// OutsideError says that a path lies in no folder that a run reaches.
type OutsideError struct{ Path, Folder string }

func (e *OutsideError) Error() string {
	return fmt.Sprintf("%s is outside the workspace %s (agent run --add-dir lets a run reach further folders)", e.Path, e.Folder)
}

// Followed is where a path leads: the part of it that is there with its links followed, and the
// rest as it is written.
func Followed(folder, p string) string {
	if !filepath.IsAbs(p) {
		p = filepath.Join(folder, p)
	}
	rest := ""
	for at := filepath.Clean(p); ; at = filepath.Dir(at) {
		real, err := filepath.EvalSymlinks(at)
		if err == nil {
			return filepath.Join(real, rest)
		}
		if !errors.Is(err, fs.ErrNotExist) || at == filepath.Dir(at) {
			return p // it is not known; the tool reports it too
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}
