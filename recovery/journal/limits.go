package journal

import (
	"slices"
	"time"
)

// Limits bound a run. Zero means no limit.
type Limits struct {
	MaxTurns  int           `json:"max_turns,omitempty"`
	Timeout   time.Duration `json:"timeout,omitempty"`    // time spent running, in nanoseconds; waiting for a person does not count
	MaxTokens int64         `json:"max_tokens,omitempty"` // read and written, by all requests together
	MaxCost   int64         `json:"max_cost,omitempty"`   // in millionths of a US dollar
}

// Tighten is the tighter of each limit.
func (l Limits) Tighten(by Limits) Limits {
	return Limits{
		MaxTurns: Tighter(l.MaxTurns, by.MaxTurns), Timeout: Tighter(l.Timeout, by.Timeout),
		MaxTokens: Tighter(l.MaxTokens, by.MaxTokens), MaxCost: Tighter(l.MaxCost, by.MaxCost),
	}
}

// Tighter is the one of two limits that allows less.
func Tighter[N int | int64 | time.Duration](a, b N) N {
	if Looser(a, b) {
		return b
	}
	return a
}

// Looser says whether a limit allows more than another one. Zero is no limit.
func Looser[N int | int64 | time.Duration](limit, than N) bool {
	return than > 0 && (limit <= 0 || limit > than)
}

// Mode says what needs a person's yes.
type Mode string

// The modes of permission, from the tightest to the loosest: plan, ask, auto, yolo.
const (
	ModePlan Mode = "plan" // reads only; anything else is refused
	ModeAsk  Mode = "ask"  // reads run, anything else is asked about
	ModeAuto Mode = "auto" // reads and writes inside the workspace run, the rest is asked about
	ModeYolo Mode = "yolo" // everything runs
)

// Modes lists the modes from the tightest to the loosest.
func Modes() []Mode { return []Mode{ModePlan, ModeAsk, ModeAuto, ModeYolo} }

// LooserThan says whether m lets more happen without a question than o; a mode that is not known
// counts as the loosest.
func (m Mode) LooserThan(o Mode) bool { return m.looseness() > o.looseness() }

func (m Mode) looseness() int {
	if i := slices.Index(Modes(), m); i >= 0 {
		return i
	}
	return len(Modes())
}
