//go:build linux

package plan

import (
	"testing"
)

// FuzzKeys: a key is refused, or names a job whose own key is read as the same job.
func FuzzKeys(f *testing.F) {
	for _, key := range []string{
		"shell/first/chat/host/run/", "shell/first/chat/host/leave/0:call.after_started:1", "shell:read/recovery/anthropic/both/run/0:call.after_started:2+1:recovery.after_judged:1",
		"a/b/c/d/e/f", "", "shell/first/chat/host/run/0:call.after_started:99999999999999999999", "shell/first/chat/host/run/+0:call.after_started:1+", "shell/first/chat/host/run/-1:call.after_started:1", "shell/first/chat/host/run/0:call.after_started:0",
		"shell/first/chat/host/run/0:call.after_started", "/first/chat/host//", "shell/first/chat/host/run/1/2",
	} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		j, err := ParseKey(key)
		if err != nil {
			return
		}
		again, err := ParseKey(j.Key())
		if err != nil || again.Key() != j.Key() || len(again.Arms) != len(j.Arms) || again.Leave != j.Leave || again.Tool != j.Tool || again.Victim != j.Victim {
			t.Fatalf("%q is read as %+v, whose key %q is read as %+v, %v", key, j, j.Key(), again, err)
		}
		for i, a := range j.Arms {
			if again.Arms[i] != a || a.Pass < 1 || a.Command < 0 {
				t.Fatalf("%q: arm %d is %+v", key, i, a)
			}
		}
	})
}
