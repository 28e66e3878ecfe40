package worker

import (
	"strings"
	"testing"

	"agent/fleet/custody"
)

// What was taken in from the log and not claimed goes on; what somebody restored does not.
func TestALostStateFolderIsNoEnd(t *testing.T) {
	restored := custody.Report{Status: interrupted, Cause: "restored", Detail: "it came from a store"}
	for name, x := range map[string]struct {
		here  *shown
		log   stand
		taken int64
		in    custody.Report
		cause string
		says  string
	}{
		"gone":             {nil, stand{Facts: 9, Wrote: 4, By: "h-01"}, 0, custody.Report{Status: interrupted}, custody.CauseLost, "the state folder of h-01 was lost"},
		"taken in again":   {&shown{}, stand{Facts: 9, Wrote: 4, By: "h-01"}, 4, restored, custody.CauseLost, "the state folder of h-01 was lost"},
		"of another host":  {&shown{}, stand{Facts: 9, Wrote: 4, By: "h-02"}, 4, restored, custody.CauseLost, "no driver has claimed it here"},
		"restored by hand": {&shown{}, stand{Facts: 9, Wrote: 4, By: "h-01"}, 0, restored, "restored", "it came from a store"},
		"handed over":      {nil, stand{Facts: 9, Wrote: 4, By: "h-01"}, 0, custody.Report{Status: interrupted, Handed: true}, "", ""},
		"ended":            {&shown{}, stand{Facts: 9, Wrote: 4, By: "h-01"}, 4, custody.Report{Status: completed}, "", ""},
	} {
		d := &drive{host: host(1), agent: Agent{Home: t.TempDir()}, run: custody.Run{ID: "r-1"}, here: x.here, log: x.log}
		if x.taken > 0 {
			if err := keepTaken(d.agent, "r-1", x.taken); err != nil {
				t.Fatal(err)
			}
		}
		if got := d.explain(x.in); got.Cause != x.cause || !strings.Contains(got.Detail, x.says) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
