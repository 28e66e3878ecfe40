//go:build linux

package trial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/marks"
	"agent/scripts/crashlab/story"
)

// heldIn says whether a run's lock is held, by asking the kernel and taking nothing.
func heldIn(state string) func(string) bool {
	return func(run string) bool {
		f, err := os.OpenFile(filepath.Join(state, "locks", run), os.O_RDWR, 0)
		if err != nil {
			return false
		}
		lock := unix.Flock_t{Type: unix.F_WRLCK}
		err = errors.Join(unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock), f.Close())
		return err == nil && lock.Type != unix.F_UNLCK
	}
}

// CheckAtEnd looks at a world in which nothing goes on any more: every decision was printed and is
// shown again, and doctor has nothing to say. In a brief look doctor is not asked, and show only
// where something was decided.
func (t *Trial) CheckAtEnd(ctx context.Context) error {
	for _, h := range t.Histories {
		if t.Brief && len(h.Verdicts) == 0 {
			continue
		}
		if _, err := t.World.Run(ctx, "show", h.Run.ID); err != nil {
			return err
		}
	}
	if !t.Brief {
		o, err := t.World.Run(ctx, "doctor")
		if err != nil {
			return err
		}
		if o.Code != 0 {
			t.Found.Add(judge.Broken, "agent doctor ends with %d:\n%s", o.Code, o.Text)
		}
	}
	if err := t.Look(); err != nil && !errors.Is(err, ErrFound) {
		return err
	}
	open, err := openToOthers(t.World.State)
	if err != nil {
		return err
	}
	t.Found = append(t.Found, open...)
	_, f := judge.Check(t.Record, heldIn(t.World.State))
	t.Found = append(t.Found, f...)
	t.Found = append(t.Found, judge.CompareVerdicts(t.Histories, t.World.Outputs)...)
	if t.World.Model != nil {
		for _, c := range t.World.Model.Complaints() {
			t.Found.Add(judge.Refused, "%s", c)
		}
	}
	return nil
}

// openToOthers finds what others than its owner may read or write in a state folder.
func openToOthers(state string) (judge.Findings, error) {
	var f judge.Findings
	err := filepath.WalkDir(state, func(path string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // a command may still tidy up
		}
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 && !pinned(state, path, info) {
			f.Add(judge.Exposed, "%s is %s", path, info.Mode())
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return f, err
}

// pinned says that a file is another name of one of a repository, which has its mode from there.
// The folders around it are closed.
func pinned(state, path string, info fs.FileInfo) bool {
	rel, err := filepath.Rel(filepath.Join(state, "pins"), path)
	return err == nil && filepath.IsLocal(rel) && info.Mode().IsRegular() && info.Mode().Perm() == 0o444
}

func (t *Trial) End() (judge.End, error) {
	e := judge.End{Files: map[string]string{}, Saw: map[string]int{}, Commands: t.Commands}
	plain := func(text string) string {
		text = strings.ReplaceAll(text, t.World.Root, "")
		return strings.ReplaceAll(text, marks.In(t.World.Number, ""), "mark-")
	}
	err := filepath.WalkDir(t.World.Dir, func(path string, x fs.DirEntry, err error) error {
		if err != nil || x.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if x.Type()&fs.ModeSymlink != 0 { // it may lead nowhere
			var to string
			to, err = os.Readlink(path)
			b = []byte(to)
		}
		e.Files[plain(strings.TrimPrefix(path, t.World.Dir+"/"))] = plain(string(b))
		return err
	})
	if err != nil {
		return e, err
	}
	for _, q := range t.Record.Requests {
		if q.Kind == "max_turns" {
			e.Limits++
		}
	}
	saw, err := t.World.Witness.Counts()
	for m, n := range saw {
		e.Saw[plain(m)] = n
	}
	for _, h := range t.Histories {
		e.Answer, e.Status = plain(h.Answer), h.Run.Status
		for _, c := range h.Calls {
			if len(c.Results) == 0 {
				continue
			}
			r := c.Results[0].Result
			if r.Outcome == "unknown" {
				t.Unknown++
				if !story.Subjects()[c.Tool].Blind {
					t.Needless = append(t.Needless, fmt.Sprintf("%d.%d %s", c.Turn, c.Index, c.Tool))
				}
			}
			if story.Subjects()[c.Tool].Class == story.Reads && c.Tool != "read_output" {
				e.Reads = append(e.Reads, c.Tool+" "+r.Outcome+": "+plain(r.Content))
			}
			e.Results++
		}
	}
	return e, err
}

// Expect checks that the result of the call that the story is about holds what it should.
func (t *Trial) Expect() {
	base, _, _ := strings.Cut(t.Story.Tool, ":")
	for _, h := range t.Histories {
		for _, c := range h.Calls {
			if c.Tool == base && len(c.Results) > 0 && strings.Contains(c.Results[0].Result.Content, t.Story.Subject.Returns) {
				return
			}
		}
	}
	t.Found.Add(judge.Unlisted, "no result of %s holds %q", base, t.Story.Subject.Returns)
}
