package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/flags"
	"agent/host/lines"
)

const runHelp = `Carries out a prompt. Activity goes to stderr, the answer to stdout.

Models are named provider/model, such as anthropic/claude-sonnet-5-5 or
ollama/qwen3; agent models lists what is known here and which would be used.
AGENTS.md of the folder, and of its parents up to the repository's root, is
shown to the model.

A runbook needs no model and no key: its fenced sh and bash blocks, and its
list items that begin with a tool's name, are carried out in order. It is
named as one, by --runbook or by its first lines; a file that is not is a
prompt for a model:
   ---
   agent: runbook
   ---

What is piped in joins the prompt, in a block named stdin; agent run - reads
the prompt itself there. In a loop that reads lines, in cron and over ssh,
< /dev/null keeps the run from waiting for input that is meant for others.

A flow is a file of phases, each with a model, a mode, inputs and outputs of
its own: agent help flows. The argument beside -f is its task.

With --detach the run goes on in the background. At its start the command has
others go on there that a crash or a restart of the machine interrupted:
agent help background.

The approval mode and the rules in config.toml decide what needs your yes:
agent help permissions. A question waits until it is answered: agent pending,
agent answer.

EXAMPLE
   agent run "why does make test fail? fix it"
   git diff | agent run "review this"
   agent run --runbook -f release.md
   agent run --dir ~/site -f task.md
   agent run -f feature.md "Add CSV export"
   agent run -c continue
   agent run --detach "update the dependencies, run the tests"

EXIT STATUS
   0 done, 1 failed or refused, 2 wrong usage, 3 waiting for an answer,
   4 interrupted, or driven by another process (--start-key), 5 a call's
   outcome is unknown and nobody has decided on it (agent answer --help),
   6 cancelled; with --detach 0 once the run is going`

type runCommand struct{ *commandLine }

func (a runCommand) command() *cli.Command {
	return &cli.Command{
		Name:        "run",
		Usage:       "carry out a prompt",
		ArgsUsage:   `"prompt" | - | -f FILE [TASK]`,
		Description: runHelp,
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "read the prompt from `FILE`"},
			&cli.StringFlag{Name: "dir", Aliases: []string{"C"}, Usage: "work in `FOLDER` (default: the current one)"},
			&cli.StringFlag{Name: "mode", Usage: "approval `MODE`: plan, ask, auto or yolo (default: the thread's, else ask)"},
			&cli.IntFlag{Name: "max-turns", Value: 100, Usage: "ask after `N` turns whether to go on; 0 for no limit"},
			&cli.DurationFlag{Name: "timeout", Usage: "end the run after this `TIME` of work, such as 30m", HideDefault: true},
			&cli.DurationFlag{Name: "expire", Usage: "close questions that nobody answers within this `TIME`, such as 48h (default: never)", HideDefault: true},
			&cli.BoolFlag{Name: "continue", Aliases: []string{"c"}, Usage: "go on with the newest thread of this folder"},
			&cli.StringFlag{Name: "thread", Usage: "go on with `THREAD`"},
			&cli.BoolFlag{Name: "dry-run", Usage: "of a flow: print what would be carried out, and change nothing"},
			planFlag(),
			outputFlag(),
			refusalFlag(),
			detachFlag(),
			noRecoverFlag(),
			a.thinkingFlag(),
			jsonFlag(),
			lines.Flag(),
		}, flags.Model()...),
		Action: a.run,
	}
}

func jsonFlag() cli.Flag {
	return &cli.BoolFlag{Name: "json", Usage: "print one JSON object on stdout"}
}

func (a runCommand) run(ctx context.Context, c *cli.Command) error {
	given, err := flags.ReadRun(c)
	if err != nil {
		return err
	}
	if a.detached(c) {
		return a.detach(ctx, c, "")
	}
	req, err := a.startRequest(ctx, c)
	if err == nil {
		err = given.Named(c, req)
	}
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return a.dryRun(c, given, req)
	}
	if a.driver != nil {
		req.Run, req.Begins = a.driver.job.Run, a.driver.job.Thread
		if given.Images, err = flags.Pictures(given.Images, a.driver.job.Pictures); err != nil {
			return err
		}
	}
	a.Idle, a.Record = given.Idle, given.Record
	opened, err := a.open(ctx, app.Drive)
	if err != nil {
		return err
	}
	s := starting{opened, c}
	s.askHere(c)
	if out, found, err := s.again(ctx, given, &req); found || err != nil {
		if a.driver != nil && out.Run != "" { // it shows no activity
			a.Say(a.Err, "agent: run %s has the start key %s: nothing new is started", out.Run, req.StartKey)
		}
		return s.report(c, out, err)
	}
	err = s.complete(ctx, given, &req)
	if err == nil {
		err = s.carryOn(ctx, c, ofThread(req.Thread))
	}
	if err != nil {
		return errors.Join(err, s.close())
	}
	out, err := s.begin(ctx, req)
	return s.report(c, out, err)
}

func (a runCommand) startRequest(ctx context.Context, c *cli.Command) (host.StartRequest, error) {
	req := host.StartRequest{Expire: c.Duration("expire"), Name: c.String("name")}
	err := flags.CheckLimits(c)
	if err == nil {
		req.Terms, err = flags.Terms(c)
	}
	if err != nil {
		return req, err
	}
	if req.Prompt, req.Source, err = a.prompt(ctx, c); err != nil {
		return req, err
	}
	if req.Source != "" {
		req.Task = c.Args().First() // refused where the file is no flow
	}
	req.Folder, err = a.folder(c.String("dir"))
	return req, err
}

// folder is the workspace: absolute, with symbolic links followed, and there.
func (a *commandLine) folder(dir string) (string, error) {
	if dir == "" {
		var err error
		if dir, err = a.currentDir(); err != nil {
			return "", err
		}
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", fmt.Errorf("use folder %s: %v", dir, err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return "", fmt.Errorf("use folder %s: %v", dir, err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("use folder %s: it is not a folder", dir)
	}
	return abs, nil
}

// path is an absolute path, seen from the current folder.
func (a *commandLine) path(name string) (string, error) {
	if filepath.IsAbs(name) {
		return filepath.Clean(name), nil
	}
	dir, err := a.currentDir()
	return filepath.Join(dir, name), err
}

// lastRun is the newest run of the named thread, or of the newest thread of the folder.
func (s starting) lastRun(ctx context.Context, thread, folder string) (app.RunRow, error) {
	if thread == "" {
		row, err := s.Store.LatestRun(ctx, folder)
		if err != nil {
			return app.RunRow{}, err
		}
		if row == nil {
			return app.RunRow{}, fmt.Errorf("continue: no run was started in %s yet; start one with: agent run", folder)
		}
		return *row, nil
	}
	id, err := app.Find(ctx, s.Store, 't', thread)
	if err != nil {
		return app.RunRow{}, err
	}
	rows, err := s.Store.ThreadRuns(ctx, id)
	if err != nil || len(rows) == 0 {
		return app.RunRow{}, errors.Join(err, fmt.Errorf("continue thread %s: it has no run", id))
	}
	return rows[len(rows)-1], nil
}

// thinkingFlag shows what a model thinks.
func (a *commandLine) thinkingFlag() cli.Flag {
	return &cli.BoolFlag{Name: "thinking", Usage: "show what the model thinks, as far as its provider shows it", Destination: &a.Thinking}
}
