package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/urfave/cli/v3"

	"agent/fleet/client"
	"agent/fleet/custody"
)

const runHelp = `Has the fleet carry out a prompt, as agent run does on one machine. A host
with a free slot, and with all labels that are asked for, takes it.

With --key the same run is meant however often the command is given: a script
that is begun again neither begins a second run nor loses the first. The key
is kept as long as the engine keeps runs that have ended.

The run works in an empty folder of its host, or in a commit of a repository:
--git URL@COMMIT. Pictures and an output schema go there with the prompt.

EXAMPLE
   agent-fleet run --wait "why does make test fail?"
   agent-fleet run --key "$CI_JOB_ID" --git "$REPO@$SHA" --wait -f release.md
   git diff | agent-fleet run --label gpu=yes -

EXIT STATUS
   0 done, or begun without --wait; 1 failed or refused; 2 wrong usage; 3
   waiting for an answer; 4 parked, or no longer waited for; 5 the outcome of
   a call is unknown; 6 cancelled`

// passedOn are the flags of agent run that go to the host as they are.
func passedOn() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "mode", Usage: "approval `MODE`: plan, ask, auto or yolo"},
		&cli.StringFlag{Name: "model", Aliases: []string{"m"}, Usage: "`MODEL` to use, as provider/model"},
		&cli.BoolFlag{Name: "runbook", Usage: "the prompt is a runbook: carry out its steps, and ask no model"},
		&cli.StringFlag{Name: "name", Usage: "call the run `NAME`"},
		&cli.StringFlag{Name: "max-turns", Usage: "ask after `N` turns whether to go on"},
		&cli.StringFlag{Name: "max-tokens", Usage: "ask after `N` tokens whether to go on"},
		&cli.StringFlag{Name: "max-cost", Usage: "ask after this many US `DOLLARS` whether to go on"},
		&cli.StringFlag{Name: "timeout", Usage: "end the run after this `TIME` of work"},
		&cli.StringFlag{Name: "expire", Usage: "close questions that nobody answers within this `TIME`"},
		&cli.StringFlag{Name: "effort", Usage: "`EFFORT`, how long the model may think"},
		&cli.StringSliceFlag{Name: "allow", Usage: "do not ask about what `RULE` says; may be given again"},
		&cli.StringSliceFlag{Name: "deny", Usage: "refuse what `RULE` says; may be given again"},
	}
}

// requestFlags say what a run is.
func requestFlags() []cli.Flag {
	return slices.Concat([]cli.Flag{
		&cli.StringFlag{Name: "file", Aliases: []string{"f"}, Usage: "read the prompt from `FILE`"},
		&cli.StringFlag{Name: "git", Usage: "work in `URL@COMMIT`"},
		&cli.StringSliceFlag{Name: "label", Usage: "only on hosts with this `LABEL`; may be given again"},
		&cli.DurationFlag{Name: "away", Value: custody.DefaultAway, Usage: "a host that is silent for this `TIME` loses the run to another; 0 for at once"},
	}, passedOn(), sentFlags())
}

func runCommand() *cli.Command {
	return &cli.Command{
		Name: "run", Usage: "have the fleet carry out a prompt",
		ArgsUsage: `"prompt" | - | -f FILE`, Description: runHelp,
		DisableSliceFlagSeparator: true, // a rule may hold a comma
		Flags: slices.Concat([]cli.Flag{
			&cli.StringFlag{Name: "key", Usage: "name this start `KEY`: given again, it is the same run and never a second one"},
			&cli.BoolFlag{Name: "wait", Usage: "wait until the run ends or asks something"},
		}, requestFlags(), []cli.Flag{jsonFlag()}, engineFlags()),
		// what is wrong with the request is found before the engine is asked
		Action: func(ctx context.Context, c *cli.Command) error {
			r, err := request(c)
			if err != nil {
				return err
			}
			if err := nonempty(c, "key"); err != nil {
				return err
			}
			r.Key = c.String("key")
			return act(func(ctx context.Context, c *cli.Command, f *client.Client) error { return begin(ctx, c, f, r) })(ctx, c)
		},
	}
}

// begin begins a run, and waits for it if that is wanted.
func begin(ctx context.Context, c *cli.Command, f *client.Client, r custody.Run) error {
	started, err := f.Start(ctx, r)
	if err != nil {
		return err
	}
	if !c.Bool("wait") {
		if c.Bool("json") {
			row, err := f.Where(ctx, started.Run)
			if err != nil {
				return err
			}
			v := viewOf(row)
			v.Existed = started.Existed
			return printJSON(stdout(c), v)
		}
		word := "begun"
		if started.Existed {
			word = "is there already"
		}
		fmt.Fprintf(c.Root().ErrWriter, "run %s %s; agent-fleet attach %s follows it\n", started.Run, word, started.Run)
		fmt.Fprintln(stdout(c), started.Run)
		return nil
	}
	return follow(ctx, c, f, started.Run)
}

// follow prints where a run is until it stands still, and ends with the run's exit code.
func follow(ctx context.Context, c *cli.Command, f *client.Client, run string) error {
	out, told := c.Root(), ""
	row, err := f.Wait(ctx, run, time.Second, still, func(row client.Row) {
		if line := lineOf(row); line != told {
			told = line
			fmt.Fprintln(out.ErrWriter, line)
		}
	})
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(out.ErrWriter, "agent-fleet: run %s goes on; agent-fleet attach %s follows it\n", run, run)
		return exitError(exitInterrupted)
	}
	if err != nil {
		return err
	}
	return finish(ctx, c, f, row)
}

// finish prints how a run stands that stands still.
func finish(ctx context.Context, c *cli.Command, f *client.Client, row client.Row) error {
	v := viewOf(row)
	if row.Over() && row.Report != nil {
		if whole, err := f.Outcome(ctx, row.Run); err == nil {
			v.Text, v.Unknown = whole.Text, whole.Unknown
		}
	}
	if c.Bool("json") {
		return errors.Join(printJSON(stdout(c), v), code(v.Exit))
	}
	if v.Text != "" {
		fmt.Fprintln(stdout(c), fleetText(v.Text))
	}
	for _, u := range v.Unknown {
		fmt.Fprintf(c.Root().ErrWriter, "outcome unknown: %s\n", oneLine(u))
	}
	if row.Request != nil {
		fmt.Fprintf(c.Root().ErrWriter, "answer from anywhere: agent-fleet answer %s %s\n", row.Request.ID, sample(row.Request))
	} else if row.Next != "" {
		fmt.Fprintln(c.Root().ErrWriter, row.Next)
	}
	return code(v.Exit)
}

func sample(q *custody.Request) string {
	if len(q.Choices) > 0 {
		return q.Choices[0]
	}
	return "TEXT"
}

var commit = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// request reads what is asked for.
func request(c *cli.Command) (custody.Run, error) { return requestWith(c, c.Args().Slice()) }

func requestWith(c *cli.Command, args []string) (custody.Run, error) {
	r := custody.Run{By: who(), Labels: c.StringSlice("label"), Git: c.String("git"), Away: c.Duration("away")}
	if c.IsSet("away") && r.Away == 0 {
		r.Away = -1
	} else if r.Away < 0 {
		return r, usage("--away %s: a time cannot be negative; 0 gives a silent host up at once", r.Away)
	} else if r.Away == custody.DefaultAway {
		r.Away = 0
	}
	if err := runnable(c); err != nil {
		return r, err
	}
	slices.Sort(r.Labels)
	r.Labels = slices.Compact(r.Labels)
	for _, l := range r.Labels {
		if l == "" || strings.ContainsAny(l, ", /") || strings.ContainsFunc(l, unicode.IsSpace) {
			return r, usage("--label %q: a label has no blank, comma or slash", l)
		}
	}
	if r.Git != "" {
		i := strings.LastIndex(r.Git, "@")
		if i <= 0 || !commit.MatchString(r.Git[i+1:]) {
			return r, usage("--git %s: name the commit too, by its hash, so that every host works on the same: URL@COMMIT", r.Git)
		}
	}
	for _, f := range passedOn() {
		r.Args = append(r.Args, passed(c, f.Names()[0])...)
	}
	if err := send(c, &r); err != nil {
		return r, err
	}
	if err := prompt(c, args, &r); err != nil {
		return r, err
	}
	if err := noFlow(r); err != nil {
		return r, err
	}
	if err := r.CheckSize(); err != nil {
		return r, usage("%s: %w", c.Name, err)
	}
	return r, nil
}

func passed(c *cli.Command, name string) (out []string) {
	if !c.IsSet(name) {
		return nil
	}
	switch v := c.Value(name).(type) {
	case []string:
		for _, s := range v {
			out = append(out, "--"+name+"="+s)
		}
	case bool:
		if v {
			out = append(out, "--"+name)
		}
	default:
		out = append(out, fmt.Sprintf("--%s=%v", name, v))
	}
	return out
}

// prompt reads the prompt.
func prompt(c *cli.Command, args []string, r *custody.Run) error {
	file := c.String("file")
	switch {
	case file != "" && len(args) > 0:
		return usage("%s: there is a prompt in %s and one beside it; give one (a task beside a file is for a flow, and a fleet carries none out)", c.Name, file)
	case file != "":
		b, err := os.ReadFile(file)
		if err != nil {
			return usage("read the prompt: %w", err)
		}
		r.Prompt, r.File = string(b), filepath.Base(file)
	case len(args) != 1:
		return usage(`%s: give one prompt, in quotes, or -f FILE, or - for what is piped in`, c.Name)
	case args[0] == "-":
		b, err := io.ReadAll(c.Root().Reader)
		if err != nil {
			return usage("read the prompt from stdin: %w", err)
		}
		r.Prompt = string(b)
	default:
		r.Prompt = args[0]
	}
	if strings.TrimSpace(r.Prompt) == "" {
		return usage("%s: the prompt is empty", c.Name)
	}
	return nil
}
