package mcp

import (
	"testing"
	"testing/synctest"
	"time"
)

// Who sends faster than maxPace waits for the next second.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		began := time.Now()
		for range maxPace {
			p.wait(nil)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("%d messages waited for %s", maxPace, took)
		}
		p.wait(nil)
		if took := time.Since(began); took != time.Second {
			t.Errorf("message %d went through after %s", maxPace+1, took)
		}
	})
}

// Who waits is let go with the connection.
func TestPaceEndsWithTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		stop := make(chan struct{})
		close(stop)
		began := time.Now()
		for range maxPace + 1 {
			p.wait(stop)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it waited for %s", took)
		}
	})
}
