//go:build linux

package clock

import (
	"testing"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/story"
)

// The whole plan holds every tool, situation and step; the short one every situation and step. A
// key makes the same story.
func TestClockStories(t *testing.T) {
	for _, short := range []bool{true, false} {
		all, err := list(lab.Choice{Short: short, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		seen, kills, later := map[string]bool{}, 0, 0
		for _, s := range all {
			for _, word := range []string{s.Tool, s.Situation, s.jump, s.Shape} {
				seen[word] = true
			}
			if s.kill != "" {
				kills++
			}
			if s.later != "" {
				later++
			}
			again, err := list(lab.Choice{Only: s.key()})
			if err != nil || len(again) != 1 {
				t.Fatalf("%s: %v", s.key(), err)
			}
			for cmd := range 4 {
				if got, want := again[0].arm(cmd), s.arm(cmd); got != want {
					t.Errorf("%s: command %d has %s, and by its key %s", s.key(), cmd, want, got)
				}
			}
		}
		want := append(jumps(), story.Situations()...)
		if !short {
			want = append(append(want, tools()...), story.Shapes()...)
		}
		for _, w := range want {
			if !seen[w] && w != "reads" {
				t.Errorf("short %v: no story has %s", short, w)
			}
		}
		if kills == 0 || later == 0 || short && len(all) > 20 {
			t.Errorf("short %v: %d stories, %d with a kill, %d with another clock later", short, len(all), kills, later)
		}
	}
	for _, bad := range []string{"", "shell/first/chat/+26h", "shell/first/chat/+27h/1", "shell/first/telex/+26h/1", "launch/first/chat/+26h/1", "shell/first/chat/+26h/x"} {
		if _, err := list(lab.Choice{Only: bad}); err == nil && bad != "" {
			t.Errorf("%q is a key", bad)
		}
	}
}

// What is printed of times is read as a person reads it.
func TestAges(t *testing.T) {
	for text, wrong := range map[string]bool{
		"RUN  STATUS  AGE  FOLDER\nr-8nt6v5by  completed  2s   ~/w  3 turns, 2 calls  echo -3h lines    \n": true, // a prompt could say that; no story's does
		"RUN  STATUS  AGE  FOLDER\nr-8nt6v5by  completed  now  ~/w  3 turns, 2 calls  echo lines    \n":     false,
		"RUN  STATUS  AGE  FOLDER\nr-8nt6v5by  completed  3653d  ~/w  3 turns, 2 calls  echo lines    \n":   false,
		"r-8nt6v5by  completed  -2s  ~/w  3 turns, 2 calls  echo lines    \n":                               true,
		"r-8nt6v5by  completed  ~/w  3 turns, 2 calls  echo lines    \n":                                    true,
		"run r-8nt6v5by failed: x (1 turn, 1 call, driven for 26h0m)\n":                                     true,
		"run r-8nt6v5by completed (1 turn, 1 call, driven for 26ms)\n":                                      false,
		"✓ 1.0 shell: ok, 34ms\n":   false,
		"✓ 1.0 shell: ok, 960h0m\n": true,
		"! the clock went ahead by 26h0m0s: it was set, or the machine slept\n": false,
		`{"duration_ms":12}`:      false,
		`{"duration_ms":-1}`:      true,
		`{"duration_ms":9999999}`: true,
	} {
		if f := ages([]judge.Output{{Args: []string{"ls"}, Text: text}}); (len(f) > 0) != wrong {
			t.Errorf("%q: %v", text, f)
		}
	}
}
