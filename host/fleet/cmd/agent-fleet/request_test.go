package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v3"

	"agent/fleet/client"
	"agent/fleet/custody"
)

// asked is the run that a command line asks for.
func asked(t *testing.T, stdin string, args ...string) (r custody.Run, err error) {
	t.Helper()
	root := &cli.Command{
		Name: "agent-fleet", Reader: strings.NewReader(stdin),
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		Commands: []*cli.Command{{Name: "run", Flags: requestFlags(), DisableSliceFlagSeparator: runCommand().DisableSliceFlagSeparator, Action: func(_ context.Context, c *cli.Command) error {
			r, err = request(c)
			return err
		}}},
	}
	if e := root.Run(t.Context(), append([]string{"agent-fleet", "run"}, args...)); err == nil {
		err = e
	}
	return r, err
}

func TestARequest(t *testing.T) {
	file := filepath.Join(t.TempDir(), "release.md")
	if err := os.WriteFile(file, []byte("- publish\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string
		want custody.Run
	}{
		{"hello", custody.Run{Prompt: "hello"}},
		{"-", custody.Run{Prompt: "piped"}},
		{"-f " + file, custody.Run{Prompt: "- publish\n", File: "release.md"}},
		{"--label linux --label gpu=yes --label linux hello", custody.Run{Prompt: "hello", Labels: []string{"gpu=yes", "linux"}}},
		{"--away 0 hello", custody.Run{Prompt: "hello", Away: -1}},
		{"--away 5m hello", custody.Run{Prompt: "hello"}},
		{"--away 1h hello", custody.Run{Prompt: "hello", Away: time.Hour}},
		{"--git https://x/r.git@0123456 hello", custody.Run{Prompt: "hello", Git: "https://x/r.git@0123456"}},
		{"--mode auto --runbook --allow edits --allow a=b hello", custody.Run{Prompt: "hello",
			Args: []string{"--mode=auto", "--runbook", "--allow=edits", "--allow=a=b"}}},
	} {
		got, err := asked(t, "piped", strings.Fields(c.args)...)
		got.By = ""
		if len(got.Labels) == 0 {
			got.Labels = nil
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s asks for %+v and not %+v: %v", c.args, got, c.want, err)
		}
	}
}

func TestARequestThatIsNone(t *testing.T) {
	for _, args := range [][]string{
		{}, {""}, {"a", "b"}, {"-f", "/nowhere"}, {"-f", "/dev/null"}, {"-f", "/dev/null", "a"}, {"-"},
		{"--away", "-1s", "a"}, {"--label", "a,b", "c"}, {"--git", "https://x/r.git", "a"}, {"--git", "https://x/r.git@main", "a"},
		{"--git", "", "a"}, {"--name", "", "a"}, {"--mode", "fast", "a"}, {"--mode", "", "a"}, {"--max-turns", "-1", "a"}, {"--max-turns", "x", "a"},
		{"--max-cost", "-2", "a"}, {"--max-tokens", "-3k", "a"}, {"--timeout", "-1s", "a"}, {"--timeout", "soon", "a"}, {"--expire", "-1h", "a"},
	} {
		_, err := asked(t, "", args...)
		if !errors.As(err, new(usageError)) {
			t.Errorf("%q gave %v", args, err)
		}
	}
}

func TestAFlowIsRefused(t *testing.T) {
	for prompt, flow := range map[string]bool{
		"---\nagent: flow\n---\n## one\n":                            true,
		"\ufeff---\r\ntitle: x\r\nagent: \"flow\" # mine\r\n---\r\n": true,
		"---\nagent: flow\n...":                                      true,
		"---\nagent: runbook\n---\n":                                 false,
		"---\nagent: runbook\n---\nagent: flow\n---\n":               false,
		"---\nagent: flows\n---\n":                                   false,
		"what is\n---\nagent: flow\n---\n":                           false,
	} {
		_, err := asked(t, prompt, "-")
		if is := errors.As(err, new(usageError)) && strings.Contains(err.Error(), "is a flow, and a fleet carries none out"); is != flow || !flow && err != nil {
			t.Errorf("%q gave %v", prompt, err)
		}
	}
}

func TestFilesThatGoWithAPrompt(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const png = "\x89PNG\x0D\x0A\x1A\x0A"
	fits, one, two := write("s.json", `{"type":"object"}`), write("x/p.png", png), write("y/p.png", png+"2")
	r, err := asked(t, "", "--output-schema", fits, "--image", one, "--image", two, "hello")
	var got []string
	if err == nil {
		got, err = r.Unpack(func(n int, f custody.File) (string, error) { return fmt.Sprint(n, f.Name, len(f.Data)), nil })
	}
	if want := []string{"--output-schema=1s.json17", "--image=2p.png8", "--image=3p.png9"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("it asks for %q: %v", got, err)
	}
	for want, args := range map[string][]string{
		"--output-schema " + dir + "/none: no such file or directory": {"--output-schema", dir + "/none", "a"},
		"--output-schema " + dir + ": is a directory":                 {"--output-schema", dir, "a"},
		"--image " + dir + ": is a directory":                         {"--image", dir, "a"},
		"--output-schema : it is given and empty":                     {"--output-schema", "", "a"},
		"--image : it is given and empty":                             {"--image", "", "a"},
		"p.png: it is no JSON: ":                                      {"--output-schema", one, "a"},
		"it is no JSON Schema: that is an object":                     {"--output-schema", write("list", "[]"), "a"},
		"it is no png, jpeg, gif or webp picture":                     {"--image", one, "--image", fits, "a"},
		"it is larger than 5 MiB":                                     {"--image", "/dev/zero", "a"},
		"21 pictures; at most 20 go with a prompt":                    append(slices.Repeat([]string{"--image", one}, 21), "a"),
		"at most 1800 go":                                             {"--image", write("large.png", png+strings.Repeat("x", 1_400_000)), "a"},
	} {
		_, err := asked(t, "", args...)
		if !errors.As(err, new(usageError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gave %v, want %s", args, err, want)
		}
	}
}

func TestATableIsAtMost80ColumnsWide(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	row := func(status, host, next string, more func(*client.Row)) client.Row {
		r := client.Row{Began: now.Add(-8 * time.Minute)}
		r.Run, r.Status, r.Host, r.Next = "r-7k2m9qx4", status, host, next
		if more != nil {
			more(&r)
		}
		return r
	}
	rows := []client.Row{
		row("waiting", "h-07", "agent-fleet answer p-c32a5jbe", func(r *client.Row) { r.Request = &custody.Request{Place: "12.10 confirm_action"} }),
		row("running", "a-host-with-a-long-name.example.org", "agent-fleet attach r-7k2m9qx4", func(r *client.Row) {
			r.Progress = &custody.Progress{Turn: 108, Call: "a tool with a long name"}
		}),
		row("unreachable", "h-05", "agent-fleet move r-7k2m9qx4 --host-is-gone", func(r *client.Row) { r.Report = &custody.Report{Turn: 3, Place: 41} }),
		row("queued", "", "agent-fleet cancel r-7k2m9qx4", nil),
		row("completed", "h-07", "", nil),
	}
	var b strings.Builder
	table(&b, rows, now)
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	for _, want := range []string{"answer p-c32a5jbe", "move r-7k2m9qx4", "8m", "no host has it", "h-05"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("it does not hold %q:\n%s", want, &b)
		}
	}
}

func TestExitCodesOfRuns(t *testing.T) {
	codes := map[string]int{"completed": 0, "running": 0, "failed": 1, "waiting": 3, "parked": 4, "cancelled": 6}
	for status, want := range codes {
		if got := exitOf(client.Row{Where: custody.Where{Status: status}}); got != want {
			t.Errorf("%s exits with %d and not %d", status, got, want)
		}
	}
	unknown := &custody.Report{Exit: exitUnknown}
	for _, status := range []string{"completed", "waiting"} {
		if got := exitOf(client.Row{Where: custody.Where{Status: status, Report: unknown}}); got != exitUnknown {
			t.Errorf("%s with an unknown call exits with %d", status, got)
		}
	}
}

func TestEveryCommandHasHelpThatFits(t *testing.T) {
	all := []*cli.Command{runCommand(), lsCommand(), showCommand(), answerCommand(), cancelCommand(), moveCommand(), resumeCommand(),
		attachCommand(), scheduleCommand(), setupCommand(), doctorCommand()}
	for _, c := range all {
		if c.Usage == "" || c.Description == "" {
			t.Errorf("%s has no help", c.Name)
		}
		lines := slices.Collect(strings.Lines(c.Description))
		for _, l := range lines {
			if len(strings.TrimRight(l, "\n")) > 80 {
				t.Errorf("%s: the line is too long: %s", c.Name, l)
			}
		}
	}
}
