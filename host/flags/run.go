// Package flags defines and reads the flags of the commands that start a run or have one go on. It
// carries nothing out.
package flags

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/config"
	"agent/host/model/catalog"
	"agent/host/model/runbook"
	"agent/recovery/journal"
)

// Model are the flags of a run that say which model is asked and how.
func Model() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "model", Aliases: []string{"m"}, Usage: "`MODEL` to use, as agent models lists them (default: the thread's, else that of config.toml, else the first with a key)"},
		&cli.BoolFlag{Name: "runbook", Usage: "the prompt is a runbook: carry out its steps, and ask no model"},
		&cli.BoolFlag{Name: "flow", Usage: "the file is a flow: carry out its phases, with the argument as their task"},
		&cli.StringFlag{Name: "base-url", Usage: "ask the model at this `URL`"},
		&cli.StringFlag{Name: "effort", Usage: "`EFFORT`, how long the model may think: none, low, medium or high (default: the model's own)"},
		&cli.StringFlag{Name: "max-tokens", Usage: "ask after `N` tokens, read and written, whether to go on; 200k and 1.5M are fine; 0 for no limit"},
		&cli.StringFlag{Name: "max-cost", Usage: "ask after this many US `DOLLARS`, such as 2.50, whether to go on; 0 for no limit"},
		&cli.DurationFlag{Name: "idle", Usage: "abort a model request after `TIME` without data (default: that of config.toml, else 2m, and 10m on this machine)", HideDefault: true},
		&cli.BoolFlag{Name: "no-compact", Usage: "stop when the conversation outgrows the model, instead of summarising older turns"},
		&cli.StringFlag{Name: "name", Usage: "call the run `NAME`: commands that take a run find the newest of that name", Validator: host.CheckName},
		&cli.StringSliceFlag{Name: "image", Usage: "show the picture in `FILE` with the prompt (png, jpeg, gif, webp); may be given again"},
		&cli.StringSliceFlag{Name: "allow", Usage: "in this run, do not ask about what `RULE` says, such as \"go test *\" or edits (agent help permissions); may be given again"},
		&cli.StringSliceFlag{Name: "allow-full", Usage: "in this run, let what `RULE` says, such as \"git push *\" or shell, do everything unasked; may be given again"},
		&cli.StringSliceFlag{Name: "deny", Usage: "in this run, refuse what `RULE` says, such as \"git push *\"; may be given again"},
		&cli.StringSliceFlag{Name: "add-dir", Usage: "let the run read below `DIR` too; with DIR:write file tools may also write there, and ask; may be given again (agent help sandbox)"},
		&cli.StringFlag{Name: "output-schema", Usage: "the answer must be JSON that the JSON Schema in `FILE` describes: one that is not is asked for once more, and then fails the run"},
		&cli.StringFlag{Name: "start-key", Usage: "name this start `KEY`: given again, it is the same run and never a second one", Validator: host.CheckStartKey},
		&cli.StringFlag{Name: "run-id", Usage: "give the run this `ID`, as a fleet does", Hidden: true, Validator: host.CheckRunID},
		Record(),
	}
}

// Run is what the flags of a run say. Zero and nil are not said.
type Run struct {
	app.Wish
	Limits config.Limits
	Idle   time.Duration
	Record string // absolute
	Flow   bool   // the prompt is a flow
	Schema bool   // the answer is to fit one
}

// ReadRun reads and checks the flags of Model, and --mode, --max-turns and --timeout.
func ReadRun(c *cli.Command) (Run, error) {
	f := Run{
		Wish: app.Wish{
			Model: c.String("model"), BaseURL: c.String("base-url"), Effort: journal.Effort(c.String("effort")), NoCompact: c.Bool("no-compact"),
		},
		Idle: c.Duration("idle"), Schema: c.IsSet("output-schema"),
	}
	if c.Bool("runbook") {
		f.Runbook = "--runbook"
	}
	f.Flow = c.Bool("flow")
	if f.Flow && f.Runbook != "" {
		return f, app.Usage(errors.New("--flow and --runbook: the file is one or the other; leave one of the two out"))
	}
	if f.Runbook != "" && f.Model != "" && f.Model != runbook.Name {
		return f, app.Usage(fmt.Errorf("--runbook and --model %s: a runbook asks no model; leave one of the two out", f.Model))
	}
	var err error
	if f.BaseURL != "" {
		if err = config.CheckURL(f.BaseURL); err != nil {
			return f, app.Usage(fmt.Errorf("--base-url: %v", err))
		}
	}
	if c.IsSet("effort") && !slices.Contains(journal.Efforts(), f.Effort) {
		return f, app.Usage(fmt.Errorf("--effort %s: choose none, low, medium or high", f.Effort))
	}
	if c.IsSet("idle") && f.Idle <= 0 {
		return f, app.Usage(fmt.Errorf("--idle %s: a time above 0", f.Idle))
	}
	if f.Limits, err = Limits(c); err != nil {
		return f, app.Usage(err)
	}
	if f.Images, err = readImages(c.StringSlice("image")); err != nil {
		return f, app.Usage(err)
	}
	f.Record, err = ReadRecord(c)
	return f, err
}

// Vain refuses flags that say how a provider is asked where none is, or where a recording plays
// one.
func (f Run) Vain(ch app.Choice) error {
	none, replayed := ch.Setup.Provider == "", strings.HasPrefix(ch.Name, catalog.Replay)
	for _, flag := range []struct {
		given bool
		text  string
	}{
		{(none || replayed) && f.Record != "", "--record " + f.Record},
		{(none || replayed) && f.Idle != 0, "--idle " + f.Idle.String()},
		{none && f.Effort != "", "--effort " + string(f.Effort)},
		{none && f.Limits.MaxTokens != nil, "--max-tokens"},
		{none && f.Limits.MaxCost != nil, "--max-cost"},
		{none && f.NoCompact, "--no-compact"},
		{none && f.Schema, "--output-schema"},
	} {
		if flag.given {
			return app.Usage(fmt.Errorf("%s: the model %s asks no provider", flag.text, ch.Name))
		}
	}
	return nil
}

// Record is the flag of every command that may ask a model for a run.
func Record() cli.Flag {
	return &cli.StringFlag{Name: "record", Usage: "record provider traffic in `FILE`, without keys and secrets, for --model replay:FILE"}
}

// ReadRecord is the absolute name of --record; "" when it is not given.
func ReadRecord(c *cli.Command) (string, error) {
	name := c.String("record")
	if name == "" {
		return "", nil
	}
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", fmt.Errorf("--record %s: %v", name, err)
	}
	return abs, nil
}
