package files

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"regexp/syntax"
	"strings"

	"agent/recovery/journal"
	"agent/tools"
)

// Bounds of a search.
const (
	maxSearched     = 32 << 20 // bytes of a file
	maxMatches      = 1000
	usualMatches    = 200
	lineRoom        = 400 // bytes of a line that are shown
	lineBeforeMatch = 100 // of them before the match, when the line is longer
)

// search finds lines by a regular expression.
type search struct{ limits }

type searchArgs struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path"`
	Glob       string `json:"glob"`
	IgnoreCase bool   `json:"ignore_case"`
	Max        int    `json:"max"`
}

// Spec describes the tool.
func (search) Spec() tools.Spec {
	return tools.Spec{
		Name: "search",
		Description: "Search the text files of the workspace for lines that match a regular expression (RE2 syntax, line by line). " +
			"Results are path:line: text. What .gitignore leaves out and binary files are not searched.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {
				"pattern": {"type": "string", "minLength": 1, "description": "regular expression"},
				"path": {"type": "string", "minLength": 1, "description": "file or folder to search; the workspace if left out"},
				"glob": {"type": "string", "minLength": 1, "description": "only files that match this pattern, such as *.go"},
				"ignore_case": {"type": "boolean"},
				"max": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "lines to return at most, 200 if left out"}
			},
			"required": ["pattern"],
			"additionalProperties": false
		}`),
	}
}

// Describe says that it only reads.
func (search) Describe(string, json.RawMessage) tools.Traits {
	return tools.Traits{Effect: journal.EffectRead}
}

// Check refuses patterns that cannot be read.
func (search) Check(args json.RawMessage) error {
	a, err := tools.Decode[searchArgs](args)
	if err != nil {
		return err
	}
	_, err = a.compile()
	return err
}

// compile makes the searcher, or says what is wrong with the patterns.
func (a searchArgs) compile() (*searcher, error) {
	if a.Glob != "" {
		if err := checkGlob(a.Glob); err != nil {
			return nil, err
		}
	}
	pattern := a.Pattern
	if a.IgnoreCase {
		pattern = "(?i)" + pattern
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("the pattern is not a regular expression: %v", err)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("the pattern is not a regular expression: %v", err)
	}
	literal := required(tree)
	if strings.Contains(literal, "\n") {
		return nil, errors.New("the pattern goes over the end of a line; lines are searched one by one")
	}
	s := &searcher{re: re, literal: []byte(literal), glob: a.Glob, max: usualMatches}
	if a.Max > 0 {
		s.max = min(a.Max, maxMatches)
	}
	return s, nil
}

// required is the longest text that every match must hold; "" if there is none.
func required(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		longest := ""
		for _, sub := range re.Sub {
			if s := required(sub); len(s) > len(longest) {
				longest = s
			}
		}
		return longest
	}
	return ""
}

// Call searches.
func (t search) Call(ctx context.Context, c tools.Call) (journal.Result, error) {
	a, err := tools.Decode[searchArgs](c.Args)
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	s, err := a.compile()
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	w, err := t.openToWalk(c, a.Path)
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	defer w.Close()
	if a.Path == "" {
		a.Path = "."
	}
	note, err := s.run(ctx, w, a.Path)
	if err != nil {
		return tools.Failed(journal.AppliedNo, err)
	}
	return tools.Done(journal.AppliedNo, s.text()+note), nil
}

// run searches one file, or the files below a folder.
func (s *searcher) run(ctx context.Context, w *Workspace, asked string) (string, error) {
	at, err := w.Find(asked)
	if err != nil {
		return "", err
	}
	defer at.Close()
	if at.Info == nil || !at.Info.IsDir() {
		f, info, err := at.Open()
		if err != nil {
			return "", err
		}
		if err := s.file(f, info, w.shown(at.Rel)); !errors.Is(err, errEnough) {
			return "", err
		}
		return "", nil
	}
	dir, err := w.openFolder(asked)
	if err != nil {
		return "", err
	}
	defer dir.close()
	k := &walker{ctx: ctx, visit: func(in *opened, e fs.DirEntry, rel string) error {
		if !e.Type().IsRegular() || (s.glob != "" && !globMatches(s.glob, below(dir.rel, rel))) {
			return nil
		}
		return s.entry(in, e.Name(), rel)
	}}
	err = k.run(dir)
	return k.note(), err
}

// entry searches a file of a walk. One that cannot be read is counted and does not end the search.
func (s *searcher) entry(dir *opened, name, rel string) error {
	info, err := dir.root.Lstat(name)
	var f *os.File
	if err == nil && info.Mode().IsRegular() {
		f, info, err = openRegular(dir.root, name, info)
	}
	if err != nil || f == nil {
		s.unread++
		return nil
	}
	err = s.file(f, info, dir.w.shown(rel))
	if err != nil && !errors.Is(err, errEnough) {
		s.unread++
		return nil
	}
	return err
}
