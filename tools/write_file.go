package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"agent/recovery"
)

// writeFile makes a file or replaces all of its content.
type writeFile struct{ files }

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// Spec describes the tool.
func (writeFile) Spec() Spec {
	return Spec{
		Name: "write_file",
		Description: "Create a file in the workspace, or replace all of its content. Missing folders are made. " +
			"The write is atomic: readers see the old content or the new one. To change a part of a file, use edit_file.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string", "minLength": 1, "description": "relative to the workspace, or absolute inside it"},
				"content": {"type": "string", "description": "the whole new content"}
			},
			"required": ["path", "content"],
			"additionalProperties": false
		}`),
	}
}

// Effect is a local write.
func (writeFile) Effect(args json.RawMessage) recovery.Effect { return writeEffect(args) }

// writeEffect calls a write among git's own files what it can be: a command that git runs later.
func writeEffect(args json.RawMessage) recovery.Effect {
	var a struct {
		Path string `json:"path"`
	}
	if json.Unmarshal(args, &a) != nil || inGit(a.Path) {
		return recovery.EffectWriteExternal
	}
	return recovery.EffectWriteLocal
}

// inGit knows .git by each name that some file system takes for it: in any case, with what it ignores or cuts off, and by the
// short name that Windows makes (as git's own core.protectHFS and core.protectNTFS do).
func inGit(path string) bool {
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' }) {
		part = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) {
				return -1
			}
			return r
		}, part)
		part, _, _ = strings.Cut(part, ":")
		part = strings.TrimRight(part, " .")
		if strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1") {
			return true
		}
	}
	return false
}

// spotToWrite walks to what a call wants to write.
func (f files) spotToWrite(folder, asked string) (*workspace, *spot, error) {
	w, err := openWorkspace(folder, f.barred)
	if err != nil {
		return nil, nil, err
	}
	s, err := w.spotToWrite(asked)
	if err != nil {
		w.close()
		return nil, nil, err
	}
	return w, s, nil
}

func (w *workspace) spotToWrite(asked string) (*spot, error) {
	s, err := w.find(asked)
	if err != nil {
		return nil, err
	}
	err = s.writable()
	if err == nil && inGit(s.rel) && !inGit(asked) {
		err = fmt.Errorf("%s leads to git's own files (%s); name them as they are", asked, s.rel)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// Prepare records what is there before.
func (t writeFile) Prepare(_ context.Context, c Call) (json.RawMessage, any, error) {
	a, err := decode[writeArgs](c.Args)
	if err != nil {
		return nil, nil, err
	}
	w, s, err := t.spotToWrite(c.Folder, a.Path)
	if err != nil {
		return nil, nil, err
	}
	defer w.close()
	defer s.close()
	before, _, err := s.look(0)
	if err != nil {
		return nil, nil, err
	}
	e, err := evidenceOf(s, before, []byte(a.Content))
	if err != nil {
		return nil, nil, err
	}
	return data(e), nil, nil
}

// Call writes the file.
func (t writeFile) Call(ctx context.Context, c Call) (recovery.Result, error) {
	a, err := decode[writeArgs](c.Args)
	if err != nil {
		return failed(recovery.AppliedNo, err)
	}
	w, s, err := t.spotToWrite(c.Folder, a.Path)
	if err != nil {
		return failed(recovery.AppliedNo, err)
	}
	defer w.close()
	defer s.close()
	var e evidence
	if err := json.Unmarshal(c.Before, &e); err != nil || e.Path != s.rel {
		return failed(recovery.AppliedNo, fmt.Errorf("write %s: it leads to %s now, not to where it led before", a.Path, s.rel))
	}
	now, _, err := s.look(0)
	if err != nil {
		return failed(recovery.AppliedNo, err)
	}
	if e.Before = now; now.Exists && now.Hash == e.After {
		return writeResult(e, recovery.HowExecuted), nil
	}
	if applied, err := s.replace(ctx, c, []byte(a.Content)); err != nil {
		return failed(applied, err)
	}
	return writeResult(e, recovery.HowExecuted), nil
}

// Inspect looks whether an unsettled write happened.
func (t writeFile) Inspect(_ context.Context, c Call) recovery.Inspection {
	a, err := decode[writeArgs](c.Args)
	if err != nil {
		return recovery.Inspection{Answer: recovery.InspectionUnclear, Why: err.Error()}
	}
	return t.inspectWrite(c, a.Path)
}
