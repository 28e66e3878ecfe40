//go:build linux

package delegate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"agent/recovery/fault"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/plan"
)

// damage is a change to the product that breaks a promise on purpose, and what must find it.
type damage struct {
	name   string
	word   string // by which the broken binary is asked for it
	file   string
	text   string // of the product, once in its file
	change string // what stands there instead, where the word is given
	kind   string
	script script
}

// breakVar is the variable that names what the broken binary is to break.
const breakVar = "CRASHLAB_BREAK"

func damages() []damage {
	host := func(family string, arms ...plan.Arm) script {
		return script{family: family, victim: "host", arms: arms}
	}
	return []damage{
		{
			"the id of a child is not on record before it", "unnamed", "host/drive/call.go",
			"fact.Child = d.Child()", `if os.Getenv("` + breakVar + `") != "unnamed" { fact.Child = d.Child() }`,
			judge.Twice, host("task", at(0, fault.ChildRecorded, 1)),
		},
		{
			"a child is begun anew at each resume", "anew", "host/child/carry.go",
			"	return d.carry(ctx, c, nil)\n", `	if os.Getenv("` + breakVar + `") == "anew" {
		_, h, err := d.Prepare(ctx, c)
		if err != nil { return journal.Result{}, err }
		return d.Call(ctx, tools.Call{Run: c.Run, ID: c.ID, Args: c.Args, Handle: h, Parent: c.Parent, Waits: c.Waits})
	}
	if os.Getenv("` + breakVar + `") == "unheard" {
		c.Waits(true)
		<-ctx.Done()
		return journal.Result{}, &tools.SuspendedError{Waits: true, Detail: "it waits"}
	}
	return d.carry(ctx, c, nil)
`,
			judge.Twice, host("task", at(0, fault.AfterEffect, 1)),
		},
		{
			"an answer to a child never reaches the run at the top", "unheard", "", "", "",
			judge.Stuck, host("three", at(0, fault.Parked, 1)),
		},
		{
			"a child is driven by who does not hold the run at the top", "alone", "host/family.go",
			"	return cmp.Or(row.Root, run), nil\n", `	if os.Getenv("` + breakVar + `") == "alone" { return run, nil }
	return cmp.Or(row.Root, run), nil
`,
			judge.Broken, host("three", at(0, fault.Parked, 1)),
		},
	}
}

// controls have families killed whose binary breaks a promise. The binary takes a while to build,
// so a short pass leaves them to the whole one.
func controls(ctx context.Context, l *lab.Lab, c lab.Choice) error {
	if c.Short {
		return nil
	}
	exe, err := broken(ctx, l.Dir)
	if err != nil {
		return fmt.Errorf("build a binary that breaks promises: %w", err)
	}
	for _, d := range damages() {
		x, err := carryOut(ctx, l, d.script, func(x *attempt) {
			x.World.Exe = exe
			x.World.Env = append(x.World.Env, breakVar+"="+d.word)
		})
		if err != nil {
			return fmt.Errorf("the control %q: %w", d.name, err)
		}
		l.Control(d.name, d.kind, x.Found)
		if err := x.World.Close(false); err != nil {
			return err
		}
	}
	return os.Remove(exe)
}

// broken builds the binary with all damages, of which each waits to be asked for.
func broken(ctx context.Context, dir string) (exe string, err error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "agent").Output()
	if err != nil {
		return "", err
	}
	scratch, err := os.MkdirTemp(dir, "broken-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	replace := map[string]string{}
	for i, d := range damages() {
		if d.file == "" {
			continue
		}
		path := filepath.Join(strings.TrimSpace(string(root)), d.file)
		text, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		changed, err := d.apply(string(text))
		if err != nil {
			return "", err
		}
		replace[path] = filepath.Join(scratch, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(replace[path], []byte(changed), 0o600); err != nil {
			return "", err
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return "", err
	}
	exe = filepath.Join(dir, "agent-broken")
	c := exec.CommandContext(ctx, "go", "build", "-overlay", list, "-o", exe, "agent")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, text)
	}
	return exe, nil
}

// apply is the text of a file with the damage in it.
func (d damage) apply(text string) (string, error) {
	if n := strings.Count(text, d.text); n != 1 {
		return "", fmt.Errorf("%s: the text that the control %q changes is there %d times", d.file, d.name, n)
	}
	text = strings.Replace(text, d.text, d.change, 1)
	return strings.Replace(text, "import (\n", "import (\n\t\"os\"\n", 1), nil
}
