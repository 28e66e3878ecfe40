package config_test

import (
	"testing"
	"time"

	"agent/host/config"
)

// How much is kept is a size that a person can read; anything else is refused and not guessed at.
func TestSize(t *testing.T) {
	for text, want := range map[string]int64{"500MiB": 500 << 20, "2GiB": 2 << 30, " 1.5 GiB ": 3 << 29, "1TiB": 1 << 40} {
		if got, err := config.Size(text); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "2", "2GB", "GiB", "-1GiB", "0GiB", "NaNGiB", "1e30TiB", "InfGiB", "2 G iB"} {
		if got, err := config.Size(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

// How old a run is, is said in days or hours.
func TestAge(t *testing.T) {
	for text, want := range map[string]time.Duration{"30d": 720 * time.Hour, "1h": time.Hour, " 365d ": 8760 * time.Hour} {
		if got, err := config.Age(text); err != nil || got != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "30", "d", "0d", "-1d", "1.5d", "30 days", "99999999d", "1m"} {
		if got, err := config.Age(text); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
}
