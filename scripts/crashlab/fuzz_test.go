//go:build linux

package main

import "testing"

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
		j, err := parseKey(key)
		if err != nil {
			return
		}
		again, err := parseKey(j.key())
		if err != nil || again.key() != j.key() || len(again.arms) != len(j.arms) || again.leave != j.leave || again.tool != j.tool || again.victim != j.victim {
			t.Fatalf("%q is read as %+v, whose key %q is read as %+v, %v", key, j, j.key(), again, err)
		}
		for i, a := range j.arms {
			if again.arms[i] != a || a.n < 1 || a.cmd < 0 {
				t.Fatalf("%q: arm %d is %+v", key, i, a)
			}
		}
	})
}
