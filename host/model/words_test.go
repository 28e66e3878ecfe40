package model

import "testing"

func TestFirstCommand(t *testing.T) {
	for script, want := range map[string]string{
		"make\n":                     "make",
		"# build it\n\n  make -j8\n": "make -j8 …",
		"make\nmake install\n":       "make …",
		"# nothing\n# at all":        "# nothing …",
		"# nothing":                  "# nothing",
		"":                           "",
		" \n":                        "",
		"0123456789012345":           "01234567890…",
		"ééééééééééééé\n# and no more": "ééééééééééé… …",
	} {
		if got := FirstCommand(script, 12); got != want {
			t.Errorf("%q: %q, want %q", script, got, want)
		}
	}
}
