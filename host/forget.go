package host

import (
	"fmt"
	"os"
	"path/filepath"

	"agent/recovery"
	"agent/recovery/fault"
	"agent/tools"
)

// forget removes the files of runner calls whose result is durable.
func (d *driver) forget() {
	for _, c := range d.done {
		fault.Hit(fault.BeforeForget)
		if a, ok := d.tool(c).(tools.Attacher); ok {
			if err := a.Forget(c); err != nil {
				d.h.warn(c.Run, "%v (agent doctor finds what is left)", err)
			}
		}
	}
	d.done = nil
}

// forgetLeftovers removes what an earlier owner had no time to: files of calls with a durable result, and of attempts
// that were followed by another.
func (d *driver) forgetLeftovers() {
	entries, err := os.ReadDir(filepath.Join(d.h.CallsDir(), d.state.Created.Run))
	if err != nil {
		return // no folder, no leftovers; one that cannot be read is found by agent doctor
	}
	for _, e := range entries {
		p, ok := attempt(e.Name())
		if !ok {
			continue
		}
		c, err := d.state.Call(p)
		if err != nil || (c.Phase != recovery.PhaseSettled && p.Attempt >= c.Attempt) {
			continue
		}
		tc := d.toolCall(c)
		tc.Place = p
		d.done = append(d.done, tc)
	}
	d.forget()
}

// attempt reads the place of a call out of its folder's name: turn-index-attempt.
func attempt(name string) (p recovery.Place, ok bool) {
	n, err := fmt.Sscanf(name, "%d-%d-%d", &p.Turn, &p.Index, &p.Attempt)
	return p, err == nil && n == 3
}

// tidy has the tools remove what they kept for a run that has ended.
func (d *driver) tidy() {
	if d.dead != nil || !d.state.Status.Terminal() {
		return
	}
	run := d.state.Created.Run
	for _, name := range d.env.Tools.Names() {
		t, err := d.env.Tools.Get(name)
		if err != nil {
			continue // there is every tool that is named
		}
		if k, ok := t.(tools.Tidier); ok {
			if err := k.Tidy(run); err != nil {
				d.h.warn(run, "%v", err)
			}
		}
	}
}
