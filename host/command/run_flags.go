package command

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strconv"
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

// The pictures of one prompt: providers refuse larger ones.
const (
	maxImages = 20
	maxImage  = 5 << 20
)

// modelFlags are the flags of a run that say which model is asked and how.
func modelFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "model", Usage: "`MODEL` to use, as agent models lists them (default: the thread's, else that of config.toml, else the first with a key)"},
		&cli.BoolFlag{Name: "runbook", Usage: "the prompt is a runbook: carry out its steps, and ask no model"},
		&cli.StringFlag{Name: "base-url", Usage: "ask the model at this `URL`"},
		&cli.StringFlag{Name: "effort", Usage: "`EFFORT`, how long the model may think: none, low, medium or high (default: the model's own)"},
		&cli.StringFlag{Name: "max-tokens", Usage: "ask after `N` tokens, read and written, whether to go on; 200k and 1.5M are fine; 0 for no limit"},
		&cli.StringFlag{Name: "max-cost", Usage: "ask after this many US `DOLLARS`, such as 2.50, whether to go on; 0 for no limit"},
		&cli.DurationFlag{Name: "idle", Usage: "abort a model request after `TIME` without data (default: that of config.toml, else 2m, and 10m on this machine)", HideDefault: true},
		&cli.BoolFlag{Name: "no-compact", Usage: "stop when the conversation outgrows the model, instead of summarising older turns"},
		&cli.StringSliceFlag{Name: "image", Usage: "show the picture in `FILE` with the prompt (png, jpeg, gif, webp); may be given again"},
		&cli.StringFlag{Name: "start-key", Usage: "name this start `KEY`: given again, it is the same run and never a second one", Validator: host.CheckStartKey},
		recordFlag(),
	}
}

// runFlags is what the flags of a run say. Zero and nil are not said.
type runFlags struct {
	app.Wish
	Limits config.Limits
	Idle   time.Duration
	Record string // absolute
}

// readRunFlags reads and checks the flags of modelFlags, and --mode, --max-turns and --timeout.
func readRunFlags(c *cli.Command) (runFlags, error) {
	f := runFlags{
		Wish: app.Wish{
			Model: c.String("model"), BaseURL: c.String("base-url"), Effort: journal.Effort(c.String("effort")), NoCompact: c.Bool("no-compact"),
		},
		Idle: c.Duration("idle"),
	}
	if c.Bool("runbook") {
		f.Runbook = "--runbook"
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
	if f.Limits, err = limitFlags(c); err != nil {
		return f, app.Usage(err)
	}
	if f.Images, err = readImages(c.StringSlice("image")); err != nil {
		return f, app.Usage(err)
	}
	f.Record, err = readRecord(c)
	return f, err
}

// vain refuses flags that say how a provider is asked where none is, or where a recording plays
// one.
func (f runFlags) vain(ch app.Choice) error {
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
	} {
		if flag.given {
			return app.Usage(fmt.Errorf("%s: the model %s asks no provider", flag.text, ch.Name))
		}
	}
	return nil
}

// limitFlags reads the flags that bound a run. What is wrong with the mode, the turns and the time
// is checkLimits' to say.
func limitFlags(c *cli.Command) (config.Limits, error) {
	l := config.Limits{Mode: journal.Mode(c.String("mode"))}
	if c.IsSet("max-turns") {
		n := c.Int("max-turns")
		l.MaxTurns = &n
	}
	if c.IsSet("timeout") {
		d := c.Duration("timeout")
		l.Timeout = &d
	}
	if c.IsSet("max-tokens") {
		n, err := parseTokens(c.String("max-tokens"))
		if err != nil {
			return l, fmt.Errorf("--max-tokens %s: %v", c.String("max-tokens"), err)
		}
		l.MaxTokens = &n
	}
	if c.IsSet("max-cost") {
		n, err := config.Dollars(c.String("max-cost"))
		if err != nil {
			return l, fmt.Errorf("--max-cost: %v", err)
		}
		l.MaxCost = &n
	}
	return l, nil
}

// parseTokens reads a number of tokens, such as 200000, 200k or 1.5M.
func parseTokens(text string) (int64, error) {
	bad := errors.New("a number of tokens from 0, such as 200000, 200k or 1.5M")
	digits, unit := text, int64(1)
	for suffix, size := range map[string]int64{"k": 1000, "K": 1000, "m": 1_000_000, "M": 1_000_000} {
		if rest, ok := strings.CutSuffix(text, suffix); ok {
			digits, unit = rest, size
		}
	}
	if digits == "" || strings.Trim(digits, "0123456789.") != "" {
		return 0, bad // ParseFloat takes more than numbers that people write
	}
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil && n <= math.MaxInt64/unit {
		return n * unit, nil
	}
	x, err := strconv.ParseFloat(digits, 64)
	n := x * float64(unit)
	if err != nil || n > 1e15 || n != math.Trunc(n) {
		return 0, bad
	}
	return int64(n), nil
}

// readImages reads pictures. What a file is, its first bytes say.
func readImages(files []string) ([]journal.Image, error) {
	if len(files) > maxImages {
		return nil, fmt.Errorf("--image: %d pictures; at most %d go with a prompt", len(files), maxImages)
	}
	var out []journal.Image
	for _, name := range files {
		m, err := readImage(name)
		if err != nil {
			return nil, fmt.Errorf("--image %s: %v", name, err)
		}
		out = append(out, m)
	}
	return out, nil
}

func readImage(name string) (journal.Image, error) {
	info, err := os.Stat(name)
	if err != nil {
		return journal.Image{}, errors.Unwrap(err)
	}
	if !info.Mode().IsRegular() {
		return journal.Image{}, errors.New("it is not a file")
	}
	f, err := os.Open(name)
	if err != nil {
		return journal.Image{}, errors.Unwrap(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxImage+1))
	if err != nil {
		return journal.Image{}, err
	}
	if len(data) > maxImage {
		return journal.Image{}, fmt.Errorf("it is larger than %d MiB", maxImage>>20)
	}
	media := http.DetectContentType(data)
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, media) {
		return journal.Image{}, errors.New("it is no png, jpeg, gif or webp picture")
	}
	return journal.Image{Media: media, Data: data}, nil
}

// bound puts together what bounds a run: the flags, else the mode of the thread, else the person's
// configuration, else 100 turns in mode ask; and then what the workspace allows at most. It says
// what the workspace changed.
func bound(flags config.Limits, thread journal.Mode, conf config.Config) (journal.Mode, journal.Limits, []string) {
	turns := 100
	wished := flags.Or(config.Limits{Mode: thread}).Or(conf.Defaults).Or(config.Limits{Mode: journal.ModeAsk, MaxTurns: &turns})
	l, said := conf.Workspace.Tighten(wished)
	for i := range said {
		said[i] = "the workspace's .agent/config.toml allows " + said[i]
	}
	return l.Mode, journal.Limits{
		MaxTurns: value(l.MaxTurns), MaxTokens: value(l.MaxTokens), MaxCost: value(l.MaxCost), Timeout: value(l.Timeout),
	}, said
}

// value is what a limit says; none is 0.
func value[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}
