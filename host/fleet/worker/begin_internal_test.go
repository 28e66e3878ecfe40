package worker

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"agent/fleet/custody"
	"agent/fleet/log"
	"agent/fleet/seal"
)

// A driver that ends before it could say that it has its run is no refusal of the run: where it is
// on record, it goes on.
func TestARunWhoseDriverEndedAsItBegan(t *testing.T) {
	const (
		recorded = "mkdir -p $AGENT_HOME/locks && touch $AGENT_HOME/locks/r-00000000"
		refuses  = `echo '{"version":1,"ended":{"code":4,"out":"{\"status\":\"refused\",\"exit_code\":4,\"error\":\"it differs\"}"}}' >&4`
	)
	for name, x := range map[string]struct {
		script, status string
		again          bool
	}{
		"on record, refused":  {script: recorded + "; " + refuses, status: completed},
		"on record, killed":   {script: recorded, status: completed},
		"not at all, refused": {script: refuses, status: failed},
		"not at all, killed":  {script: "true", again: true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "agent")
			script := "#!/bin/sh\ncase $1 in\n__drive) head -c 1 <&3 >/dev/null; " + x.script + `;;
show) echo '{"run":{"id":"r-00000000","status":"completed"}}';;
esac
`
			if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			l, err := log.Open(t.Context(), "dir:"+dir, "n")
			if err != nil {
				t.Fatal(err)
			}
			h := host(1)
			h.Home, h.Work = filepath.Join(dir, "home"), filepath.Join(dir, "work")
			h.record = &record{log: l, key: seal.NewKey(), namespace: "n", host: h.Name, seen: time.Now()}
			r := custody.Run{ID: "r-00000000", Prompt: "words"}
			d := &drive{host: h, run: r, step: custody.Step{Start: &r}, agent: Agent{Path: path, Home: h.Home}}
			if out, err := d.nowhere(t.Context()); (err != nil) != x.again || out.Status != x.status {
				t.Errorf("it is %+v, %v", out, err)
			}
		})
	}
}
