package flags

import (
	"testing"
	"time"
)

func TestSince(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"2d": now.AddDate(0, 0, -2), "3h": now.Add(-3 * time.Hour), "90m": now.Add(-90 * time.Minute), "1d12h": now.Add(-36 * time.Hour),
		"2026-11-01": time.Date(2026, 11, 1, 0, 0, 0, 0, time.Local), "2026-11-25T11:30": now.Add(-30 * time.Minute),
	} {
		if got, ok := since(text, now); !ok || !got.Equal(want) {
			t.Errorf("%s is %v, %t", text, got, ok)
		}
	}
	for _, text := range []string{"", "d", "2", "-2d", "2d-3h", "0d", "0h", "2x", "1e9d", "99999999d", "yesterday", "2026-13-01", "2d2d", "3h2d"} {
		if got, ok := since(text, now); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}
