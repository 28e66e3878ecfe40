//go:build linux && !portable

package sandbox

import (
	"strings"
	"testing"
)

// A confining process that died where the command may have run is not taken for one that refused to
// start it. TOOL-05.
func TestWhatAReportProves(t *testing.T) {
	for said, want := range map[string]struct {
		direct bool
		err    string // "": it counts as started
		ended  bool   // and its end is known
	}{
		"":                                     {err: "ended before the command was started"},
		"start":                                {err: "ended before the command was started"},
		"refused \"no such file\"\n":           {err: "no such file"},
		"starting\nrefused \"no such file\"\n": {err: "no such file"},
		"starting\n":                           {},
		"starting\nstar":                       {},
		"starting\nstarted\n":                  {},
		"starting\nstarted\nended 9\n":         {ended: true},
		"direct\n":                             {direct: true},
		"direct\nrefused \"no such file\"\n":   {direct: true, err: "no such file"},
	} {
		r, err := newReport()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.write.WriteString(said); err != nil {
			t.Fatal(err)
		}
		direct, err := r.Started()
		if direct != want.direct || (err == nil) != (want.err == "") || err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("%q: direct %t, %v", said, direct, err)
		}
		if err == nil && !direct {
			if _, ok := r.Ended(); ok != want.ended {
				t.Errorf("%q: its end is known: %t", said, ok)
			}
		}
	}
}
