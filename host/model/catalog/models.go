package catalog

import (
	"strings"

	"agent/recovery/journal"
)

// entry is a model as the public documentation of its provider describes it.
type entry struct {
	provider, name            string
	window, output            int64 // tokens
	in, cached, written, outs int64 // millionths of a US dollar for a million tokens
}

const (
	k     = 1000
	cent  = 10_000
	whole = 1000 * k
)

// table is what is known of models, as of November 2026. What is not here has no window and no
// price.
//
// Anthropic: https://platform.claude.com/docs/en/about-claude/pricing and
// .../about-claude/models/overview; written is the price of the five-minute cache. OpenAI:
// https://developers.openai.com/api/docs/pricing and .../api/docs/models.
//
// Some models cost more for the whole request once it is longer than a threshold below their window
// of a million tokens: 100,000 tokens for Claude Haiku 5.5, 272,000 for GPT-6. For these the window
// here is that threshold, so that what is counted is what is charged; a larger one can be
// configured, together with its price.
func table() []entry {
	return []entry{
		{"anthropic", "claude-fable-5-1", whole, 128 * k, 1000 * cent, 25 * cent, 1250 * cent, 5000 * cent},
		{"anthropic", "claude-opus-5-5", whole, 128 * k, 400 * cent, 20 * cent, 500 * cent, 2000 * cent},
		{"anthropic", "claude-sonnet-5-5", whole, 128 * k, 200 * cent, 10 * cent, 250 * cent, 1000 * cent},
		{"anthropic", "claude-haiku-5-5", 100 * k, 32 * k, 10 * cent, cent, 125 * cent / 10, 50 * cent},
		{"anthropic", "claude-opus-5", whole, 128 * k, 500 * cent, 50 * cent, 625 * cent, 2500 * cent},
		{"anthropic", "claude-sonnet-5", whole, 128 * k, 200 * cent, 20 * cent, 250 * cent, 1000 * cent},
		{"anthropic", "claude-opus-4-8", whole, 128 * k, 500 * cent, 50 * cent, 625 * cent, 2500 * cent},
		{"anthropic", "claude-opus-4-7", whole, 128 * k, 500 * cent, 50 * cent, 625 * cent, 2500 * cent},
		{"anthropic", "claude-opus-4-6", whole, 128 * k, 500 * cent, 50 * cent, 625 * cent, 2500 * cent},
		{"anthropic", "claude-opus-4-5", 200 * k, 64 * k, 500 * cent, 50 * cent, 625 * cent, 2500 * cent},
		{"anthropic", "claude-sonnet-4-6", whole, 64 * k, 300 * cent, 30 * cent, 375 * cent, 1500 * cent},
		{"anthropic", "claude-sonnet-4-5", 200 * k, 64 * k, 300 * cent, 30 * cent, 375 * cent, 1500 * cent},
		{"anthropic", "claude-haiku-4-5", 200 * k, 64 * k, 100 * cent, 10 * cent, 125 * cent, 500 * cent},
		{"openai", "gpt-6.1-sol", 272 * k, 128 * k, 200 * cent, 10 * cent, 250 * cent, 1000 * cent},
		{"openai", "gpt-6.1-terra", 272 * k, 128 * k, 100 * cent, 5 * cent, 125 * cent, 500 * cent},
		{"openai", "gpt-6-astra", 272 * k, 128 * k, 1000 * cent, 100 * cent, 1250 * cent, 5000 * cent},
		{"openai", "gpt-6-sol", 272 * k, 128 * k, 200 * cent, 20 * cent, 250 * cent, 1000 * cent},
		{"openai", "gpt-6-luna", 272 * k, 128 * k, 10 * cent, cent, 125 * cent / 10, 50 * cent},
		{"openai", "gpt-5.2", 400 * k, 128 * k, 175 * cent, 175 * cent / 10, 175 * cent, 1400 * cent},
		{"openai", "gpt-5.1", 400 * k, 128 * k, 125 * cent, 125 * cent / 10, 125 * cent, 1000 * cent},
		{"openai", "gpt-5", 400 * k, 128 * k, 125 * cent, 125 * cent / 10, 125 * cent, 1000 * cent},
		{"openai", "gpt-5-mini", 400 * k, 128 * k, 25 * cent, 25 * cent / 10, 25 * cent, 200 * cent},
		{"openai", "gpt-5-nano", 400 * k, 128 * k, 5 * cent, 5 * cent / 10, 5 * cent, 40 * cent},
		{"openai", "gpt-4.1", 1_047_576, 32_768, 200 * cent, 50 * cent, 200 * cent, 800 * cent},
		{"openai", "gpt-4.1-mini", 1_047_576, 32_768, 40 * cent, 10 * cent, 40 * cent, 160 * cent},
	}
}

// known finds a model in the table, by its name or by its name with a date behind it.
func known(provider, model string) Model {
	for _, e := range table() {
		if e.provider == provider && (e.name == model || dated(strings.TrimPrefix(model, e.name))) {
			return e.model()
		}
	}
	return Model{}
}

func (e entry) model() Model {
	return Model{
		Window: e.window, MaxOutput: e.output,
		Price: &journal.Price{Input: e.in, Cached: e.cached, Written: e.written, Output: e.outs},
	}
}

// dated says whether what stands behind a name is a date: -20260115 or -2026-01-15.
func dated(rest string) bool {
	digits := strings.ReplaceAll(rest, "-", "")
	return strings.HasPrefix(rest, "-20") && len(digits) == 8 && strings.Trim(digits, "0123456789") == "" &&
		(len(rest) == 9 || len(rest) == 11 && rest[5] == '-' && rest[8] == '-')
}

// Known lists the models of the table as provider/model, with what is known of each.
func Known() []Named {
	var all []Named
	for _, e := range table() {
		all = append(all, Named{e.provider + "/" + e.name, e.model()})
	}
	return all
}

// Named is a model with its whole name.
type Named struct {
	Name string
	Model
}
