package mcp

import (
	"testing"
	"time"
)

// Who sends faster than maxPace waits for the next second.
func TestPace(t *testing.T) {
	var p pace
	began := time.Now()
	for range maxPace {
		p.wait(nil)
	}
	if took := time.Since(began); took > time.Second {
		t.Skipf("this machine took %s for what should take no time", took)
	}
	p.wait(nil)
	if took := time.Since(began); took < time.Second {
		t.Errorf("message %d went through after %s", maxPace+1, took)
	}
}
