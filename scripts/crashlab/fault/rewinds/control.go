//go:build linux

package rewinds

import (
	"context"
	"errors"
	"fmt"
	"os"

	"agent/recovery/fault"
	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/plan"
	"agent/scripts/crashlab/world"
)

// damage is one to the product, and what must find it; a kind of "" is no damage, and nothing may
// be found.
type damage struct {
	world.Damage
	kind   string
	script script
}

// coarse are changes by which the times of files are those of a file system whose clock stands
// still. A write behind a look shows in no time of a file then, and every file is young.
func coarse() []world.Damage {
	const still = `	if os.Getenv("CRASHLAB_BREAK") == "unhashed" || <asked> { e.Mtime, e.Ctime = 0, 1<<62 }
`
	text := []string{"	return e\n}\n\n// ownerOf", "	return e, identity{uint64(st.Dev), st.Ino} //nolint"}
	var out []world.Damage
	for _, t := range text {
		out = append(out, world.Damage{
			Name: "files are written while the clock of the file system stands still", Word: "coarse",
			File: "tools/scan/folder_linux.go", Text: t, Change: still + t,
		})
	}
	return out
}

func damages() []damage {
	host := func(situation, family string, arms ...plan.Arm) script {
		return script{family: family, situation: situation, victim: "host", arms: arms}
	}
	return []damage{
		{
			world.Damage{
				Name: "nothing is looked at before a call", Word: "blind", File: "host/drive/files.go",
				Text: "	f, ok := rec.changesFiles(c)\n	if !ok {\n", Change: "	f, ok := rec.changesFiles(c)\n	if !ok || <asked> {\n",
			},
			judge.Lost, host(destroy, "work", at(0, fault.AfterTurn, 1)),
		},
		{
			world.Damage{
				Name: "a rewind ends with git clean", Word: "clean", File: "tools/restore/restore.go",
				Text: "	text := count(made)\n", Change: `	if <asked> {
		p, err := os.StartProcess("/usr/bin/env", []string{"env", "git", "-C", c.Folder, "clean", "-fdq"}, &os.ProcAttr{})
		if err == nil { _, _ = p.Wait() }
	}
	text := count(made)
`,
			},
			judge.Differs, host(rewind, "work", at(0, fault.RestoreRenamed, 2)),
		},
		{coarse()[0], "", host(destroy, "plain", at(0, fault.AfterTurn, 1))},
		{
			world.Damage{
				Name: "what is young is not read again", Word: "unhashed", File: "host/workspace/look.go",
				Text: "!known || !s.young && s.stat == e", Change: "!known || (!s.young || <asked>) && s.stat == e",
			},
			judge.Lost, host(destroy, "plain", at(0, fault.AfterTurn, 1)),
		},
		{
			world.Damage{
				Name: "files are made again in their places", Word: "inplace", File: "tools/scan/restore.go",
				Text: "	temp := tempName(r.name)\n	var f *os.File\n", Change: `	if <asked> {
		f, err := r.dir.OpenFile(r.name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil { return err }
		_, err = f.Write(content[:len(content)/2])
		fault.Hit(fault.RestoreTemp)
		_, err2 := f.Write(content[len(content)/2:])
		return first(err, err2, chmod(f, want.Mode), f.Close())
	}
	temp := tempName(r.name)
	var f *os.File
`,
			},
			Torn, host(rewind, "work", at(0, fault.RestoreTemp, 3)),
		},
	}
}

// changes are all that the broken binary has in it.
func changes() []world.Damage {
	all := coarse()[1:]
	for _, d := range damages() {
		all = append(all, d.Damage)
	}
	return all
}

// controls have families killed whose binary breaks a promise. The binary takes a while to build,
// so a short pass leaves them to the whole one.
func controls(ctx context.Context, l *lab.Lab, c lab.Choice) error {
	if c.Short {
		return nil
	}
	exe, err := world.Broken(ctx, l.Dir, changes())
	if err != nil {
		return fmt.Errorf("build a binary that breaks promises: %w", err)
	}
	for _, d := range damages() {
		if err := control(ctx, l, d, exe); err != nil {
			return fmt.Errorf("the control %q: %w", d.Name, err)
		}
	}
	return os.Remove(exe)
}

func control(ctx context.Context, l *lab.Lab, d damage, exe string) error {
	x, err := carryOut(ctx, l, d.script, func(x *attempt) {
		x.World.Exe = exe
		x.World.Env = append(x.World.Env, world.BreakVar+"="+d.Word)
	})
	if err != nil {
		return err
	}
	if len(x.Found) == 0 {
		if x.Found, err = x.ended(); err != nil {
			return err
		}
	}
	if d.kind == "" {
		if len(x.Found) > 0 {
			return errors.Join(fmt.Errorf("it finds %v, kept in %s", x.Found, x.World.Root), x.World.SaveTranscript(d.Name), x.World.Close(true))
		}
		return x.World.Close(false)
	}
	l.Control(d.Name, d.kind, x.Found)
	return x.World.Close(false)
}
