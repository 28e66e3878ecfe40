package flags

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v3"

	"agent/host/app"
	"agent/host/config"
	"agent/host/input"
	"agent/recovery/journal"
)

// flagsOf reads a command line as run does.
func flagsOf(t *testing.T, args ...string) (Run, error) {
	t.Helper()
	var got Run
	var err error
	c := &cli.Command{
		Name: "run", DisableSliceFlagSeparator: true,
		Flags: append(Model(),
			&cli.StringFlag{Name: "mode"}, &cli.IntFlag{Name: "max-turns", Value: 100}, &cli.DurationFlag{Name: "timeout"}),
		Action: func(_ context.Context, c *cli.Command) error {
			got, err = ReadRun(c)
			return nil
		},
	}
	if e := c.Run(t.Context(), append([]string{"run"}, args...)); e != nil {
		t.Fatal(e)
	}
	return got, err
}

func ptr[T any](v T) *T { return &v }

var png = []byte("\x89PNG\r\n\x1a\n picture")

func TestRunFlags(t *testing.T) {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	picture := filepath.Join(t.TempDir(), "a, b.png")
	if err := os.WriteFile(picture, png, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := flagsOf(t, "--model", "openai/x", "--base-url", "http://127.0.0.1:1/v1", "--effort", "low", "--max-tokens", "1.5M", "--max-cost", "2.50",
		"--idle", "30s", "--no-compact", "--image", picture, "--record", "tape", "--mode", "auto", "--max-turns", "0", "--timeout", "1h")
	want := Run{
		Wish: app.Wish{
			Model: "openai/x", BaseURL: "http://127.0.0.1:1/v1", Effort: journal.EffortLow, NoCompact: true,
			Images: []journal.Image{{Media: "image/png", Data: png}},
		},
		Idle: 30 * time.Second, Record: filepath.Join(dir, "tape"),
		Limits: config.Limits{
			Mode: journal.ModeAuto, MaxTurns: ptr(0), MaxTokens: ptr(int64(1_500_000)), MaxCost: ptr(int64(2_500_000)), Timeout: ptr(time.Hour),
		},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if got, err := flagsOf(t); err != nil || cmp.Diff(Run{}, got) != "" {
		t.Errorf("no flag: %+v, %v", got, err)
	}
}

func TestRunFlagsRefused(t *testing.T) {
	dir := t.TempDir()
	text, large := filepath.Join(dir, "a.png"), filepath.Join(dir, "b.png")
	for path, data := range map[string][]byte{text: []byte("no picture"), large: append(png, make([]byte, input.MaxPicture)...)} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	many := []string{}
	for range input.MaxPictures + 1 {
		many = append(many, "--image", text)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"--base-url", "127.0.0.1:8000"}, "--base-url: this is no address of the form https://host/path"},
		{[]string{"--base-url", "https://me:secret@host"}, "--base-url: a name or password in an address would be kept and shown; use api_key_env or api_key_cmd"},
		{[]string{"--base-url", "https://host?key=1"}, "--base-url: an address with ? or # cannot be extended to the provider's paths"},
		{[]string{"--effort", "huge"}, "--effort huge: choose none, low, medium or high"},
		{[]string{"--effort", ""}, "--effort : choose none, low, medium or high"},
		{[]string{"--idle", "0s"}, "--idle 0s: a time above 0"},
		{[]string{"--max-tokens", "many"}, "--max-tokens many: a number of tokens from 0, such as 200000, 200k or 1.5M"},
		{[]string{"--max-cost", "2,50"}, `--max-cost: "2,50" is no amount of US dollars, such as 2.50`},
		{[]string{"--image", dir}, "--image " + dir + ": it is not a file"},
		{[]string{"--image", filepath.Join(dir, "none")}, "--image " + filepath.Join(dir, "none") + ": no such file or directory"},
		{[]string{"--image", text}, "--image " + text + ": it is no png, jpeg, gif or webp picture"},
		{[]string{"--image", large}, "--image " + large + ": it is larger than 5 MiB"},
		{many, "--image: 21 pictures; at most 20 go with a prompt"},
	} {
		_, err := flagsOf(t, tt.args...)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s:\n got %v\nwant %s", strings.Join(tt.args, " "), err, tt.want)
		}
	}
}

func TestParseTokens(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "200000": 200_000, "200k": 200_000, "1.5M": 1_500_000, "2m": 2_000_000, "0.25k": 250, "9007199254740993": 9007199254740993} {
		if got, err := parseTokens(text); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "k", "-1", "1e5", "1.5", "0.0001k", "1kk", "1 k", "inf", "0x10", "99999999999999999999", "9999999999999999M", "."} {
		if got, err := parseTokens(text); err == nil {
			t.Errorf("%q was taken as %d", text, got)
		}
	}
}

// Flags beat the thread, that the configuration, and the workspace tightens whatever comes of it.
func TestBound(t *testing.T) {
	conf := config.Config{
		Defaults:  config.Limits{Mode: journal.ModeAuto, MaxTurns: ptr(50), MaxCost: ptr(int64(3_000_000))},
		Workspace: config.Limits{MaxTurns: ptr(20)},
	}
	for _, tt := range []struct {
		name   string
		flags  config.Limits
		thread journal.Mode
		conf   config.Config
		mode   journal.Mode
		limits journal.Limits
		said   string
	}{
		{"nothing said", config.Limits{}, "", config.Config{}, journal.ModeAsk, journal.Limits{MaxTurns: 100}, ""},
		{"no limit of turns", config.Limits{MaxTurns: ptr(0)}, "", config.Config{}, journal.ModeAsk, journal.Limits{}, ""},
		{"the configuration", config.Limits{}, "", conf, journal.ModeAuto, journal.Limits{MaxTurns: 20, MaxCost: 3_000_000}, "the workspace's .agent/config.toml allows at most 20 turns"},
		{"the thread", config.Limits{}, journal.ModePlan, conf, journal.ModePlan, journal.Limits{MaxTurns: 20, MaxCost: 3_000_000}, "the workspace's .agent/config.toml allows at most 20 turns"},
		{"a flag", config.Limits{Mode: journal.ModeYolo, MaxTurns: ptr(5)}, journal.ModePlan, conf, journal.ModeYolo, journal.Limits{MaxTurns: 5, MaxCost: 3_000_000}, ""},
	} {
		mode, limits, said := Bound(tt.flags, tt.thread, tt.conf)
		if mode != tt.mode || limits != tt.limits || strings.Join(said, "; ") != tt.said {
			t.Errorf("%s: %s, %+v, %v", tt.name, mode, limits, said)
		}
	}
}
