package command

import (
	"context"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v3"

	"agent/host"
	"agent/host/app"
	"agent/host/follow"
	"agent/host/model"
	"agent/host/terminal"
	"agent/host/view"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
)

// provider is a model that streams what a test says.
type provider func(ctx context.Context, yield func(model.Delta, error) bool)

func (p provider) Stream(ctx context.Context, _ model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) { p(ctx, yield) }
}

// wait is how long a test waits for an event.
const wait = time.Minute

// desk is a state folder with a session over it.
type desk struct {
	t        *testing.T
	home     string
	out, err *written
	*session
}

// openDesk opens a state folder; the model is m.
func openDesk(t *testing.T, home string, m model.Model) *desk {
	t.Helper()
	d := &desk{t: t, home: home, out: &written{}, err: &written{}}
	s, err := d.app("").open(t.Context(), app.Drive)
	if err != nil {
		t.Fatal(err)
	}
	s.Env.Model = func(journal.RunCreated, *tools.Registry) (model.Model, error) { return m, nil }
	d.session = s
	return d
}

// app is a command line over the desk's state folder.
func (d *desk) app(dir string) *commandLine {
	return newCommandLine(IO{Dir: func() (string, error) { return dir, nil }, Terminal: terminal.Terminal{In: strings.NewReader(""), Out: d.out, Err: d.err, Getenv: func(name string) string {
		if name == "AGENT_HOME" {
			return d.home
		}
		return ""
	}}})
}

// agent runs a command of another process, so to speak, and returns what it printed.
func (d *desk) agent(args ...string) string {
	d.t.Helper()
	a, out := d.app(""), &written{}
	a.Out = out
	if code := a.exit(a.root().Run(d.t.Context(), append([]string{"agent"}, args...))); code != view.ExitDone {
		d.t.Fatalf("agent %s: exit code %d\n%s", strings.Join(args, " "), code, d.err)
	}
	return out.String()
}

// run carries out a prompt under the setup and reports it as agent run does.
func (d *desk) run(req host.StartRequest, args ...string) host.Outcome {
	d.t.Helper()
	var out host.Outcome
	c := &cli.Command{
		Flags:          []cli.Flag{jsonFlag()},
		ExitErrHandler: func(context.Context, *cli.Command, error) {},
		Action: func(ctx context.Context, c *cli.Command) (err error) {
			out, err = d.Start(ctx, req)
			return d.report(c, out, err)
		},
	}
	if err := c.Run(d.t.Context(), append([]string{"run"}, args...)); out.Run == "" {
		d.t.Fatal(err)
	}
	return out
}

func request(t *testing.T) host.StartRequest {
	return host.StartRequest{
		Prompt: "go", Folder: t.TempDir(), Model: "anthropic/x", ModelWhy: "--model", Mode: journal.ModeAsk,
		Limits: journal.Limits{MaxTurns: 10, MaxTokens: 500_000, MaxCost: 2_000_000},
		Setup: journal.Setup{
			Provider: "anthropic", BaseURL: "http://127.0.0.1:1", System: "Be good.", SystemName: "agent-1", Window: 200_000, MaxOutput: 32_000,
			Effort: journal.EffortHigh, Price: &journal.Price{Input: 3_000_000, Cached: 300_000, Output: 15_000_000}, NoCompact: true,
			Instructions: []journal.Instruction{{Path: "/w/AGENTS.md", Digest: "0123456789abcdef0123", Bytes: 2048}},
		},
	}
}

func done(text string, u journal.Usage) model.Delta {
	return model.Delta{Answer: &model.Answer{
		Blocks: []journal.Block{{Kind: journal.BlockReasoning, Text: "let me see"}, {Kind: journal.BlockText, Text: text}},
		Stop:   journal.AnswerEnd, Usage: &u,
	}}
}

// show says with what a model was asked, what that used and what it cost; what it thought only on
// request.
func TestShowOfAModelsRun(t *testing.T) {
	d := openDesk(t, filepath.Join(t.TempDir(), "state"), provider(func(_ context.Context, yield func(model.Delta, error) bool) {
		_ = yield(model.Delta{Reasoning: "let me see"}, nil) &&
			yield(done("The answer.", journal.Usage{Input: 12_345, Output: 1_000, Cached: 10_000, Reasoning: 400}), nil)
	}))
	out := d.run(request(t))
	const used = "12,345 tokens in (10,000 cached), 1,000 out, $0.025035\n"
	if got := d.err.String(); !strings.HasSuffix(got, used) || strings.Contains(got, "let me see") {
		t.Errorf("run says: %s", got)
	}
	equals(t, d.out.String(), "The answer.\n")

	text := d.agent("show", out.Run)
	for _, want := range []string{
		"  model     anthropic/x (--model), Messages API\n", "  asked at  http://127.0.0.1:1\n",
		"  window    200,000 tokens, answers of 32,000 at most, effort high, no summaries when it is full (--no-compact)\n",
		"  price     $3.00 in, $0.30 cached, $15.00 out, for a million tokens\n",
		"  system    agent-1, 8 B: agent show " + out.Run + " --json\n",
		"  shown     /w/AGENTS.md, 2.0 KiB, SHA-256 0123456789ab…\n",
		"  mode      ask, 10 turns at most, 500,000 tokens at most, $2.00 at most\n",
		"  used      " + used, "turn 1, " + strings.TrimSuffix(used, "\n") + ", ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("show lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "let me see") {
		t.Errorf("show tells a thought that nobody asked for:\n%s", text)
	}
	if text := d.agent("show", "--thinking", out.Run); !strings.Contains(text, "\n  ┊ let me see\nThe answer.\n") {
		t.Errorf("show --thinking:\n%s", text)
	}

	var v struct {
		Setup   view.Setup
		Limits  view.Limits
		Usage   view.Usage
		CostUSD float64 `json:"cost_usd"`
	}
	if err := json.Unmarshal([]byte(d.agent("show", "--json", out.Run)), &v); err != nil {
		t.Fatal(err)
	}
	if v.Setup.SystemName != "agent-1" || len(v.Setup.Instructions) != 1 || v.Setup.Window != 200_000 || v.Setup.Effort != journal.EffortHigh ||
		v.Limits.MaxTokens != 500_000 || v.Limits.MaxCostUSD.String() != "2.00" ||
		v.Usage != (view.Usage{Input: 12_345, Output: 1_000, Cached: 10_000, Reasoning: 400}) || v.CostUSD != 0.025035 {
		t.Errorf("show --json: %+v", v)
	}
}

// A run that the model interrupted says what is wrong and what fixes it, before how to go on.
func TestInterruptedByTheModel(t *testing.T) {
	broken := provider(func(_ context.Context, yield func(model.Delta, error) bool) {
		yield(model.Delta{}, &model.Error{Fault: journal.FaultKey, Message: "invalid x-api-key", Status: 401, Remedy: "set ANTHROPIC_API_KEY"})
	})
	d := openDesk(t, filepath.Join(t.TempDir(), "state"), broken)
	out := d.run(request(t))
	want := "run " + out.Run + ` is interrupted: anthropic/x: key not accepted: invalid x-api-key (HTTP 401)
fix it first:   set ANTHROPIC_API_KEY
then go on:     agent resume ` + out.Run + `
end it:         agent cancel ` + out.Run + "\n"
	if got := d.err.String(); !strings.HasSuffix(got, want) || out.Status != recovery.StatusInterrupted {
		t.Errorf("%s, says:\n%s\nwant at its end:\n%s", out.Status, got, want)
	}

	d = openDesk(t, filepath.Join(t.TempDir(), "state"), broken)
	d.run(request(t), "--json")
	var v view.Outcome
	if err := json.Unmarshal([]byte(d.out.String()), &v); err != nil {
		t.Fatal(err)
	}
	if v.Fault != journal.FaultKey || v.Remedy != "set ANTHROPIC_API_KEY" || v.ExitCode != view.ExitInterrupted || len(v.Next) != 1 {
		t.Errorf("run --json: %s", d.out)
	}
}

// eventually waits until the written holds a text.
func (t *written) eventually(tt *testing.T, text string) {
	tt.Helper()
	limit, look := time.NewTimer(wait), time.NewTicker(5*time.Millisecond)
	defer limit.Stop()
	defer look.Stop()
	for !strings.Contains(t.String(), text) {
		select {
		case <-look.C:
		case <-limit.C:
			tt.Fatalf("waited in vain for %q:\n%s", text, t)
		}
	}
}

// Another process watches what a model thinks and says while it does, and sees each of it
// once. // STR-01
func TestFollowOfAThinkingModel(t *testing.T) {
	for _, thinking := range []bool{true, false} {
		home, next := filepath.Join(t.TempDir(), "state"), make(chan struct{})
		d := openDesk(t, home, provider(func(ctx context.Context, yield func(model.Delta, error) bool) {
			for _, piece := range []model.Delta{{Reasoning: "let me "}, {Reasoning: "see"}, {Text: "The "}, {Text: "answer."}} {
				if !yield(piece, nil) {
					return
				}
				select {
				case <-next:
				case <-ctx.Done():
				}
			}
			yield(done("The answer.", journal.Usage{Input: 1, Output: 1}), nil)
		}))
		ended := make(chan host.Outcome, 1)
		go func() { ended <- d.run(request(t)) }()
		run := theRun(t, home)

		shown, over := observe(t, home, run, thinking)
		for _, want := range []string{"let me", "let me", "The ", "The "} { // a word is shown with the blank behind it
			if thinking || !strings.HasPrefix(want, "let") {
				shown.eventually(t, want)
			}
			next <- struct{}{}
		}
		over()
		<-ended
		got := strings.ReplaceAll(shown.String(), "\r\x1b[K", "")
		if n := strings.Count(got, "let me see"); n != map[bool]int{true: 1}[thinking] || strings.Count(got, "The answer.") != 1 {
			t.Errorf("thinking %v: shown:\n%s", thinking, got)
		}
	}
}

// observe follows a run at a terminal, as another process does. over waits for the end of the run.
func observe(t *testing.T, home, run string, thinking bool) (shown *written, over func()) {
	t.Helper()
	d := openDesk(t, home, nil)
	shown = &written{}
	tell := terminal.NewPrinter(terminal.NewLiveScreen(shown, func() int { return 40 }))
	tell.Whole, tell.Thinking = true, thinking
	f := follow.New(d.Folder, tell, run)
	ended := make(chan error, 1)
	go func() { ended <- f.Follow(t.Context()) }()
	return shown, func() {
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := d.close(); err != nil {
			t.Error(err)
		}
	}
}

// An answer that breaks off is asked for again: another process sees that what it has seen is void,
// and the whole answer once.
func TestFollowOfAnAnswerThatStartsOver(t *testing.T) {
	home, next := filepath.Join(t.TempDir(), "state"), make(chan struct{})
	tries := 0
	d := openDesk(t, home, provider(func(_ context.Context, yield func(model.Delta, error) bool) {
		tries++
		_ = yield(model.Delta{Text: []string{"Half an ", "The answer."}[tries-1]}, nil)
		<-next
		if tries == 1 {
			yield(model.Delta{}, &model.Error{Fault: journal.FaultCut, Message: "the stream ended", Began: true})
			return
		}
		yield(done("The answer.", journal.Usage{Input: 1, Output: 1}), nil)
	}))
	ended := make(chan host.Outcome, 1)
	go func() { ended <- d.run(request(t)) }()
	run := theRun(t, home)
	shown, over := observe(t, home, run, false)
	shown.eventually(t, "Half an")
	next <- struct{}{}
	shown.eventually(t, "The ")
	next <- struct{}{}
	over()
	out := <-ended
	got := strings.Join(strings.Fields(strings.ReplaceAll(shown.String(), "\r\x1b[K", "")), " ")
	for _, want := range []string{"Half an ! anthropic/x: answer broke off: the stream ended; asking again in ", " (try 2) · the answer starts over "} {
		if !strings.Contains(got, want) {
			t.Errorf("shown lacks %q:\n%s", want, got)
		}
	}
	if strings.Count(got, "The answer.") != 1 || strings.Count(got, "Half an") != 1 {
		t.Errorf("shown:\n%s", got)
	}
	if said := d.err.String(); out.Status != recovery.StatusCompleted || !strings.Contains(said, ", about ") { // what the first cost is estimated
		t.Errorf("%s, says: %s", out.Status, said)
	}
}

// theRun waits for the only run of a state folder and returns its id.
func theRun(t *testing.T, home string) string {
	t.Helper()
	limit, look := time.NewTimer(wait), time.NewTicker(5*time.Millisecond)
	defer limit.Stop()
	defer look.Stop()
	for {
		entries, err := os.ReadDir(filepath.Join(home, "live"))
		if err == nil && len(entries) == 1 {
			return entries[0].Name()
		}
		select {
		case <-look.C:
		case <-limit.C:
			t.Fatalf("no run writes live text: %v", err)
		}
	}
}
