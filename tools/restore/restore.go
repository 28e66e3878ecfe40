// Package restore holds the tool that makes versions of files again: the one call of a rewind. It
// is never offered to a model.
//
// What it is given says of each path what was there when a person was shown the plan and what is to
// be there. Nothing is touched where a path holds neither, or where a content cannot be had. Each
// path comes into its place at once, so a call that was killed leaves each as the one or the other,
// and is carried out again.
package restore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/scan"
)

// Name is the tool's.
const Name = "restore_files"

// MaxFile is the longest file that is made again, bytes.
const MaxFile = 8 << 20

// Versions know contents.
type Versions interface {
	// Content gives the content of a version of a regular file.
	Content(ctx context.Context, v *journal.FileVersion) ([]byte, error)
	// Named gives a version that was read from disk the names of its content.
	Named(v *journal.FileVersion, e scan.Entry, content []byte) *journal.FileVersion
	// Close lets go of what was opened for contents. More may be asked for after it.
	Close() error
}

// File is one path that is to be made again.
type File struct {
	Path string               `json:"path"`
	Raw  []byte               `json:"raw,omitempty"`  // the path where it is not UTF-8
	Now  *journal.FileVersion `json:"now,omitempty"`  // nil: nothing is there
	Want *journal.FileVersion `json:"want,omitempty"` // nil: nothing is to be there
}

func (f File) name() string {
	if f.Raw != nil {
		return string(f.Raw)
	}
	return f.Path
}

// Args are the arguments of a call.
type Args struct {
	Files []File `json:"files"` // in the order in which they are made
}

// New makes the tool.
func New(v Versions) tools.Tool { return tool{v} }

type tool struct{ versions Versions }

// Spec describes the tool.
func (tool) Spec() tools.Spec {
	return tools.Spec{
		Name:        Name,
		Description: "Make files again as they were. Only a rewind calls it.",
		Schema:      json.RawMessage(`{"type":"object","properties":{"files":{"type":"array"}},"required":["files"]}`),
	}
}

// Describe names the files. A call that was cut short is carried out again.
func (tool) Describe(_ string, args json.RawMessage) tools.Traits {
	is := tools.Traits{Effect: journal.EffectWriteLocal, RetrySafe: true, Paths: []string{}, Touches: tools.TouchesPaths}
	a, err := tools.Decode[Args](args)
	if err != nil {
		return is
	}
	for _, f := range a.Files {
		is.Paths = append(is.Paths, f.name())
	}
	return is
}

// Call makes the files.
func (t tool) Call(ctx context.Context, c tools.Call) (journal.Result, error) {
	a, err := tools.Decode[Args](c.Args)
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	root, err := os.OpenRoot(c.Folder)
	if err != nil {
		return tools.Failed(journal.AppliedNo, fmt.Errorf("open the workspace: %v", err))
	}
	defer root.Close()       // only a handle
	defer t.versions.Close() // they were only read
	files := joined(a.Files)
	for _, f := range files {
		if _, err := t.look(root, f); err != nil {
			return tools.Failed(journal.AppliedNo, fmt.Errorf("%v; nothing was touched", err))
		}
		if _, err := t.content(ctx, f.Want); err != nil {
			return tools.Failed(journal.AppliedNo, fmt.Errorf("%s: %v; nothing was touched", f.Path, err))
		}
	}
	made := 0
	var left []string
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return tools.Failed(journal.AppliedUnknown, err)
		}
		switch did, err := t.make(ctx, root, f); {
		case errors.Is(err, scan.ErrNotEmpty):
			left = append(left, f.Path+" holds other files and stays")
		case err != nil:
			return tools.Failed(journal.AppliedUnknown, fmt.Errorf("make %s again: %v", f.Path, err))
		case did:
			made++
		}
	}
	text := count(made)
	if len(left) > 0 {
		text += "; " + strings.Join(left, ", ")
	}
	return journal.Result{Outcome: journal.OutcomeOK, Applied: journal.AppliedYes, Content: text}, nil
}

// step is a file on its way to what it is to be in the end. A path that changes between a folder
// and something else is there twice: it is removed first, and made then.
type step struct {
	File
	start *journal.FileVersion // as it is before the first step of the path
	end   *journal.FileVersion // as it is behind the last one
}

func joined(files []File) []step {
	steps := make([]step, len(files))
	last := map[string]int{}
	for i, f := range files {
		steps[i] = step{File: f, start: f.Now, end: f.Want}
		if before, twice := last[f.name()]; twice {
			steps[i].start = steps[before].start
			steps[before].end = f.Want
		}
		last[f.name()] = i
	}
	return steps
}

// Clear takes away the file that a call which was cut short had made and not put in its place.
func (tool) Clear(c tools.Call) error {
	a, err := tools.Decode[Args](c.Args)
	if err != nil {
		return fmt.Errorf("clear up behind call %s: %v", c.ID, err)
	}
	root, err := os.OpenRoot(c.Folder)
	if err != nil {
		return fmt.Errorf("clear up behind call %s: %v", c.ID, err)
	}
	defer root.Close() // only a handle
	for _, f := range a.Files {
		if err := scan.Clear(root, f.name()); err != nil {
			return fmt.Errorf("clear up behind call %s: %v", c.ID, err)
		}
	}
	return nil
}

func count(n int) string {
	if n == 1 {
		return "1 path given back"
	}
	return fmt.Sprintf("%d paths given back", n)
}

// look says whether a path is made again already, or whatever a step does to it. An error says that
// it is neither as it was when the plan was made nor as it is to be.
func (t tool) look(root *os.Root, f step) (done bool, err error) {
	v, e, content, err := scan.Version(root, f.name(), MaxFile)
	if err != nil {
		return false, fmt.Errorf("look at %s: %v", f.Path, err)
	}
	now := t.versions.Named(v, e, content)
	switch {
	case f.end.Same(now), f.Want.Same(now):
		return true, nil
	case f.Now.Same(now), f.start.Same(now):
		return false, nil
	case scan.IsClosed(f.Now): // until its folder is opened nobody knows what it is
		return false, nil
	}
	return false, fmt.Errorf("%s was changed since the plan was made", f.Path)
}

func (t tool) content(ctx context.Context, v *journal.FileVersion) ([]byte, error) {
	if v == nil || v.Kind != journal.FileRegular {
		return nil, nil
	}
	return t.versions.Content(ctx, v)
}

// make has a path be as it is to be.
func (t tool) make(ctx context.Context, root *os.Root, f step) (bool, error) {
	done, err := t.look(root, f)
	if err != nil || done {
		return false, err
	}
	content, err := t.content(ctx, f.Want)
	if err != nil {
		return false, err
	}
	return true, scan.Restore(root, f.name(), f.Want, content)
}
