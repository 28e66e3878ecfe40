package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
)

// maxEdit bounds the files that are edited in memory.
const maxEdit = 32 << 20

// editFile replaces exact text in a file.
type editFile struct{ limits }

type editArgs struct {
	Path string `json:"path"`
	Old  string `json:"old"`
	New  string `json:"new"`
	All  bool   `json:"all"`
}

// Spec describes the tool.
func (editFile) Spec() tools.Spec {
	return tools.Spec{
		Name: "edit_file",
		Description: "Replace exact text in a file of the workspace. The old text must be there exactly once, white space included; " +
			"give enough of what surrounds it, or set all to replace every occurrence.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"path": {"type": "string", "minLength": 1, "description": "relative to the workspace, or absolute inside it"},
				"old": {"type": "string", "minLength": 1, "description": "the text to replace, exactly as it is in the file"},
				"new": {"type": "string", "description": "the text to put in its place; empty removes it"},
				"all": {"type": "boolean", "default": false, "description": "replace every occurrence"}
			},
			"required": ["path", "old", "new"],
			"additionalProperties": false
		}`),
	}
}

// Describe says what the edit can be in that workspace.
func (editFile) Describe(folder string, args json.RawMessage) tools.Traits {
	return describeWrite(folder, args)
}

// Check refuses an edit that changes nothing.
func (editFile) Check(args json.RawMessage) error {
	a, err := tools.Decode[editArgs](args)
	if err == nil && a.Old == a.New {
		err = errors.New("old and new are the same text")
	}
	return err
}

// apply makes the new content, or says why the old text cannot be replaced.
func (a editArgs) apply(content string) (string, int, error) {
	n := strings.Count(content, a.Old)
	switch {
	case n == 0 && strings.Contains(a.Old, "\n") && strings.Contains(strings.ReplaceAll(content, "\r\n", "\n"), a.Old):
		return "", 0, fmt.Errorf("the old text is not in %s as given: its lines end in CR LF", a.Path)
	case n == 0:
		return "", 0, fmt.Errorf("the old text is not in %s; read the file and give the text exactly as it is", a.Path)
	case n > 1 && !a.All:
		return "", 0, fmt.Errorf("the old text is %d times in %s; give more of what surrounds it, or set all", n, a.Path)
	}
	return strings.ReplaceAll(content, a.Old, a.New), n, nil
}

// Prepare records what is there before and what will be there after.
func (t editFile) Prepare(_ context.Context, c tools.Call) (json.RawMessage, any, error) {
	a, err := tools.Decode[editArgs](c.Args)
	if err != nil {
		return nil, nil, err
	}
	w, s, err := t.targetToWrite(c, a.Path)
	if err != nil {
		return nil, nil, err
	}
	defer w.Close()
	defer s.Close()
	if s.Info == nil {
		return nil, nil, fmt.Errorf("%s does not exist; write_file makes files", a.Path)
	}
	before, content, err := s.look(maxEdit)
	if err != nil {
		return nil, nil, err
	}
	after, n, err := a.apply(string(content))
	if err != nil {
		return nil, nil, err
	}
	e, err := evidenceOf(w, s, before, []byte(after))
	if err != nil {
		return nil, nil, err
	}
	e.Count = n
	return tools.Encode(e), nil, nil
}

// Call edits the file if it still is what Prepare saw.
func (t editFile) Call(ctx context.Context, c tools.Call) (journal.Result, error) {
	a, err := tools.Decode[editArgs](c.Args)
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	w, s, e, err := t.preparedTarget(c, "edit", a.Path)
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	defer w.Close()
	defer s.Close()
	now, content, err := s.look(maxEdit)
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	if !now.Exists || now.Hash != e.Before.Hash {
		return tools.Failed(journal.AppliedNo, fmt.Errorf("edit %s: it was changed by someone else meanwhile; read it again", a.Path))
	}
	after, _, err := a.apply(string(content))
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	if applied, err := s.replace(ctx, c, []byte(after)); err != nil {
		return tools.Failed(applied, err)
	}
	return writeResult(e, journal.HowExecuted), nil
}

// Inspect looks whether an unsettled edit happened.
func (t editFile) Inspect(_ context.Context, c tools.Call) recovery.Inspection {
	a, err := tools.Decode[editArgs](c.Args)
	if err != nil {
		return recovery.Inspection{Answer: recovery.InspectionUnclear, Why: err.Error()}
	}
	return t.inspectWrite(c, a.Path)
}
