//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// compareEnds says in what a story that was killed ended otherwise than the one that was not. unsure is set where the runner was
// among what was killed: only then may something stay undone.
func compareEnds(was, is end, unsure, left bool) findings {
	var f findings
	for _, name := range slices.Sorted(maps.Keys(was.files)) {
		text, ok := is.files[name]
		switch {
		case name == "effects" && left:
		case !ok:
			f.add(differs, "the file %s is missing", name)
		case text != was.files[name] && sorted(text) != sorted(was.files[name]):
			f.add(differs, "the file %s holds %q, and without a kill %q", name, clip(text), clip(was.files[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is.files)) {
		if _, ok := was.files[name]; !ok {
			f.add(differs, "the file %s is left behind", name)
		}
	}
	for m, n := range was.saw {
		if is.saw[m] != n && !left {
			f.add(lost, "the effect %s happened %d times, and without a kill %d times", m, is.saw[m], n)
		}
	}
	if unsure {
		return f
	}
	if is.status != was.status || is.answer != was.answer {
		f.add(differs, "it ended %s with %q, and without a kill %s with %q", is.status, is.answer, was.status, was.answer)
	}
	if is.limits != was.limits {
		f.add(differs, "its limit asked %d times, and without a kill %d times", is.limits, was.limits)
	}
	if !slices.Equal(is.reads, was.reads) {
		f.add(lost, "its reads brought %q, and without a kill %q", clip(fmt.Sprint(is.reads)), clip(fmt.Sprint(was.reads)))
	}
	return f
}

func sorted(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func clip(text string) string {
	if len(text) > 600 {
		return text[:600] + "…"
	}
	return text
}

// quietEnd looks at a world in which nothing goes on any more: every decision was printed and is shown again, and doctor has
// nothing to say. In a brief look doctor is not asked, and show only where something was decided.
func (t *tale) quietEnd(ctx context.Context) error {
	for _, h := range t.last {
		if t.brief && len(h.said) == 0 {
			continue
		}
		if _, err := t.world.agent(ctx, "show", h.run.id); err != nil {
			return err
		}
	}
	if !t.brief {
		o, err := t.world.agent(ctx, "doctor")
		if err != nil {
			return err
		}
		if o.code != 0 {
			t.found.add(broken, "agent doctor ends with %d:\n%s", o.code, o.text)
		}
	}
	if err := t.look(); err != nil && !errors.Is(err, errFound) {
		return err
	}
	open, err := readable(t.world.state)
	if err != nil {
		return err
	}
	t.found = append(t.found, open...)
	_, f := check(t.record, heldIn(t.world.state))
	t.found = append(t.found, f...)
	t.found = append(t.found, compareWords(t.last, t.world.outputs)...)
	if t.world.server != nil {
		for _, c := range t.world.server.complaints() {
			t.found.add(refused, "%s", c)
		}
	}
	return nil
}

// readable finds what others than its owner may read or write in a state folder.
func readable(state string) (findings, error) {
	var f findings
	err := filepath.WalkDir(state, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a command may still tidy up
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			f.add(exposed, "%s is %s", path, info.Mode())
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return f, err
}
