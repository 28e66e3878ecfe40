package view

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"agent/host"
	"agent/host/markdown"
	"agent/recovery/journal"
)

// VerdictText says in words what recovery decided about a call, with its reason. A resume, its dry
// run and show all use these words, so that a plan can be compared with what was done.
func VerdictText(v journal.Verdict, reason string) string {
	words := string(v)
	switch v {
	case journal.VerdictReplay:
		words = "replayed, not executed"
	case journal.VerdictWait:
		words = "waits for an answer"
	case journal.VerdictRun:
		words = "run"
	case journal.VerdictAgain:
		words = "run again"
	case journal.VerdictAttach:
		words = "picked up, still running"
		if who, ok := strings.CutPrefix(reason, journal.WaitsForPeople); ok {
			words, reason = "picked up, waits for people", who
		}
	case journal.VerdictAdopt:
		words = "adopted, not executed"
	case journal.VerdictSkip:
		words = "not executed"
		if why, ok := strings.CutPrefix(reason, "outcome unknown: "); ok {
			words, reason = "outcome unknown, not executed again", why
		}
	}
	if reason == "" {
		return words
	}
	return words + " (" + reason + ")"
}

// VerdictLine is the one line about a decision.
func VerdictLine(p journal.Place, name string, v journal.Verdict, reason string) string {
	return fmt.Sprintf("%s %s: %s", p, name, VerdictText(v, reason))
}

// CallName is what a call is about, in a few words.
func CallName(tool string, args json.RawMessage) string { return tool + ": " + host.Words(tool, args) }

// ended is what a command says of its own end, in Result.Data.
type ended struct {
	Status *int   `json:"status"`
	Signal string `json:"signal"`
	Cause  string `json:"cause"`
}

// ResultText says how a call ended, where its result comes from, and how long it took.
func ResultText(r journal.Result) string {
	words := string(r.Outcome)
	switch r.Outcome {
	case journal.OutcomeUnknown:
		if words = "outcome unknown"; Stopped(r) {
			return "stopped, " + Duration(r.Took) + "; it may have done a part of its work"
		}
	case journal.OutcomeSkipped:
		words = "not executed"
	case journal.OutcomeDenied:
		words = "refused, not executed"
	case journal.OutcomeError:
		words = "failed"
	}
	if end := EndText(r); end != "" && r.Outcome == journal.OutcomeError {
		words = end
	} else if end != "" && r.Outcome == journal.OutcomeUnknown {
		words += ", " + end
	}
	switch r.How {
	case journal.HowAttached:
		words += ", picked up"
	case journal.HowAdopted:
		words += ", adopted from its own record"
	case journal.HowVerified:
		words += ", adopted: its effect was looked at and is there"
	}
	if r.Took > 0 {
		words += ", " + Duration(r.Took)
	}
	return words
}

// EndText says how a command ended, in the words of its runner; "" where its tool says nothing of
// that.
func EndText(r journal.Result) string {
	var e ended
	if len(r.Data) == 0 || json.Unmarshal(r.Data, &e) != nil || e.Status == nil {
		return "" // the tool says nothing of the kind
	}
	switch e.Cause {
	case "exited":
		return fmt.Sprintf("exit status %d", *e.Status)
	case "signalled":
		return "killed by " + e.Signal
	case "timeout":
		return "stopped at its time limit"
	case "":
		return ""
	}
	return e.Cause
}

// Stopped says whether a command was stopped because its run was to end.
func Stopped(r journal.Result) bool {
	return r.Outcome == journal.OutcomeUnknown && EndText(r) == "cancelled"
}

// unknownText says what an unknown outcome means and what a person can do about it.
func unknownText(id, name string, r journal.Result) string {
	text := fmt.Sprintf("%s may or may not have happened; nothing executes it again without your decision", name)
	if len(r.Alive) > 0 {
		text += "; it may still be running: " + strings.Join(r.Alive, ", ")
	}
	if id == "" {
		return text
	}
	return text + "\nwhen you know: " + ResolveCommands(id)[0] + "  (settles it), or: " + ResolveCommands(id)[1] + "  (keeps it unknown)"
}

// LimitText says what bounds a run.
func LimitText(l journal.Limits) string {
	text := "no turn limit"
	if l.MaxTurns > 0 {
		text = Count(l.MaxTurns, "turn") + " at most"
	}
	if l.Timeout > 0 {
		text += ", " + Duration(l.Timeout) + " of work at most"
	}
	if l.MaxTokens > 0 {
		text += ", " + Number(l.MaxTokens) + " tokens at most"
	}
	if l.MaxCost > 0 {
		text += ", " + journal.Dollars(l.MaxCost) + " at most"
	}
	return text
}

// ModelText names the model of a run and why it was chosen.
func ModelText(c journal.RunCreated) string {
	if c.ModelWhy == "" {
		return c.Model
	}
	return c.Model + " (" + c.ModelWhy + ")"
}

// OrPerson names whoever decided.
func OrPerson(by string) string {
	if by == "" {
		return "a person"
	}
	return by
}

// CauseText is why a run was interrupted.
func CauseText(c journal.Cause, detail string) string {
	if detail == "" {
		return string(c)
	}
	return string(c) + ": " + detail
}

// ShownFiles names the files of standing instructions that the model is shown, as they lie from the
// run's folder, and the person's own as it lies from home; "" for none.
func ShownFiles(home string, b journal.RunCreated) string {
	var names []string
	for _, f := range b.Setup.Instructions {
		name, err := filepath.Rel(b.Folder, f.Path)
		if above := filepath.Dir(f.Path); err != nil || !strings.HasPrefix(b.Folder+"/", strings.TrimSuffix(above, "/")+"/") {
			name = Tilde(home, f.Path)
		}
		names = append(names, fmt.Sprintf("%s (%s)", name, Bytes(f.Bytes)))
	}
	return strings.Join(names, ", ")
}

// PromptStart is a prompt's beginning without what only marks it up.
func PromptStart(prompt string) string {
	var words []string
	lines := markdown.Lines(prompt)
	front, _ := markdown.FrontMatter(lines)
	for _, line := range lines[front:] {
		line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#"))
		if line != "" && !strings.HasPrefix(line, "```") {
			words = append(words, line)
		}
	}
	return strings.Join(words, " ")
}

// WindowText says how much the model may read, write and think.
func WindowText(m journal.Setup) string {
	var parts []string
	if m.Window > 0 {
		parts = append(parts, Number(m.Window)+" tokens")
	}
	if m.MaxOutput > 0 {
		parts = append(parts, "answers of "+Number(m.MaxOutput)+" at most")
	}
	if m.Effort != "" {
		parts = append(parts, "effort "+string(m.Effort))
	}
	if m.NoCompact {
		parts = append(parts, "no summaries when it is full (--no-compact)")
	}
	return strings.Join(parts, ", ")
}

// PriceText is what a model costs.
func PriceText(p journal.Price) string {
	text := journal.Dollars(p.Input) + " in"
	if p.Cached > 0 {
		text += ", " + journal.Dollars(p.Cached) + " cached"
	}
	if p.Written > 0 {
		text += ", " + journal.Dollars(p.Written) + " written to the cache"
	}
	return text + ", " + journal.Dollars(p.Output) + " out, for a million tokens"
}

// ProviderText names a wire protocol.
func ProviderText(p string) string {
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

// FailedText says why a request to a model brought no answer, and what happens next.
func FailedText(model string, b journal.ModelFailed) string {
	text := FaultText(model, b)
	if model != "" {
		text = model + ": " + text
	}
	switch {
	case b.Again && b.Wait > 0:
		wait := (b.Wait + time.Second - 1).Truncate(time.Second) // up: chance has its part in it
		text += fmt.Sprintf("; asking again in %s (try %d)", Duration(wait), b.Tries+1)
	case b.Again:
		text += fmt.Sprintf("; asking again (try %d)", b.Tries+1)
	case b.Remedy != "":
		text += "\n" + b.Remedy
	}
	return text
}

// FaultText is what happened, without the model that is named beside it.
func FaultText(model string, b journal.ModelFailed) string {
	return FaultName(b.Fault) + ": " + strings.TrimPrefix(b.Detail, "ask model "+model+": ")
}

// FaultName names a fault for people.
func FaultName(f journal.Fault) string {
	switch f {
	case journal.FaultRateLimit:
		return "rate limit"
	case journal.FaultServer:
		return "server error"
	case journal.FaultNetwork:
		return "no connection"
	case journal.FaultCut:
		return "answer broke off"
	case journal.FaultGarbage:
		return "answer not understood"
	case journal.FaultTooLarge:
		return "answer too large"
	case journal.FaultContext:
		return "request too long"
	case journal.FaultFiltered:
		return "refused by the content filter"
	case journal.FaultKey:
		return "key not accepted"
	case journal.FaultNoKey:
		return "no key"
	case journal.FaultCredit:
		return "no credit"
	case journal.FaultNoModel:
		return "no such model"
	case journal.FaultRequest:
		return "request refused"
	}
	return string(f) // overloaded, stalled
}
