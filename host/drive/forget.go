package drive

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"agent/db"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/runner"
)

// forget removes the files of runner calls whose result is durable.
func (cl *caller) forget() {
	for _, c := range cl.done {
		fault.Hit(fault.BeforeForget)
		if a, ok := cl.tool(c).(tools.Process); ok {
			if err := a.Discard(c); err != nil {
				cl.p.Warn(c.Run, "%v (agent doctor finds what is left)", err)
			}
		}
	}
	cl.done = nil
}

// forgetLeftovers removes what an earlier owner had no time to: files of calls with a durable
// result, and of attempts that were followed by another.
func (cl *caller) forgetLeftovers() {
	dir := filepath.Join(cl.p.CallsDir(), cl.state.Created.Run)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // no folder, no leftovers; one that cannot be read is found by agent doctor
	}
	for _, e := range entries {
		id, ok := runner.IdentityOf(filepath.Join(dir, e.Name()))
		if !ok {
			continue
		}
		p := journal.Place{Turn: id.Turn, Index: id.Index, Attempt: id.Attempt}
		c, err := cl.state.Call(p)
		if err != nil || (c.Phase != journal.PhaseSettled && p.Attempt >= c.Attempt) {
			continue
		}
		tc := cl.toolCall(c)
		tc.Place = p
		cl.done = append(cl.done, tc)
	}
	cl.forget()
}

// tidy has the tools remove what they kept for a run that has ended.
func (cl *caller) tidy() {
	if cl.dead != nil || !cl.state.Status.Terminal() {
		return
	}
	run := cl.state.Created.Run
	if cl.p.Files != nil {
		cl.p.Files.Ended(cl.state.Created)
	}
	cl.clear()
	for _, name := range cl.env.Tools.Names() {
		t, err := cl.env.Tools.Get(name)
		if err != nil {
			continue // there is every tool that is named
		}
		if k, ok := t.(tools.Tidier); ok {
			if err := k.Tidy(run); err != nil {
				cl.p.Warn(run, "%v", err)
			}
		}
	}
}

// clear has the tools take away what calls left that were cut short.
func (cl *caller) clear() {
	for _, turn := range cl.state.Turns {
		for _, c := range turn.Calls {
			if !c.Unknown() {
				continue
			}
			t, err := cl.env.Tools.Get(c.Tool)
			if err != nil {
				continue // nobody knows what such a call leaves
			}
			if k, ok := t.(tools.Clearer); ok {
				if err := k.Clear(cl.toolCall(c)); err != nil {
					cl.p.Warn(cl.state.Created.Run, "%v", err)
				}
			}
		}
	}
}

// Decided is when a person last said that the database counts; zero without such a word.
func (p *Process) Decided() time.Time {
	m, err := p.Store.Mark()
	if err != nil {
		return time.Time{} // no mark, no decision
	}
	return m.Decided
}

// clearGivenUp is for a call that is about to start and whose folder says that it began: its start
// was recorded, and is not any more. Where a person decided since that the database counts all the
// same, the folder goes. Else nothing is driven.
func (p *Process) clearGivenUp(c tools.Call) error {
	folder := runner.Identity{Run: c.Run, Turn: c.Turn, Index: c.Index, Attempt: c.Attempt}.Folder(p.CallsDir())
	began := filepath.Join(folder, "began")
	if info, err := os.Stat(began); err == nil && !info.ModTime().After(p.Decided()) {
		return runner.Discard(folder)
	}
	what := fmt.Sprintf("run %s: call %s began on %s, and its start is not in the database", c.Run, c.Place, TimeOfFile(began))
	return &db.BehindError{Dir: p.Home, What: what}
}

// TimeOfFile says when a file was written.
func TimeOfFile(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "an unknown date" // gone meanwhile
	}
	return info.ModTime().Local().Format(time.DateTime)
}
