package anthropic

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"agent/host/model"
	"agent/recovery/journal"
)

func TestEffort(t *testing.T) {
	const shown = `,"thinking":{"type":"adaptive","display":"summarized"}`
	budget := func(n int) string { return fmt.Sprintf(`,"thinking":{"type":"enabled","budget_tokens":%d}`, n) }
	low := `,"output_config":{"effort":"low"}`
	for _, c := range []struct {
		name   string
		effort journal.Effort
		max    int64
		want   string
	}{
		{"claude-3-opus-20240229", "high", 0, "4096"},
		{"claude-3-7-sonnet-20250219", "", 0, "32000"},
		{"claude-opus-4-1-20250805", "none", 0, "32000"},
		{"claude-sonnet-4-20250514", "high", 0, "32000" + budget(16000)},
		{"claude-sonnet-4-5-20250929", "low", 0, "64000" + budget(8000)},
		{"claude-haiku-4-5", "medium", 0, "64000" + budget(16000)},
		{"claude-opus-4-5", "high", 0, "64000" + budget(32000)},
		{"claude-opus-4-5", "high", 100_000, "100000" + budget(32000)},
		{"claude-opus-4-5", "low", 3000, "3000" + budget(1024)},
		{"claude-opus-4-5", "high", 2000, "2000"},
		{"claude-opus-4-5", "", 0, "64000"},
		{"claude-opus-4-6", "", 0, "64000"},
		{"claude-opus-4-6", "none", 0, "64000"},
		{"claude-sonnet-4-6", "medium", 0, "64000" + shown + `,"output_config":{"effort":"medium"}`},
		{"claude-opus-4-8", "high", 0, "64000" + shown + `,"output_config":{"effort":"high"}`},
		{"claude-opus-5", "", 0, "64000" + shown},
		{"claude-opus-5", "none", 0, `64000,"thinking":{"type":"disabled"}`},
		{"claude-sonnet-5-5", "none", 0, `64000,"thinking":{"type":"between_tools"}`},
		{"claude-haiku-5-5", "none", 0, `64000,"thinking":{"type":"disabled"}`},
		{"claude-opus-5-5", "none", 0, "64000" + shown + low},
		{"claude-fable-5-1", "low", 0, "64000" + shown + low},
		{"claude-mythos-preview", "none", 0, "64000" + shown + low},
		{"anthropic/claude-haiku-4.5", "high", 0, "64000" + budget(32000)},
		{"qwen3:8b", "", 0, "8192"},
		{"qwen3:8b", "none", 0, `8192,"thinking":{"type":"disabled"}`},
		{"qwen3:8b", "high", 0, "8192" + budget(4096)},
	} {
		t.Run(c.name+" "+string(c.effort), func(t *testing.T) {
			body := string(mustEncode(t, c.name, model.Request{Effort: c.effort, MaxOutput: c.max}).body)
			_, got, _ := strings.Cut(body, `"max_tokens":`)
			got, _, _ = strings.Cut(got, `,"messages"`)
			if got = strings.Replace(got, `,"stream":true`+marker, "", 1); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// A model with a thinking budget refuses the parameter when the calls that it is to go on from
// began without thinking, as they may behind a summary of older turns.
func TestBudgetNeedsThinkingBeforeItsCalls(t *testing.T) {
	turn := func(first ...journal.Block) model.Request {
		return model.Request{Effort: "high", Messages: []journal.Message{
			user("Q"), said(append(first, call("c-1", `{}`))...), results(result("c-1", "ok", "r")),
			said(call("c-2", `{}`)), results(result("c-2", "ok", "r")),
		}}
	}
	for want, req := range map[bool]model.Request{true: turn(thinking("Hm", "s", "")), false: turn()} {
		for range 2 {
			if got := bytes.Contains(mustEncode(t, "claude-haiku-4-5", req).body, []byte("budget_tokens")); got != want {
				t.Errorf("thinking %t, want %t", got, want)
			}
			req.Messages = append(req.Messages, user("and more")) // behind results, it does not end the answer
		}
	}
}

func TestVersion(t *testing.T) {
	for in, want := range map[string]string{
		"claude-opus-4-5-20251101": "opus 4 5", "claude-sonnet-4-20250514": "sonnet 4 0", "claude-3-7-sonnet-20250219": "sonnet 3 7",
		"claude-3-opus-latest": "opus 3 0", "claude-fable-5-1": "fable 5 1", "claude-mythos-preview": "mythos 0 0", "gpt-5": " 0 0",
		"anthropic/claude-opus-4.6": "opus 4 6", "claude-haiku-4-5@20251001": "haiku 4 5", "claude-2.1": "claude 2 1",
	} {
		family, major, minor := version(in)
		if got := fmt.Sprintf("%s %d %d", family, major, minor); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
