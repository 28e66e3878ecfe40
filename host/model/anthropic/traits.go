package anthropic

import (
	"strings"

	"agent/recovery/journal"
)

// traits is what a model's name says about the parameters that it takes. The provider answers a
// thinking parameter that the model does not know with 400, so the name has to decide.
//
// Sources: platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting (the table of
// models), /thinking, /effort, /extended-thinking, and /docs/en/about-claude/models/overview for
// the lengths.
type traits struct {
	thinks   manner
	on       bool   // it thinks when nothing is said
	off      string // the thinking type that turns that off; "" when nothing does
	binds    bool   // it checks what stood before a thinking block
	unsigned bool   // it takes thinking back without a signature, if it gave it without one
	output   int64  // max_tokens when the request does not say
}

// manner is how a model is asked to think.
type manner int

const (
	never    manner = iota // it cannot
	budget                 // thinking.type enabled with budget_tokens
	adaptive               // thinking.type adaptive with output_config.effort
)

// outputOther is max_tokens for a model that is not known: enough for a turn, and small enough for
// the window of a local model.
const outputOther = 8192

func traitsOf(name string) traits {
	family, major, minor := version(name)
	v := major*100 + minor
	switch {
	case family == "":
		return traits{thinks: budget, off: "disabled", unsigned: true, output: outputOther}
	case v == 0: // claude-mythos-preview, and names to come, with the stricter reading of each rule
		return traits{thinks: adaptive, on: true, binds: true, output: 64_000}
	case v < 307:
		return traits{output: 4096}
	case v < 400:
		return traits{thinks: budget, output: 32_000}
	case v < 405:
		return traits{thinks: budget, output: 32_000}
	case v < 406:
		return traits{thinks: budget, output: 64_000}
	case v < 500:
		return traits{thinks: adaptive, output: 64_000}
	}
	t := traits{thinks: adaptive, on: true, binds: v > 500, output: 64_000}
	switch {
	case v == 500 && (family == "opus" || family == "sonnet"), v == 505 && family == "haiku":
		t.off = "disabled"
	case v == 505 && family == "sonnet":
		t.off = "between_tools"
	}
	return t
}

// version reads family and version out of a name such as claude-opus-4-5-20251101 or
// claude-3-7-sonnet-latest. The family is "" for a name that is not Anthropic's; a date is no
// version.
func version(name string) (family string, major, minor int) {
	_, rest, ok := strings.Cut(strings.ToLower(name), "claude-")
	if !ok {
		return "", 0, 0
	}
	seen := 0
	for _, w := range strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune("-.@:_", r) }) {
		n, number := digits(w)
		switch {
		case !number && family == "":
			family = w
		case number && seen == 0:
			major, seen = n, 1
			continue
		case number && seen == 1:
			minor, seen = n, 2
			continue
		}
		if seen == 1 {
			seen = 2 // what follows the major number is not the minor one
		}
	}
	if family == "" {
		family = "claude"
	}
	return family, major, minor
}

// digits reads a number of one or two digits; a longer one is a date.
func digits(w string) (n int, ok bool) {
	if len(w) > 2 {
		return 0, false
	}
	for _, c := range w {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// effort writes the parameters for how long the model may think. maxTokens bounds thinking and
// answer together. looped says that the conversation ends in calls of an answer that began without
// thinking: a model with a budget does not take the thinking parameter then.
func (t traits) effort(b []byte, e journal.Effort, maxTokens int64, looped bool) []byte {
	switch {
	case t.thinks == never:
		return b
	case e == journal.EffortNone && t.off != "":
		return append(append(append(b, `,"thinking":{"type":"`...), t.off...), `"}`...)
	case e == journal.EffortNone && t.on: // as little as it can
		return append(b, `,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"low"}`...)
	case e == journal.EffortNone, e == "" && !t.on:
		return b
	case t.thinks == adaptive:
		// Newer models leave the text of their thinking out unless a summary is asked for.
		b = append(b, `,"thinking":{"type":"adaptive","display":"summarized"}`...)
		if e == "" {
			return b
		}
		return append(append(append(b, `,"output_config":{"effort":"`...), e...), `"}`...)
	case looped:
		return b
	}
	tokens := budgetOf(e, maxTokens)
	if tokens == 0 {
		return b
	}
	return append(appendInt(append(b, `,"thinking":{"type":"enabled","budget_tokens":`...), tokens), '}')
}

// budgetOf is how many of an answer's tokens may be thinking, so that at least half are left for
// the answer. The API wants 1,024 at least, and the documentation sees little use beyond 32,000; 0
// is none.
func budgetOf(e journal.Effort, maxTokens int64) int64 {
	share := map[journal.Effort]int64{journal.EffortLow: 8, journal.EffortMedium: 4, journal.EffortHigh: 2}[e]
	if share == 0 || maxTokens < 2048 {
		return 0
	}
	return min(max(maxTokens/share, 1024), 32_000)
}
