package diff

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"agent/host/undo"
	"agent/recovery/journal"
)

// made is a diff of files that were made, with their contents.
func made(contents ...string) *Diff {
	d := &Diff{Run: "r-1", source: source{
		content: func(_ context.Context, v *journal.FileVersion) ([]byte, error) { return []byte(v.Kept), nil },
		redact:  func(text string) string { return text },
	}}
	for i, c := range contents {
		d.paths = append(d.paths, &changed{name: fmt.Sprintf("file%d", i), after: &journal.FileVersion{Mode: 0o644, Size: int64(len(c)), Kept: c}, own: true})
	}
	return d
}

// However large a diff is, it is given in a size that is known: what is cut is marked, what is left
// out is counted, and the counts of lines are those of the whole.
func TestBounded(t *testing.T) {
	long := strings.Repeat("a line\n", 100)
	d := made("short\n", long, long, "one\n", "two\n")
	v, err := d.Bounded(t.Context(), Bounds{Files: 4, File: 300, Bytes: 500})
	if err != nil || len(v.Files) != 4 || v.More != 1 {
		t.Fatalf("%d files and %d more: %v", len(v.Files), v.More, err)
	}
	total := 0
	for i, f := range v.Files {
		total += len(f.Diff)
		if cut := i > 0; f.Cut != cut && i < 3 {
			t.Errorf("%s: cut is %v", f.Path, f.Cut)
		}
		if len(f.Diff) > 300 || f.Diff != "" && !strings.HasSuffix(f.Diff, "\n") {
			t.Errorf("%s has %d bytes, ending in %q", f.Path, len(f.Diff), f.Diff[max(0, len(f.Diff)-10):])
		}
	}
	if total > 500 || v.Files[1].Added != 100 || v.Files[2].Added != 100 {
		t.Errorf("%d bytes, %d and %d lines", total, v.Files[1].Added, v.Files[2].Added)
	}
	if v, err := d.Bounded(t.Context(), Bounds{Files: 9, File: 300, Bytes: 500, Stat: true}); err != nil || v.Files[1].Diff != "" || v.Files[1].Cut || v.Files[1].Added != 100 || v.More != 0 {
		t.Errorf("only counts: %+v %v", v, err)
	}
}

// Parameters are taken as they are described, and others are named.
func TestAsked(t *testing.T) {
	r, b, err := asked("r-1", url.Values{"from": {"0"}, "to": {"3"}, "path": {"a", "b"}, "all": {"true"}, "stat": {"true"}})
	if err != nil || r.From != 0 || r.To != 3 || len(r.Paths) != 2 || !r.All || !b.Stat {
		t.Errorf("%+v %+v %v", r, b, err)
	}
	if r, _, err := asked("r-1", nil); err != nil || r.To != undo.ToEnd || r.All {
		t.Errorf("%+v %v", r, err)
	}
	for _, bad := range []url.Values{{"from": {"-1"}}, {"to": {"x"}}, {"from": {"3"}, "to": {"2"}}, {"all": {"yes"}}, {"stat": {"1"}}, {"to": {"99999999999"}}} {
		if _, _, err := asked("r-1", bad); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}
