package flags

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/config"
	"agent/recovery/journal"
)

// CheckLimits refuses a mode that there is not and limits below zero.
func CheckLimits(c *cli.Command) error {
	m, turns := journal.Mode(c.String("mode")), c.Int("max-turns")
	known := m == ""
	for _, k := range journal.Modes() {
		known = known || k == m
	}
	if !known {
		return app.Usage(fmt.Errorf("--mode %s: choose plan, ask, auto or yolo", m))
	}
	if turns < 0 {
		return app.Usage(fmt.Errorf("--max-turns %d: a count from 0", turns))
	}
	for _, name := range []string{"timeout", "expire"} {
		if t := c.Duration(name); t < 0 {
			return app.Usage(fmt.Errorf("--%s %s: a time from 0", name, t))
		}
	}
	return nil
}

// Limits reads the flags that bound a run. What is wrong with the mode, the turns and the time
// is CheckLimits' to say.
func Limits(c *cli.Command) (config.Limits, error) {
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

// Bound puts together what bounds a run: the flags, else the mode of the thread, else the person's
// configuration, else 100 turns in mode ask; and then what the workspace allows at most. It says
// what the workspace changed.
func Bound(flags config.Limits, thread journal.Mode, conf config.Config) (journal.Mode, journal.Limits, []string) {
	turns := 100
	wished := flags.Or(config.Limits{Mode: thread}).Or(conf.Defaults).Or(config.Limits{Mode: journal.ModeAsk, MaxTurns: &turns})
	l, said := conf.Workspace.Tighten(wished)
	for i := range said {
		said[i] = "the workspace's .agent/config.toml allows " + said[i]
	}
	return l.Mode, journal.Limits{
		MaxTurns: Value(l.MaxTurns), MaxTokens: Value(l.MaxTokens), MaxCost: Value(l.MaxCost), Timeout: Value(l.Timeout),
	}, said
}

// Value is what a limit says; none is 0.
func Value[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}
