package command

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Issue 11, C18: what is printed for a time reads back as that time, rounded to its unit; 1m50s once read 1m5.
func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1500 * time.Microsecond: "2ms", 59960 * time.Millisecond: "1m", 110 * time.Second: "1m50s", time.Minute: "1m", 600 * time.Second: "10m",
		60*time.Minute - 200*time.Millisecond: "1h0m", 26 * time.Hour: "26h0m", 90*time.Minute + 29*time.Second: "1h30m", 0: "0s",
	} {
		if got := duration(d); got != want {
			t.Errorf("%d: %s, want %s", d, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(1000*time.Hour)).Draw(t, "d"))
		if rapid.Bool().Draw(t, "whole") {
			d = d.Round(10 * time.Second)
		}
		unit := time.Minute
		switch {
		case d < time.Millisecond:
			unit = time.Microsecond
		case d < time.Second:
			unit = time.Millisecond
		case d < time.Minute:
			unit = 100 * time.Millisecond
		case d < time.Hour:
			unit = time.Second
		}
		back, err := time.ParseDuration(duration(d))
		if err != nil || back != d.Round(unit) {
			t.Fatalf("%s is printed as %s: %s, %v", d, duration(d), back, err)
		}
	})
}
