package files

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/gitrepo"
)

// writeFile makes a file or replaces all of its content.
type writeFile struct{ limits }

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// Spec describes the tool.
func (writeFile) Spec() tools.Spec {
	return tools.Spec{
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

// Describe says what the write can be in that workspace.
func (writeFile) Describe(folder string, args json.RawMessage) tools.Traits {
	return describeWrite(folder, args)
}

// obeyedIn says whether git, an editor or a shell obeys one of these files of the workspace, once
// all of them are there.
func obeyedIn(folder string, paths ...string) bool {
	var list []string
	for _, path := range paths {
		at := path
		if filepath.IsAbs(path) {
			rel, err := filepath.Rel(folder, path)
			if err != nil {
				return true // nothing can be said about it
			}
			path = rel
		} else {
			at = filepath.Join(folder, path)
		}
		if !strings.HasPrefix(filepath.ToSlash(filepath.Clean(path)), "../") {
			list = append(list, path)
		} else if obeyedBeside(at) {
			return true
		}
	}
	return slices.ContainsFunc(list, obeyed) || gitrepo.Obeys(folder, list...)
}

// obeyedBeside says the same of a file that lies in no workspace: it is seen from the repository
// around it, or else from the folder that is there.
func obeyedBeside(path string) bool {
	base := ""
	for at := filepath.Dir(path); ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if base == "" && err == nil && info.IsDir() {
			base = at
		}
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			base = at
			break
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	rel, err := filepath.Rel(base, path)
	return err != nil || obeyed(rel) || gitrepo.Obeys(base, rel)
}

// describeWrite describes a write of the file that the arguments name.
func describeWrite(folder string, args json.RawMessage) tools.Traits {
	var a struct {
		Path string `json:"path"`
	}
	if json.Unmarshal(args, &a) != nil {
		return tools.Traits{Effect: journal.EffectWriteExternal, Touches: tools.TouchesPaths}
	}
	return tools.Traits{Effect: writeEffect(folder, a.Path), Touches: tools.TouchesPaths}
}

// writeEffect calls a write among git's own files what it can be, a command that git runs later,
// and counts the workspace's own rules and servers with them, and what the settings of its
// repositories name: whoever works there next obeys them.
func writeEffect(folder string, paths ...string) journal.Effect {
	if slices.ContainsFunc(paths, obeyed) || folder != "" && obeyedIn(folder, paths...) {
		return journal.EffectWriteExternal
	}
	return journal.EffectWriteLocal
}

// obeyed knows .git, .agent and .mcp.json by each name that some file system takes for them: in any
// case, with what it ignores or cuts off, and git by the short name that Windows makes (as git's
// own core.protectHFS and core.protectNTFS do).
func obeyed(path string) bool {
	return gitNamed(path) || anyPart(path, ".agent", ".mcp.json") || gitrepo.Listed(path)
}

func gitNamed(path string) bool { return anyPart(path, ".git", "git~1") }

func anyPart(path string, names ...string) bool {
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' }) {
		part = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) {
				return -1
			}
			return r
		}, part)
		part, _, _ = strings.Cut(part, ":")
		part = strings.TrimRight(part, " .")
		if slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(part, n) }) {
			return true
		}
	}
	return false
}

// targetToWrite walks to what a call wants to write.
func (l limits) targetToWrite(c tools.Call, asked string) (*Workspace, *Target, error) {
	w, err := l.openToWrite(c, asked)
	if err != nil {
		return nil, nil, err
	}
	s, err := w.targetToWrite(asked)
	if err != nil {
		w.Close()
		return nil, nil, err
	}
	return w, s, nil
}

// preparedTarget walks to what Prepare looked at, and refuses anything else.
func (l limits) preparedTarget(c tools.Call, verb, asked string) (*Workspace, *Target, evidence, error) {
	var e evidence
	w, s, err := l.targetToWrite(c, asked)
	if err != nil {
		return nil, nil, e, err
	}
	if err := json.Unmarshal(c.Before, &e); err != nil || e.Path != w.shown(s.Rel) {
		s.Close()
		w.Close()
		return nil, nil, e, fmt.Errorf("%s %s: it leads to %s now, not to where it led before", verb, asked, w.shown(s.Rel))
	}
	return w, s, e, nil
}

func (w *Workspace) targetToWrite(asked string) (*Target, error) {
	s, err := w.Find(asked)
	if err != nil {
		return nil, err
	}
	err = s.writable()
	switch {
	case err != nil:
	case gitNamed(s.Rel) && !gitNamed(asked):
		err = fmt.Errorf("%s leads to git's own files (%s); name them as they are", asked, s.Rel)
	case obeyedIn(w.Real, s.Rel) && !obeyedIn(w.folder, w.absolute(asked)):
		err = fmt.Errorf("%s leads to what git, an editor or this program obeys (%s); name it as it is", asked, s.Rel)
	case w.rules(s):
		err = fmt.Errorf("%s is a part of your configuration of agent, which no tool may change", asked)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Folders lists the folders on the way to a target, from the workspace on to the one that holds it.
func (w *Workspace) Folders(s *Target) []*os.Root { return append([]*os.Root{w.root}, s.held...) }

// Linked says whether the path's own last name is a symlink: the target is what it leads to.
func (s *Target) Linked() bool { return s.linked }

// Reserved says whether a path is or lies among git's own files or this program's settings.
func Reserved(path string) bool { return gitNamed(path) || anyPart(path, ".agent") }

// rules says whether a target is or lies in what holds the person's policy, by identity and by
// path.
func (w *Workspace) rules(s *Target) bool {
	real := filepath.Join(w.Real, filepath.FromSlash(s.Rel))
	for _, b := range w.policy {
		if real == b.path || strings.HasPrefix(real, strings.TrimSuffix(b.path, "/")+"/") {
			return true
		}
		if b.info == nil {
			continue
		}
		if s.Info != nil && os.SameFile(b.info, s.Info) {
			return true
		}
		for _, dir := range w.Folders(s) {
			if info, err := dir.Stat("."); err != nil || os.SameFile(b.info, info) {
				return true // what cannot be looked at may be it
			}
		}
	}
	return false
}

// Prepare records what is there before.
func (t writeFile) Prepare(_ context.Context, c tools.Call) (json.RawMessage, any, error) {
	a, err := tools.Decode[writeArgs](c.Args)
	if err != nil {
		return nil, nil, err
	}
	w, s, err := t.targetToWrite(c, a.Path)
	if err != nil {
		return nil, nil, err
	}
	defer w.Close()
	defer s.Close()
	before, _, err := s.look(0)
	if err != nil {
		return nil, nil, err
	}
	e, err := evidenceOf(w, s, before, []byte(a.Content))
	if err != nil {
		return nil, nil, err
	}
	return tools.Encode(e), nil, nil
}

// Call writes the file.
func (t writeFile) Call(ctx context.Context, c tools.Call) (journal.Result, error) {
	a, err := tools.Decode[writeArgs](c.Args)
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	w, s, e, err := t.preparedTarget(c, "write", a.Path)
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	defer w.Close()
	defer s.Close()
	now, _, err := s.look(0)
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	if e.Before = now; now.Exists && now.Hash == e.After {
		return writeResult(e, journal.HowExecuted), nil
	}
	if applied, err := s.replace(ctx, c, []byte(a.Content)); err != nil {
		return tools.Failed(applied, err)
	}
	return writeResult(e, journal.HowExecuted), nil
}

// Inspect looks whether an unsettled write happened.
func (t writeFile) Inspect(_ context.Context, c tools.Call) recovery.Inspection {
	a, err := tools.Decode[writeArgs](c.Args)
	if err != nil {
		return recovery.Inspection{Answer: recovery.InspectionUnclear, Why: err.Error()}
	}
	return t.inspectWrite(c, a.Path)
}
