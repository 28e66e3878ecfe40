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
	for name, x := range map[string]struct{ script, status string }{
		"on record":  {"mkdir -p $AGENT_HOME/locks && touch $AGENT_HOME/locks/r-00000000", completed},
		"not at all": {"true", failed},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "agent")
			script := "#!/bin/sh\ncase $1 in\nrun) " + x.script + `; echo '{"status":"refused","exit_code":4,"error":"its process ended"}'; exit 4;;
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
			if out, err := d.nowhere(t.Context()); err != nil || out.Status != x.status {
				t.Errorf("it is %+v, %v", out, err)
			}
		})
	}
}
