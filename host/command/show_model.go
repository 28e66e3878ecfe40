package command

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"agent/recovery"
)

// setup prints what the model is asked with at every request of a run.
func (s *session) setup(t *teller, b recovery.RunCreated) {
	m := b.Setup
	if m.Provider == "" {
		return
	}
	if m.BaseURL != "" {
		t.pair("asked at", m.BaseURL)
	}
	if words := windowWords(m); words != "" {
		t.pair("window", words)
	}
	if p := m.Price; p != nil {
		t.pair("price", priceWords(*p))
	}
	if n := len(m.Images); n > 0 {
		t.pair("images", fmt.Sprint(n))
	}
	if m.System != "" {
		t.pair("system", fmt.Sprintf("%s, %s: agent show %s --json", m.SystemName, bytesText(int64(len(m.System))), b.Run))
	}
	for _, f := range m.Instructions {
		t.pair("shown", fmt.Sprintf("%s, %s, SHA-256 %s…", s.app.tilde(f.Path), bytesText(f.Bytes), short(f.Digest)))
	}
}

// windowWords says how much the model may read, write and think.
func windowWords(m recovery.Setup) string {
	var parts []string
	if m.Window > 0 {
		parts = append(parts, number(m.Window)+" tokens")
	}
	if m.MaxOutput > 0 {
		parts = append(parts, "answers of "+number(m.MaxOutput)+" at most")
	}
	if m.Effort != "" {
		parts = append(parts, "effort "+string(m.Effort))
	}
	if m.NoCompact {
		parts = append(parts, "no summaries when it is full (--no-compact)")
	}
	return strings.Join(parts, ", ")
}

func priceWords(p recovery.Price) string {
	text := recovery.Dollars(p.Input) + " in"
	if p.Cached > 0 {
		text += ", " + recovery.Dollars(p.Cached) + " cached"
	}
	if p.Written > 0 {
		text += ", " + recovery.Dollars(p.Written) + " written to the cache"
	}
	return text + ", " + recovery.Dollars(p.Output) + " out, for a million tokens"
}

// providerWords names a wire protocol.
func providerWords(p string) string {
	switch p {
	case "":
		return ""
	case "anthropic":
		return ", Messages API"
	case "responses":
		return ", Responses API"
	case "chat":
		return ", Chat Completions API"
	}
	return ", " + p
}

// short is the beginning of a digest, enough to compare by eye.
func short(digest string) string { return digest[:min(12, len(digest))] }

// used is what a run used of its model so far; false for a model without a provider, and where the record cannot be added up.
func (s *session) used(ctx context.Context, b recovery.RunCreated) (spending, bool) {
	if b.Setup.Provider == "" {
		return spending{}, false
	}
	st, err := s.State(ctx, b.Run)
	if err != nil {
		return spending{}, false // whoever reads on in the record comes to the same fault, and says it
	}
	return spent(s.Finished(st)), true
}

// setupJSON is what the model is asked with at every request. Fields are only ever added.
type setupJSON struct {
	Provider     string                 `json:"provider"` // wire protocol: anthropic, responses or chat
	BaseURL      string                 `json:"base_url,omitempty"`
	SystemName   string                 `json:"system_name,omitempty"` // of our own part of the system prompt; the fact run.created has all of it
	Instructions []recovery.Instruction `json:"instructions"`          // files that are shown to the model, quoted in the system prompt
	Window       int64                  `json:"window,omitempty"`      // tokens; not known when missing
	MaxOutput    int64                  `json:"max_output,omitempty"`  // tokens of one answer; left to the provider when missing
	Effort       recovery.Effort        `json:"effort,omitempty"`
	Price        *recovery.Price        `json:"price"` // of a million tokens, in millionths of a US dollar; null when not known
	NoCompact    bool                   `json:"no_compact,omitempty"`
	Images       int                    `json:"images,omitempty"`
}

func setupView(m recovery.Setup) *setupJSON {
	if m.Provider == "" {
		return nil
	}
	return &setupJSON{
		Provider: m.Provider, BaseURL: m.BaseURL, SystemName: m.SystemName, Instructions: append([]recovery.Instruction{}, m.Instructions...),
		Window: m.Window, MaxOutput: m.MaxOutput, Effort: m.Effort, Price: m.Price, NoCompact: m.NoCompact, Images: len(m.Images),
	}
}

// limitsJSON bounds a run as it is now; 0 and null are no limit. Fields are only ever added.
type limitsJSON struct {
	MaxTurns   int          `json:"max_turns"`
	TimeoutMS  int64        `json:"timeout_ms"`
	MaxTokens  int64        `json:"max_tokens"`
	MaxCostUSD *json.Number `json:"max_cost_usd"`
}

func limitsView(l recovery.Limits) limitsJSON {
	return limitsJSON{
		MaxTurns: l.MaxTurns, TimeoutMS: l.Timeout.Milliseconds(), MaxTokens: l.MaxTokens,
		MaxCostUSD: spending{cost: l.MaxCost, priced: l.MaxCost > 0}.dollars(),
	}
}

func (v *showRunJSON) created() (recovery.RunCreated, bool) {
	if len(v.Facts) == 0 {
		return recovery.RunCreated{}, false
	}
	b, ok := v.Facts[0].Body.(recovery.RunCreated)
	return b, ok
}

// about fills in what a fact says about the run as a whole.
func (v *showRunJSON) about(b recovery.Body) {
	switch b := b.(type) {
	case recovery.RunCreated:
		v.now, v.Setup, v.Limits = b, setupView(b.Setup), limitsView(b.Limits)
	case recovery.RunClaimed:
		if b.Limits != nil {
			v.Limits = limitsView(*b.Limits)
		}
		v.now = v.now.With(b)
		v.Setup = setupView(v.now.Setup)
	}
}
