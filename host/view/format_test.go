package view_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"agent/host/view"
	"agent/scripts/testkit/seed"
)

// Issue 11, C18: what is printed for a time reads back as that time, rounded to its unit; 1m50s
// once read 1m5.
func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1500 * time.Microsecond: "2ms", 59960 * time.Millisecond: "1m", 110 * time.Second: "1m50s", time.Minute: "1m", 600 * time.Second: "10m",
		60*time.Minute - 200*time.Millisecond: "1h0m", 26 * time.Hour: "26h0m", 90*time.Minute + 29*time.Second: "1h30m", 0: "0s",
	} {
		if got := view.Duration(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(1000*time.Hour)).Draw(t, "d"))
		if rapid.Bool().Draw(t, "whole") {
			d = d.Round(10 * time.Second)
		}
		unit := time.Minute
		switch {
		case d < time.Millisecond: // time: a duration is what is printed
			unit = time.Microsecond
		case d < time.Second: // time: as above
			unit = time.Millisecond
		case d < time.Minute:
			unit = 100 * time.Millisecond
		case d < time.Hour:
			unit = time.Second
		}
		back, err := time.ParseDuration(view.Duration(d))
		if err != nil || back != d.Round(unit) {
			t.Fatalf("%s is printed as %s: %s, %v", d, view.Duration(d), back, err)
		}
	})
}

func TestAge(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		-time.Hour: "now", 0: "now", 999 * time.Millisecond: "now", time.Second: "1s", 59 * time.Second: "59s", time.Minute: "1m",
		59 * time.Minute: "59m", time.Hour: "1h", 47 * time.Hour: "47h", 48 * time.Hour: "2d", 1000 * time.Hour: "41d",
	} {
		if got := view.Age(now, now.Add(-d)); got != want {
			t.Errorf("%s ago: %q, want %q", d, got, want)
		}
	}
	if got := view.Age(now, time.Time{}); got != "" {
		t.Errorf("no time: %q", got)
	}
}

func TestPromptStart(t *testing.T) {
	for in, want := range map[string]string{
		"# Release\n\n```sh\nmake\n```\n": "Release make", "plain": "plain", "": "", "```sh\necho hi": "echo hi",
	} {
		if got := view.PromptStart(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1_234_567: "1,234,567", -1000: "-1,000", -100: "-100"} {
		equal(t, view.Number(n), want)
	}
}

// A text is shown in part by its lines, and what is left out is said.
func TestExcerpt(t *testing.T) {
	equal(t, view.Excerpt("1\n2\n3\n4\n5\n", 2, 1, ""), "1\n2\n… 2 lines are not shown here\n5")
	equal(t, view.Excerpt("1\n2\n3\n4\n", 2, 1, ""), "1\n2\n3\n4")
	equal(t, view.Excerpt("1\n2\n3\n4", 0, 2, ": agent show c-1"), "… 2 lines are not shown here: agent show c-1\n3\n4")
	equal(t, view.Excerpt("", 2, 1, ""), "")
}
