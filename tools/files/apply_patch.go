package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/excerpt"
	"agent/tools/patch"
)

// applyPatch changes several files at once, or none.
type applyPatch struct{ limits }

type patchArgs struct {
	Patch string `json:"patch"`
}

// Spec describes the tool.
func (applyPatch) Spec() tools.Spec {
	return tools.Spec{
		Name: "apply_patch",
		Description: "Apply a unified diff to files of the workspace: all of it or, if any line of it does not fit, nothing. " +
			"For each file: a line --- a/PATH, a line +++ b/PATH (/dev/null as the old name makes a file, as the new one deletes it), " +
			"then hunks that begin with @@ -LINE,COUNT +LINE,COUNT @@ and whose lines begin with a space (there already), - or +. " +
			"Lines that are there already must be given exactly; about three of them around a change tell where it belongs. " +
			"git's header lines rename a file (rename from, rename to) or make it executable (old mode, new mode).",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"patch": {"type": "string", "minLength": 1, "description": "the unified diff; paths are relative to the workspace"}
			},
			"required": ["patch"],
			"additionalProperties": false
		}`),
	}
}

// Describe names the files that the patch names. It is a local write, unless it changes what is
// obeyed outside of the sandbox.
func (applyPatch) Describe(folder string, args json.RawMessage) tools.Traits {
	d := tools.Traits{Effect: journal.EffectWriteExternal, Paths: []string{}, Touches: tools.TouchesPaths} // of what is no patch
	a, err := tools.Decode[patchArgs](args)
	if err != nil {
		return d
	}
	if p, err := patch.Parse(a.Patch); err == nil || a.Patch == "" {
		d.Paths = append(d.Paths, p.Paths()...)
		d.Effect = writeEffect(folder, d.Paths...)
	}
	return d
}

// Check refuses what is no patch.
func (applyPatch) Check(args json.RawMessage) error {
	a, err := tools.Decode[patchArgs](args)
	if err == nil {
		_, err = patch.Parse(a.Patch)
	}
	return err
}

// change is what a patch makes of one path. A rename is two of them: one makes the new name, one
// deletes the old one.
type change struct {
	evidence
	Gone    bool   `json:"gone,omitempty"` // nothing is to be there
	Exec    bool   `json:"exec,omitempty"` // it is to be executable
	File    int    `json:"file"`           // index in the patch
	From    string `json:"from,omitempty"` // with a rename's new name: where the old content is
	Moved   bool   `json:"moved,omitempty"`
	Added   int    `json:"added,omitempty"`
	Removed int    `json:"removed,omitempty"`
}

// Prepare applies the patch in memory, and records of every file what is there before and what will
// be there after. A patch of which an earlier attempt did a part is only finished: what was
// recorded then still holds.
func (t applyPatch) Prepare(_ context.Context, c tools.Call) (json.RawMessage, any, error) {
	w, err := t.openToWrite(c, "")
	if err != nil {
		return nil, nil, err
	}
	defer w.Close()
	if len(c.Before) > 0 {
		if changes, err := tools.Decode[[]change](c.Before); err == nil && w.survey(changes).provable() {
			return c.Before, nil, nil
		}
	}
	a, err := tools.Decode[patchArgs](c.Args)
	if err != nil {
		return nil, nil, err
	}
	p, err := patch.Parse(a.Patch)
	if err != nil {
		return nil, nil, err
	}
	changes, err := w.plan(p)
	if err != nil {
		return nil, nil, err
	}
	return tools.Encode(changes), nil, nil
}

// Call carries out what Prepare recorded.
func (t applyPatch) Call(ctx context.Context, c tools.Call) (journal.Result, error) {
	a, err := tools.Decode[patchArgs](c.Args)
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	p, err := patch.Parse(a.Patch)
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	changes, err := tools.Decode[[]change](c.Before)
	if err != nil || len(changes) == 0 {
		return tools.Failed(journal.AppliedNo, errors.New("apply the patch: nothing was recorded of the files before"))
	}
	w, err := t.openToWrite(c, "")
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	defer w.Close()
	j := &patching{w: w, call: c, changes: changes}
	defer j.close()
	applied, err := j.carryOut(ctx, p)
	if err != nil {
		return tools.Failed(applied, fmt.Errorf("apply the patch: %w", err))
	}
	return patchResult(changes, journal.HowExecuted), nil
}

// patched is one file in Result.Data.
type patched struct {
	Path    string `json:"path"`
	From    string `json:"from,omitempty"` // of a rename
	Deleted bool   `json:"deleted,omitempty"`
	Hash    string `json:"hash,omitempty"` // SHA-256 of the content that is there now, in hex
	Size    int64  `json:"size"`
	Added   int    `json:"added"`
	Removed int    `json:"removed"`
}

// patchResult says what was done with each file.
func patchResult(changes []change, how journal.How) journal.Result {
	var lines []string
	files := []patched{}
	for _, ch := range changes {
		if ch.Gone && ch.Moved {
			continue // its new name tells of it
		}
		lines = append(lines, ch.words())
		files = append(files, patched{
			Path: ch.Path, From: ch.From, Deleted: ch.Gone, Hash: ch.After, Size: ch.Size, Added: ch.Added, Removed: ch.Removed,
		})
	}
	text := strings.Join(lines, "\n")
	if how == journal.HowVerified {
		text += "\n(seen after an interruption)"
	}
	r := tools.Done(journal.AppliedYes, text)
	r.How, r.Data = how, tools.Encode(files)
	return r
}

func (ch change) words() string {
	count := fmt.Sprintf("%s added, %d removed", excerpt.Plural(ch.Added, "line", "lines"), ch.Removed)
	mode := ""
	if was := ch.Before.Mode&0o100 != 0; ch.Exec && !was {
		mode = ", executable now"
	} else if !ch.Exec && was && !ch.Gone {
		mode = ", not executable now"
	}
	switch {
	case ch.Gone:
		return fmt.Sprintf("deleted %s: %d removed", ch.Path, ch.Removed)
	case ch.From != "":
		return fmt.Sprintf("renamed %s to %s: %s", ch.From, ch.Path, count)
	case !ch.Before.Exists:
		return fmt.Sprintf("created %s: %s%s", ch.Path, excerpt.Plural(ch.Added, "line", "lines"), mode)
	}
	return fmt.Sprintf("patched %s: %s%s", ch.Path, count, mode)
}
