package permission

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agent/recovery/journal"
)

// Request is a call about which is to be decided.
type Request struct {
	Mode     journal.Mode
	Authored bool // the person who started the run wrote the step
	Tool     string
	Args     json.RawMessage
	Effect   journal.Effect
	Inner    bool     // what the call does is decided call by call, in a run of its own
	Outward  string   // where the call goes out to: a host with its port or without; "" when it stays here
	Folder   string   // the run's workspace, absolute
	Bounded  bool     // the system confines a command with access write to it
	Paths    []string // what a file tool works on, seen from the workspace, links followed and not; "." is the workspace
}

// Policy is a set of rules. The zero value has none: the mode decides alone. It is safe for
// concurrent use.
type Policy struct{ rules []Rule }

// New makes a policy. Each rule was checked.
func New(rules ...Rule) Policy { return Policy{slices.Clone(rules)} }

// With is the policy with further rules.
func (p Policy) With(rules ...Rule) Policy { return Policy{append(slices.Clone(p.rules), rules...)} }

// Digest identifies what the policy restricts: its ask and deny rules, in any order. Allow rules
// are left out, since a yes that a person gave is not taken back by a rule that would have given
// it.
func (p Policy) Digest() string {
	var lines []string
	for _, r := range p.rules {
		if r.Decision != journal.DecisionAllow {
			// Neither more keys nor another order of them: a yes that waits is bound to this.
			lines = append(lines, fmt.Sprintf("{%q %q %q %q %q %q %q %q %q}",
				r.Decision, r.Tool, r.Command, r.Access, r.Path, r.Host, r.Method, r.Folder, ""))
		}
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(lines), "\n")))
	return hex.EncodeToString(sum[:])
}

// Verdict is what is to be done about a call, and why.
type Verdict struct {
	Decision journal.Decision
	Why      string
	Access   string // of a command that requested more; "" for what it requested
}

// Decide judges a call.
func (p Policy) Decide(q Request) Verdict {
	rules := p.rulesFor(q)
	restricted, why := p.restrict(rules, q)
	switch {
	case restricted == journal.DecisionDeny:
		return Verdict{restricted, why, ""}
	case q.Inner && restricted == "":
		return Verdict{journal.DecisionAllow, "each call of its run is decided by itself", ""}
	case q.Mode == journal.ModePlan && q.Effect != journal.EffectRead:
		return Verdict{journal.DecisionDeny, "mode plan only reads", ""}
	case restricted == journal.DecisionAsk:
		return Verdict{restricted, why, ""}
	case q.Authored && (q.Mode != journal.ModePlan || q.Outward == ""):
		return Verdict{journal.DecisionAllow, "a step that the person wrote", ""}
	}

	covered := allowed(rules, q)
	if covered.ok && covered.access == "" {
		return Verdict{journal.DecisionAllow, covered.why, ""}
	}
	switch d, why := byMode(q); {
	case d != journal.DecisionAsk:
		return Verdict{d, why, ""}
	case covered.ok:
		return Verdict{journal.DecisionAllow, covered.why, covered.access}
	case covered.why != "":
		return Verdict{d, why + "; " + covered.why, ""}
	default:
		return Verdict{d, why, ""}
	}
}

// Names reports whether allow rules name all that a call does.
func (p Policy) Names(q Request) bool {
	covered := allowed(p.rulesFor(q), q)
	return covered.ok && covered.access == ""
}

// byMode is what the mode says where no rule does.
func byMode(q Request) (journal.Decision, string) {
	switch {
	case q.Mode == journal.ModeYolo:
		return journal.DecisionAllow, "mode yolo"
	case q.Outward != "":
		return journal.DecisionAsk, "it sends what it says to " + q.Outward
	case q.Effect == journal.EffectRead:
		return journal.DecisionAllow, "it only reads"
	case q.Effect == journal.EffectWriteLocal && slices.ContainsFunc(q.Paths, beside):
		return journal.DecisionAsk, "it writes in a folder that the run was given beside its workspace"
	case q.Mode == journal.ModeAuto && q.Effect == journal.EffectWriteLocal:
		return journal.DecisionAllow, "mode auto: a write in the workspace"
	case q.Effect == journal.EffectWriteLocal:
		return journal.DecisionAsk, "it writes in the workspace"
	}
	return journal.DecisionAsk, "it may change anything"
}

// rulesFor are the rules about the call's tool in its workspace. A glob that allows does not reach
// shell and fetch: what they may do is said by name.
func (p Policy) rulesFor(q Request) []Rule {
	var out []Rule
	for _, r := range p.rules {
		switch {
		case !r.Named(q.Tool), r.Folder != "" && r.Folder != q.Folder:
		case r.Decision == journal.DecisionAllow && r.glob() && (q.Tool == "shell" || q.Tool == "fetch"):
		default:
			out = append(out, r)
		}
	}
	return out
}

// Concerns says whether there is a rule about the call's tool in its workspace. Where there is
// none, Decide looks at no path.
func (p Policy) Concerns(q Request) bool { return len(p.rulesFor(q)) > 0 }

// restrict is what deny and ask rules say; "" when they say nothing.
func (p Policy) restrict(rules []Rule, q Request) (journal.Decision, string) {
	var decision journal.Decision
	var why string
	say := func(d journal.Decision, format string, a ...any) {
		if decision == "" || d == journal.DecisionDeny && decision != d {
			decision, why = d, fmt.Sprintf(format, a...)
		}
	}
	restricting := slices.DeleteFunc(slices.Clone(rules), func(r Rule) bool { return r.Decision == journal.DecisionAllow })
	if len(restricting) == 0 {
		return "", ""
	}
	seen := sightOf(q)
	for _, r := range restricting {
		// An ask rule is about what a model asks for; what the person wrote is asked about only
		// where a deny rule may mean it.
		if q.Authored && r.Decision == journal.DecisionAsk {
			continue
		}
		switch m := seen.meets(r); {
		case m == misses:
		case r.Decision == journal.DecisionAsk:
			say(journal.DecisionAsk, "%s asks", r.said())
		case m == perhaps:
			say(journal.DecisionAsk, "%s may mean it", r.said())
		default:
			say(journal.DecisionDeny, "denied by the %s", r.said())
		}
		if r.Command != "" && r.Decision == journal.DecisionDeny && seen.opaque != "" {
			say(journal.DecisionAsk, "%s, and there is a %s", seen.opaque, r.said())
		}
	}
	return decision, why
}
