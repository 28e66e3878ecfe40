package worker

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/fleet/custody"
)

// A driver that could not record its end, since the disk is full, leaves a run that is running on
// record: it is interrupted, and says why.
func TestADriverThatCouldNotRecordItsEnd(t *testing.T) {
	a, _ := program(t, "", "0")
	const answer = `{"version":1,"ended":{"code":4,"out":"{\"status\":\"refused\",\"exit_code\":4,\"code\":\"disk_full\",\"error\":\"no room\"}"}}`
	script := "#!/bin/sh\ncase $1 in\n__drive) head -c 1 <&3 >/dev/null; printf '%s\\n' '" + answer + "' >&4;;\n" +
		"show) echo '{\"run\":{\"id\":\"r-00000000\",\"status\":\"running\"}}';;\nesac\n"
	if err := os.WriteFile(a.Path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(a.Home, "locks"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(a.Home, "locks", "r-00000000"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h := hostWithLog(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	e := newEye(a)
	e.publish([]localRun{{ID: "r-00000000", Status: running}}, nil)
	h.homes = &homes{first: a, ctx: ctx, eyes: map[string]*eye{a.Home: e}}
	d := &drive{host: h, agent: a, run: custody.Run{ID: "r-00000000"}}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	go func() { // what is listed later says the same
		for {
			select {
			case <-again.C:
				e.publish([]localRun{{ID: "r-00000000", Status: running}}, nil)
			case <-ctx.Done():
				return
			}
		}
	}()
	out, err := d.follow(ctx)
	if err != nil || out.Status != interrupted || out.Cause != "store" || !strings.Contains(out.Detail, "no room") {
		t.Errorf("it is %+v, %v", out, err)
	}
}
