//go:build linux

package main

import (
	"context"
	"errors"
	"os/exec"
	"runtime/debug"
	"time"

	confine "agent/tools/sandbox"
)

// confinedNote is what a profile says of a confined command.
const confinedNote = "The confining process is a start of this binary, which initialises what it needs alone; read and write add a network and a user namespace " +
	"and the mounts of what may be seen. Of its processor time (perf) a fifth is what confines, a fifth the runtime's start, a sixth the end of the process, which " +
	"unmaps the binary, and a sixth the packages that are initialised before it, half of them for encoding/gob, the entities of HTML and the tables of x/text."

// sandbox is /bin/true with each access, beside the same without any; and what a process pays once
// to know what the kernel gives.
func sandbox(ctx context.Context, b *bench) ([]row, error) {
	debug.FreeOSMemory() // a user namespace copies the process, with what measures before left in it
	hello, err := b.program(ctx, "hello")
	if err != nil {
		return nil, err
	}
	support := confine.Probe(b.exe)
	if !support.Namespaces {
		return nil, errors.New("there are no namespaces here")
	}
	var folders [3]string
	for i := range folders {
		if folders[i], err = b.folder("sandbox"); err != nil {
			return nil, err
		}
	}
	started := func(a confine.Access) func() error {
		return func() error {
			cmd := exec.CommandContext(ctx, "/bin/true")
			cmd.Dir = folders[0]
			if a != "" {
				p := confine.Profile{
					Access: a, Support: support, Workspace: folders[0], Temp: folders[1], Hidden: []string{folders[2]}, Guarded: []string{folders[1]},
				}
				if err := p.Wrap(cmd, b.exe); err != nil {
					return err
				}
			}
			return cmd.Run()
		}
	}
	accesses := confine.Accesses()
	plainly := func() error { return errors.Join(exec.CommandContext(ctx, hello).Run(), started("")()) }
	tasks := []func() error{started(""), plainly}
	for _, a := range accesses {
		tasks = append(tasks, started(a))
	}
	took, err := takeTurns(b.times(150), tasks...)
	if err != nil {
		return nil, err
	}
	// Apart from the commands: who comes next would wait while the kernel takes two networks down.
	probed, err := takeTurns(b.times(50), func() error { confine.Probe(b.exe); return nil }, plainly)
	if err != nil {
		return nil, err
	}
	ms := func(took []time.Duration) float64 { return median(took, time.Millisecond) }
	var rows []row
	const beside = "plain, and a Go program that says hello"
	for i, a := range accesses {
		rows = append(rows, cost("true, with access "+string(a), ms(took[2+i]), "ms", ms(took[1]), beside))
	}
	rows[0].Note = confinedNote
	return append(rows,
		cost("to find out what can be confined, once a process", ms(probed[0]), "ms", ms(probed[1]), beside).because(
			"Two confining processes, beside each other: only a try tells, since a kernel that grants namespaces may refuse what is done in them. "+
				"A run begins it while it opens its state, so that the first command seldom waits for it."),
		plain("plain /bin/true", ms(took[0]), "ms"),
	), nil
}
