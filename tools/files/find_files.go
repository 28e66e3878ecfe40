package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/excerpt"
)

// maxFound bounds the names that find_files gives.
const maxFound = 1000

// findFiles finds files by name.
type findFiles struct{ limits }

type findArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
}

// Spec describes the tool.
func (findFiles) Spec() tools.Spec {
	return tools.Spec{
		Name: "find_files",
		Description: "Find files of the workspace by a pattern: * and ? within a name, ** across folders, {a,b} either. " +
			"A pattern without a slash means a name in any folder. What .gitignore leaves out is not found.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"pattern": {"type": "string", "minLength": 1, "description": "such as *.go or docs/**/*.md"},
				"path": {"type": "string", "minLength": 1, "description": "folder to look in; the workspace if left out"}
			},
			"required": ["pattern"],
			"additionalProperties": false
		}`),
	}
}

// Describe says that it only reads.
func (findFiles) Describe(string, json.RawMessage) tools.Traits {
	return tools.Traits{Effect: journal.EffectRead}
}

// Check refuses a pattern that cannot be read.
func (findFiles) Check(args json.RawMessage) error {
	a, err := tools.Decode[findArgs](args)
	if err != nil {
		return err
	}
	return checkGlob(a.Pattern)
}

func checkGlob(pattern string) error {
	switch {
	case !doublestar.ValidatePattern(pattern):
		return fmt.Errorf("the pattern %q is not a file pattern", pattern)
	case strings.HasPrefix(pattern, "/"):
		return errors.New("the pattern begins with a slash; patterns are relative, and path says where to look")
	}
	return nil
}

// globMatches compares a path below the folder that was asked for.
func globMatches(pattern, rel string) bool {
	if !strings.Contains(pattern, "/") {
		rel = path.Base(rel)
	}
	return doublestar.MatchUnvalidated(strings.TrimPrefix(pattern, "./"), rel)
}

// Call finds the files.
func (t findFiles) Call(ctx context.Context, c tools.Call) (journal.Result, error) {
	a, err := tools.Decode[findArgs](c.Args)
	if err == nil {
		err = checkGlob(a.Pattern)
	}
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	w, dir, err := t.folder(c, a.Path)
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	defer w.Close()
	defer dir.close()
	var out strings.Builder
	found, full := 0, false
	k := &walker{ctx: ctx, visit: func(_ *opened, _ fs.DirEntry, rel string) error {
		if !globMatches(a.Pattern, below(dir.rel, rel)) {
			return nil
		}
		if found == maxFound || out.Len() > excerpt.MaxContent-maxPath {
			full = true
			return errEnough
		}
		found++
		out.WriteString(excerpt.Name(w.shown(rel)) + "\n")
		return nil
	}}
	if err := k.run(dir); err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	if found == 0 {
		out.WriteString("[no file matches]\n")
	}
	if full {
		fmt.Fprintf(&out, "[stopped after %d files; narrow the pattern or the path]\n", found)
	}
	return tools.Done(journal.AppliedNo, out.String()+k.note()), nil
}

// below takes the way to a folder off a path in it.
func below(folder, rel string) string {
	if folder == "." {
		return rel
	}
	return strings.TrimPrefix(rel, folder+"/")
}
