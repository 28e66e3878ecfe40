//go:build linux

// Package attack runs the scripts in the folder scripts. Each attacks a promise from outside, with
// the binary, a shell and a witness of its own, and knows nothing of the code. What a script may
// expect and how it ends is described in scripts/lib.bash.
package attack

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/trial"
	"agent/scripts/crashlab/world"
)

// scripts are the scripts. They are part of the lab's binary, so that it finds them from wherever
// it is run.
//
//go:embed scripts
var scripts embed.FS

// Fault runs the scripts of the folder scripts. Each attacks a promise from outside, with the
// binary, a shell and a witness of its own, and knows nothing of the code. What a script may expect
// and how it ends is described in scripts/lib.bash.
func Fault() lab.Fault {
	return lab.Fault{
		Name: "attack", What: "scripts attack promises from outside, as a person, a command or a model would", Takes: "bash",
		Needs: func(*lab.Lab) error { _, err := exec.LookPath("bash"); return err }, Run: run,
	}
}

// Exit codes of a script.
const (
	held    = 0
	broken  = 1
	untried = 77
)

// brokenMark begins the line in which a script says that a promise is broken.
const brokenMark = "BROKEN: "

// slowMark is the line of a script's header by which the short pass leaves it out, with the reason
// behind it.
const slowMark = "# slow: "

// attack is a script.
type attack struct {
	name string
	slow bool
}

// list lists the scripts.
func list() ([]attack, error) {
	entries, err := fs.ReadDir(scripts, "scripts")
	if err != nil {
		return nil, err
	}
	var all []attack
	for _, e := range entries {
		name, script := strings.CutSuffix(e.Name(), ".sh")
		if !script {
			continue
		}
		text, err := fs.ReadFile(scripts, path.Join("scripts", e.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, attack{name, strings.Contains(string(text), "\n"+slowMark)})
	}
	return all, nil
}

func run(ctx context.Context, l *lab.Lab, c lab.Choice) error {
	all, err := list()
	if err != nil {
		return err
	}
	folder := filepath.Join(l.Dir, "attacks")
	if err := unpack(folder); err != nil {
		return err
	}
	var stories []lab.Case
	for _, a := range all {
		if c.Short && c.Only == "" && a.slow {
			continue
		}
		stories = append(stories, lab.Case{Key: a.name, Try: func(ctx context.Context, key string) error {
			return runAttack(ctx, l, key, filepath.Join(folder, a.name+".sh"), c.Seed)
		}})
	}
	return l.RunCases(ctx, "attack", c, stories)
}

// unpack writes the scripts into a folder.
func unpack(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	entries, err := fs.ReadDir(scripts, "scripts")
	if err != nil {
		return err
	}
	for _, e := range entries {
		text, err := fs.ReadFile(scripts, path.Join("scripts", e.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), text, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// runAttack runs a script: first as its own control, then against the binary.
func runAttack(ctx context.Context, l *lab.Lab, key, script string, seed uint64) error {
	for _, control := range []bool{true, false} {
		name := strings.ReplaceAll(key, "/", "-")
		if control {
			name += "-control"
		}
		root := filepath.Join(l.Dir, name)
		code, text, err := runScript(ctx, l, root, script, seed, control)
		if err != nil {
			return err
		}
		if code == untried {
			l.Report.NoteNotTried(key, errors.New(strings.TrimSpace(tail(text))))
			return os.RemoveAll(root)
		}
		found := judgeScript(code, text, control)
		if control && len(found) == 0 {
			l.Report.NoteCaught("the damage that " + key + " makes itself")
		}
		if !control {
			l.Report.CountCase("attack")
		}
		if len(found) > 0 {
			again := fmt.Sprintf("go run ./scripts/crashlab -faults -seed %d -only %s", seed, key)
			l.Report.AddFailure(lab.Failure{Key: key, Repeat: again, Folder: root, Findings: found})
			return trial.ErrFound
		}
		if err := os.RemoveAll(root); err != nil {
			return err
		}
	}
	return nil
}

// judgeScript says what the end of a script means.
func judgeScript(code int, text string, control bool) judge.Findings {
	var f judge.Findings
	caught := code == broken && strings.Contains("\n"+text, "\n"+brokenMark)
	switch {
	case control && !caught:
		f.Add(judge.Unlisted, "the script ends with %d although it made the damage itself (CONTROL=1):\n%s", code, tail(text))
	case control || code == held:
	case caught:
		f.Add(judge.Attacked, "%s", tail(text))
	default:
		f.Add(judge.Unlisted, "the script ends with %d:\n%s", code, tail(text))
	}
	return f
}

// tail is the end of what a script printed.
func tail(text string) string {
	const most = 3000
	if len(text) > most {
		return "…" + text[len(text)-most:]
	}
	return text
}

// limit is how long a script may take on a busy machine; it should take a few seconds.
const limit = 2 * time.Minute

// runScript runs a script in a folder of its own, and ends what it leaves behind. A script that was
// ended because of its time has the code -1.
func runScript(ctx context.Context, l *lab.Lab, root, script string, seed uint64, control bool) (code int, text string, err error) {
	work := filepath.Join(root, "work")
	if err := os.MkdirAll(filepath.Join(work, "home"), 0o700); err != nil {
		return 0, "", err
	}
	// A file, and no pipe: what the script leaves behind does not keep anybody waiting.
	out, err := os.Create(filepath.Join(root, "output"))
	if err != nil {
		return 0, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", script)
	c.Dir, c.Stdout, c.Stderr = work, out, out
	c.Env = append(world.PlainEnv(), "AGENT="+l.Exe, "WORK="+work, "HOME="+filepath.Join(work, "home"), "AGENT_HOME="+filepath.Join(work, "state"),
		"ATTACK_LIB="+filepath.Dir(script), fmt.Sprintf("SEED=%d", seed), "NO_COLOR=1", "CONTROL=")
	if control {
		c.Env = append(c.Env, "CONTROL=1")
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	ran := c.Run()
	var ended *exec.ExitError
	if ran != nil && !errors.As(ran, &ended) && ctx.Err() == nil {
		return 0, "", errors.Join(fmt.Errorf("run %s: %w", script, ran), out.Close())
	}
	_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) // a group in which nobody is left is what is wanted
	for _, p := range world.RunnersBelow(root) {
		err = errors.Join(err, p.Signal(syscall.SIGKILL))
	}
	if ctx.Err() != nil && context.Cause(ctx) != context.DeadlineExceeded {
		return 0, "", errors.Join(ctx.Err(), out.Close())
	}
	b, read := os.ReadFile(out.Name())
	return c.ProcessState.ExitCode(), string(b), errors.Join(err, read, out.Close())
}
