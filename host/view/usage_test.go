package view_test

import (
	"testing"
	"time"

	"agent/host"
	"agent/host/view"
	"agent/recovery/journal"
)

// Every fault has words of its own, and each line says what happened, and what happens next or what
// fixes it.
func TestModelFaults(t *testing.T) {
	for f, words := range map[journal.Fault]string{
		journal.FaultRateLimit: "rate limit", journal.FaultOverloaded: "overloaded", journal.FaultServer: "server error",
		journal.FaultNetwork: "no connection", journal.FaultStalled: "stalled", journal.FaultCut: "answer broke off",
		journal.FaultGarbage: "answer not understood", journal.FaultTooLarge: "answer too large",
		journal.FaultContext: "request too long", journal.FaultFiltered: "refused by the content filter",
		journal.FaultKey: "key not accepted", journal.FaultNoKey: "no key", journal.FaultCredit: "no credit", journal.FaultNoModel: "no such model",
		journal.FaultRequest: "request refused",
	} {
		b := journal.ModelFailed{Fault: f, Detail: "ask model openai/y: why (HTTP 400)", Tries: 2, Again: true, Wait: 7400 * time.Millisecond, Remedy: "do this"}
		equal(t, view.FailedText("openai/y", b), "openai/y: "+words+": why (HTTP 400); asking again in 8s (try 3)")
		b.Wait = 0
		equal(t, view.FailedText("", b), words+": ask model openai/y: why (HTTP 400); asking again (try 3)")
		b.Again = false
		equal(t, view.FailedText("openai/y", b), "openai/y: "+words+": why (HTTP 400)\ndo this")
	}
}

// What a run used is said in tokens, and in dollars where the price is known; an estimate is called
// one.
func TestSpending(t *testing.T) {
	price := journal.Price{Input: 3_000_000, Cached: 300_000, Output: 15_000_000}
	used := journal.Usage{Input: 12_345, Output: 1_000, Cached: 10_000, Reasoning: 400}
	tests := []struct {
		name string
		out  host.Outcome
		want string
		json string
	}{
		{"nothing", host.Outcome{}, "", "null"},
		{"nothing, but priced", host.Outcome{Priced: true}, "", "0.00"},
		{"no price", host.Outcome{Usage: used}, "12,345 tokens in (10,000 cached), 1,000 out", "null"},
		{"price", host.Outcome{Usage: used, Cost: price.Cost(used), Priced: true},
			"12,345 tokens in (10,000 cached), 1,000 out, $0.025035", "0.025035"},
		{"estimated", host.Outcome{Usage: used, Estimated: journal.Usage{Input: 655, Output: 1}, Cost: 2_000_000, Priced: true},
			"about 13,000 tokens in (10,000 cached), 1,001 out, about $2.00", "2.00"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := view.Spent(tt.out)
			equal(t, s.Text(), tt.want)
			got := "null"
			if n := s.Dollars(); n != nil {
				got = n.String()
			}
			equal(t, got, tt.json)
			if v := s.View(); v.Input != s.Usage.Input || v.Cached != s.Usage.Cached || v.Reasoning != s.Usage.Reasoning || v.Estimated != s.Estimated {
				t.Errorf("in JSON: %+v", v)
			}
		})
	}
	equal(t, view.TurnUsage(&used, &price, 3*time.Second), ", 12,345 tokens in (10,000 cached), 1,000 out, $0.025035, 3s")
	equal(t, view.TurnUsage(nil, &price, 3*time.Second), "")
}
