package tools

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Within are the paths that a file tool works on, seen from the workspace: as they are written
// and, where links are on the way, as they lead. "." is the workspace; what leads out of it is kept
// as it is, and matches no rule of a workspace.
func (is Traits) Within(folder string, args json.RawMessage) []string {
	given := is.Paths
	if given == nil {
		var a struct {
			Path *string `json:"path"`
		}
		if json.Unmarshal(args, &a) != nil {
			return nil
		}
		given = []string{""}
		if a.Path != nil {
			given[0] = *a.Path
		}
	}
	var out []string
	for _, p := range given {
		for _, q := range []string{within(folder, p), within(folder, Followed(folder, p))} {
			if !slices.Contains(out, q) {
				out = append(out, q)
			}
		}
	}
	return out
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
