package view

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"agent/host"
	"agent/recovery/journal"
)

// Spending is what a run or a turn used.
type Spending struct {
	Usage     journal.Usage
	Estimated bool  // a part of it is
	cost      int64 // millionths of a US dollar
	priced    bool  // cost is known
}

// Text says what was used: nothing where that is nothing, or not known.
func (s Spending) Text() string {
	u, about := s.Usage, ""
	if u == (journal.Usage{}) {
		return ""
	}
	if s.Estimated {
		about = "about "
	}
	text := fmt.Sprintf("%s%s tokens in", about, Number(u.Input))
	if u.Cached > 0 {
		text += fmt.Sprintf(" (%s cached)", Number(u.Cached))
	}
	text += fmt.Sprintf(", %s out", Number(u.Output))
	if s.priced {
		text += ", " + about + journal.Dollars(s.cost)
	}
	return text
}

// Spent is what a run used.
func Spent(o host.Outcome) Spending {
	u := o.Usage
	u.Add(o.Estimated)
	return Spending{Usage: u, Estimated: o.Estimated != journal.Usage{}, cost: o.Cost, priced: o.Priced}
}

// Usage is what requests to the model used, in tokens, those that brought no answer included.
// Fields are only ever added.
type Usage struct {
	Input     int64 `json:"input"`     // all that the model read, from a cache or not
	Output    int64 `json:"output"`    // all that it wrote, reasoning included
	Cached    int64 `json:"cached"`    // part of input that came from the provider's cache
	Written   int64 `json:"written"`   // part of input that was written to the provider's cache
	Reasoning int64 `json:"reasoning"` // part of output that was reasoning, where the provider says so
	Estimated bool  `json:"estimated"` // a part of it was charged without the provider's word, and so is the cost
}

// View is the same in JSON.
func (s Spending) View() Usage {
	u := s.Usage
	return Usage{u.Input, u.Output, u.Cached, u.Written, u.Reasoning, s.Estimated}
}

// Dollars is the cost as a number of US dollars with up to six decimals; nil, which is null, where
// no price is known.
func (s Spending) Dollars() *json.Number {
	if !s.priced {
		return nil
	}
	n := json.Number(strings.TrimPrefix(journal.Dollars(s.cost), "$"))
	return &n
}

// TurnUsage is what one answer used and how long it took, as the end of a line.
func TurnUsage(u *journal.Usage, p *journal.Price, took time.Duration) string {
	if u == nil {
		return ""
	}
	s := Spending{Usage: *u, priced: p != nil}
	if p != nil {
		s.cost = p.Cost(*u)
	}
	return After(s.Text()) + After(Duration(took))
}
