package command

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"agent/host"
	"agent/recovery"
)

// failedWords says why a request to a model brought no answer, and what happens next.
func failedWords(model string, b recovery.ModelFailed) string {
	text := faultText(model, b)
	if model != "" {
		text = model + ": " + text
	}
	switch {
	case b.Again && b.Wait > 0:
		wait := (b.Wait + time.Second - 1).Truncate(time.Second) // up: chance has its part in it
		text += fmt.Sprintf("; asking again in %s (try %d)", duration(wait), b.Tries+1)
	case b.Again:
		text += fmt.Sprintf("; asking again (try %d)", b.Tries+1)
	case b.Remedy != "":
		text += "\n" + b.Remedy
	}
	return text
}

// faultText is what happened, without the model that is named beside it.
func faultText(model string, b recovery.ModelFailed) string {
	return faultWords(b.Fault) + ": " + strings.TrimPrefix(b.Detail, "ask model "+model+": ")
}

// faultWords names a fault for people.
func faultWords(f recovery.Fault) string {
	switch f {
	case recovery.FaultRateLimit:
		return "rate limit"
	case recovery.FaultServer:
		return "server error"
	case recovery.FaultNetwork:
		return "no connection"
	case recovery.FaultCut:
		return "answer broke off"
	case recovery.FaultGarbage:
		return "answer not understood"
	case recovery.FaultTooLarge:
		return "answer too large"
	case recovery.FaultContext:
		return "request too long"
	case recovery.FaultFiltered:
		return "refused by the content filter"
	case recovery.FaultKey:
		return "key not accepted"
	case recovery.FaultNoKey:
		return "no key"
	case recovery.FaultCredit:
		return "no credit"
	case recovery.FaultNoModel:
		return "no such model"
	case recovery.FaultRequest:
		return "request refused"
	}
	return string(f) // overloaded, stalled
}

// compacted tells that a summary stands for older messages from now on.
func (t *teller) compacted(run string, b recovery.ContextCompacted) {
	text := "older messages are now a summary for the model: " + summarised(b.Through, t.of(run).thread)
	if b.Before > 0 || b.After > 0 {
		text += fmt.Sprintf(", about %s -> %s tokens", number(b.Before), number(b.After))
	}
	if !t.whole {
		t.line(yellow, "~", text+"; agent show "+run+" has them all")
		return
	}
	t.line(yellow, "~", text)
	t.block(b.Summary)
}

// summarised says what a summary stands for.
func summarised(through int, thread bool) string {
	var of []string
	if thread || through == 0 {
		of = append(of, "the thread's earlier runs")
	}
	switch {
	case through == 1:
		of = append(of, "turn 1")
	case through > 1:
		of = append(of, fmt.Sprintf("turns 1 to %d", through))
	}
	return strings.Join(of, " and ")
}

// number writes a count in groups of three digits.
func number(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// spending is what a run or a turn used.
type spending struct {
	usage     recovery.Usage
	estimated bool  // a part of it is
	cost      int64 // millionths of a US dollar
	priced    bool  // cost is known
}

// words says what was used: nothing where that is nothing, or not known.
func (s spending) words() string {
	u, about := s.usage, ""
	if u == (recovery.Usage{}) {
		return ""
	}
	if s.estimated {
		about = "about "
	}
	text := fmt.Sprintf("%s%s tokens in", about, number(u.Input))
	if u.Cached > 0 {
		text += fmt.Sprintf(" (%s cached)", number(u.Cached))
	}
	text += fmt.Sprintf(", %s out", number(u.Output))
	if s.priced {
		text += ", " + about + recovery.Dollars(s.cost)
	}
	return text
}

func spent(o host.Outcome) spending {
	u := o.Usage
	u.Add(o.Estimated)
	return spending{usage: u, estimated: o.Estimated != recovery.Usage{}, cost: o.Cost, priced: o.Priced}
}

// usageJSON is what requests to the model used, in tokens, those that brought no answer included. Fields are only ever added.
type usageJSON struct {
	Input     int64 `json:"input"`     // all that the model read, from a cache or not
	Output    int64 `json:"output"`    // all that it wrote, reasoning included
	Cached    int64 `json:"cached"`    // part of input that came from the provider's cache
	Written   int64 `json:"written"`   // part of input that was written to the provider's cache
	Reasoning int64 `json:"reasoning"` // part of output that was reasoning, where the provider says so
	Estimated bool  `json:"estimated"` // a part of it was charged without the provider's word, and so is the cost
}

func (s spending) view() usageJSON {
	u := s.usage
	return usageJSON{u.Input, u.Output, u.Cached, u.Written, u.Reasoning, s.estimated}
}

// dollars is the cost as a number of US dollars with up to six decimals; nil, which is null, where no price is known.
func (s spending) dollars() *json.Number {
	if !s.priced {
		return nil
	}
	n := json.Number(strings.TrimPrefix(recovery.Dollars(s.cost), "$"))
	return &n
}

// turnUsage is what one answer used and how long it took, as the end of a line.
func turnUsage(u *recovery.Usage, p *recovery.Price, took time.Duration) string {
	if u == nil {
		return ""
	}
	s := spending{usage: *u, priced: p != nil}
	if p != nil {
		s.cost = p.Cost(*u)
	}
	return after(s.words()) + after(duration(took))
}

// after is a text as the end of a line.
func after(text string) string {
	if text == "" {
		return ""
	}
	return ", " + text
}
