package drive

import (
	"testing"
	"time"
)

// A wait beyond a day is shown by its end.
func TestQuiet(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]string{
		7 * time.Minute: "for 7m0s",
		24 * time.Hour:  "for 24h0m0s",
		25 * time.Hour:  "before 2026-03-02 13:00 UTC",
		639165*time.Hour + 11*time.Minute + 31*time.Second: "before 2099-01-29 09:11 UTC",
	} {
		if got := quiet(after, now); got != want {
			t.Errorf("%s: %s, want %s", after, got, want)
		}
	}
}
