package command

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"agent/host"
	"agent/recovery"
)

// verdictWords says in words what recovery decided about a call, with its reason. A resume, its dry run and show all use
// these words, so that a plan can be compared with what was done.
func verdictWords(v recovery.Verdict, reason string) string {
	words := string(v)
	switch v {
	case recovery.VerdictReplay:
		words = "replayed, not executed"
	case recovery.VerdictWait:
		words = "waits for an answer"
	case recovery.VerdictRun:
		words = "run"
	case recovery.VerdictAgain:
		words = "run again"
	case recovery.VerdictAttach:
		words = "picked up, still running"
	case recovery.VerdictAdopt:
		words = "adopted, not executed"
	case recovery.VerdictSkip:
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

// verdictLine is the one line about a decision.
func verdictLine(p recovery.Place, name string, v recovery.Verdict, reason string) string {
	return fmt.Sprintf("%s %s: %s", p, name, verdictWords(v, reason))
}

// callName is what a call is about, in a few words.
func callName(tool string, args json.RawMessage) string { return tool + ": " + host.Words(tool, args) }

// ended is what a command says of its own end, in Result.Data.
type ended struct {
	Status *int   `json:"status"`
	Signal string `json:"signal"`
	Cause  string `json:"cause"`
}

// resultWords says how a call ended, where its result comes from, and how long it took.
func resultWords(r recovery.Result) string {
	words := string(r.Outcome)
	switch r.Outcome {
	case recovery.OutcomeUnknown:
		words = "outcome unknown"
	case recovery.OutcomeSkipped:
		words = "not executed"
	case recovery.OutcomeDenied:
		words = "refused, not executed"
	case recovery.OutcomeError:
		words = "failed"
	}
	if end := endWords(r); end != "" && r.Outcome == recovery.OutcomeError {
		words = end
	} else if end != "" && r.Outcome == recovery.OutcomeUnknown {
		words += ", " + end
	}
	switch r.How {
	case recovery.HowAttached:
		words += ", picked up"
	case recovery.HowAdopted:
		words += ", adopted from its own record"
	case recovery.HowVerified:
		words += ", adopted: its effect was looked at and is there"
	}
	if r.Took > 0 {
		words += ", " + duration(r.Took)
	}
	return words
}

// saidNo reads the answer to a question that takes yes or no.
func saidNo(answer string) bool {
	return slices.Contains([]string{"no", "n", "false"}, strings.ToLower(strings.Trim(strings.TrimSpace(answer), `"`)))
}

func outcomeMark(o recovery.Outcome) (style, string) {
	switch o {
	case recovery.OutcomeOK:
		return green, "✓"
	case recovery.OutcomeError:
		return red, "✗"
	case recovery.OutcomeUnknown:
		return yellow, "?"
	}
	return yellow, "-"
}

func endWords(r recovery.Result) string {
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

// unknownWords says what an unknown outcome means and what a person can do about it.
func unknownWords(id, name string, r recovery.Result) string {
	text := fmt.Sprintf("%s may or may not have happened; nothing executes it again without your decision", name)
	if len(r.Alive) > 0 {
		text += "; it may still be running: " + strings.Join(r.Alive, ", ")
	}
	if id == "" {
		return text
	}
	return text + "\nwhen you know: " + wordsOn(id)[0] + "  (settles it), or: " + wordsOn(id)[1] + "  (keeps it unknown)"
}

// duration writes a span of time for people.
func duration(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return withoutSeconds(d.Round(100 * time.Millisecond))
	case d < time.Hour:
		return withoutSeconds(d.Round(time.Second))
	}
	return withoutSeconds(d.Round(time.Minute))
}

// withoutSeconds is a whole number of minutes without its zero seconds; another time stays as it is.
func withoutSeconds(d time.Duration) string {
	if text, whole := strings.CutSuffix(d.String(), "m0s"); whole {
		return text + "m"
	}
	return d.String()
}

// limitWords says what bounds a run.
func limitWords(l recovery.Limits) string {
	text := "no turn limit"
	if l.MaxTurns > 0 {
		text = count(l.MaxTurns, "turn") + " at most"
	}
	if l.Timeout > 0 {
		text += ", " + duration(l.Timeout) + " of work at most"
	}
	if l.MaxTokens > 0 {
		text += ", " + number(l.MaxTokens) + " tokens at most"
	}
	if l.MaxCost > 0 {
		text += ", " + recovery.Dollars(l.MaxCost) + " at most"
	}
	return text
}

func modelWords(c recovery.RunCreated) string {
	if c.ModelWhy == "" {
		return c.Model
	}
	return c.Model + " (" + c.ModelWhy + ")"
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// excerpt is the beginning and the end of a long text, by lines, with what is left out said. more says how to see all of it.
func excerpt(text string, head, tail int, more string) string {
	return excerptOf(text, head, tail, more, true)
}

// excerptOf is excerpt of a text that may itself be a part: then nobody knows how many lines are left out.
func excerptOf(text string, head, tail int, more string, whole bool) string {
	text = strings.TrimRight(text, "\n")
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		lines[i] = clip(l)
	}
	if len(lines) <= head+tail+1 {
		return strings.Join(lines, "\n")
	}
	gap := fmt.Sprintf("… %d lines are not shown here%s", len(lines)-head-tail, more)
	if !whole {
		gap = "… the rest is not shown here" + more
	}
	out := append(append(lines[:head:head], gap), lines[len(lines)-tail:]...)
	return strings.Join(out, "\n")
}

// maxLine is the most of one line that is shown, in bytes.
const maxLine = 4 << 10

func clip(line string) string { return clipped(line, len(line)) }

// clipped is the beginning of a line of size bytes, of which line may be only a part.
func clipped(line string, size int) string {
	if size <= maxLine {
		return line
	}
	end := min(maxLine, len(line)-1)
	for end > 0 && line[end]&0xC0 == 0x80 {
		end-- // not inside a character
	}
	return line[:end] + fmt.Sprintf("… (%s in this line)", bytesText(int64(size)))
}
