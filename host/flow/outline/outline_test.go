package outline_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"agent/host/flow/file"
	"agent/host/flow/outline"
	"agent/host/terminal"
)

func parse(t *testing.T, name string) *file.Parsed {
	t.Helper()
	text, err := os.ReadFile("../../../scripts/demo/flows/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return file.Parse(name, string(text), file.Known{})
}

// What a person sees at a terminal of 80 columns, at one of 120, and without one. No line is wider
// than the terminal, but for the last column, which is never cut.
func TestWrite(t *testing.T) {
	var all strings.Builder
	for _, name := range []string{"feature.md", "release.md", "audit.md"} {
		for _, width := range []int{80, 120, 0} {
			var b bytes.Buffer
			v := outline.Of(name, parse(t, name), nil)
			v.Write(&terminal.Terminal{Out: &b}, width)
			fmt.Fprintf(&all, "== %s %d\n%s", name, width, b.String())
			for line := range strings.Lines(b.String()) {
				if width > 0 && !strings.HasPrefix(line, "    ") && utf8.RuneCountInString(line) > width+1 {
					t.Errorf("%s at %d: %q", name, width, line)
				}
			}
		}
	}
	if os.Getenv("AGENT_UPDATE") != "" {
		if err := os.WriteFile("testdata/outline.txt", []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/outline.txt")
	if err != nil || string(want) != all.String() {
		t.Errorf("got\n%s%v", all.String(), err)
	}
}

// Phases without an order are beside each other, and those that could start together stand
// together.
func TestOrder(t *testing.T) {
	v := outline.Of("release.md", parse(t, "release.md"), nil)
	if got := fmt.Sprint(v.Order, v.Phases[1].Beside, v.Phases[2].Beside, v.Phases[3].Beside); got != "[[test] [package notes] [publish]] [notes] [package] []" {
		t.Error(got)
	}
	if got := fmt.Sprint(v.OK, v.ExitCode, v.Artifacts[0].MadeBy, v.Artifacts[1].UsedBy); got != "true 0 [package] [publish]" {
		t.Error(got)
	}
}

// Of a file with mistakes programs get lists all the same, and never null.
func TestBroken(t *testing.T) {
	for _, text := range []string{"", "## a\n```phase\nafter = ['b']\n```\n## b\n```phase\n```\n"} {
		v := outline.Of("x.md", file.Parse("x.md", text, file.Known{}), nil)
		b, err := json.Marshal(v)
		if err != nil || v.OK || v.ExitCode != 2 || len(v.Mistakes) == 0 || strings.Contains(strings.ReplaceAll(string(b), `"max_cost_usd":null`, ""), "null") {
			t.Errorf("%v %s", err, b)
		}
		var out bytes.Buffer
		v.Write(&terminal.Terminal{Out: &out}, 80)
		if strings.Count(out.String(), "\n") != 1 {
			t.Errorf("%q", out.String())
		}
	}
}

// Many phases side by side are shown on more than one line.
func TestLongOrder(t *testing.T) {
	var text strings.Builder
	for i := range 30 {
		fmt.Fprintf(&text, "## phase-%d\n```phase\nafter = []\n```\nDo it.\n", i)
	}
	v := outline.Of("x.md", file.Parse("x.md", text.String(), file.Known{Named: true}), []outline.Key{{"anthropic", "ANTHROPIC_API_KEY", []string{"phase-1"}}})
	var out bytes.Buffer
	v.Write(&terminal.Terminal{Out: &out}, 80)
	for i, line := range strings.Split(out.String(), "\n")[:6] {
		if len(line) > 80 || i > 2 && i < 5 && !strings.HasPrefix(line, "    phase-") {
			t.Errorf("%q", line)
		}
	}
	if !strings.Contains(out.String(), "beside phase-1, phase-2, phase-3, phase-4 and 25 more") {
		t.Error(out.String())
	}
	if !strings.HasSuffix(out.String(), "\n\nno key of anthropic yet: set ANTHROPIC_API_KEY before it is run, for phase-1\n") {
		t.Error(out.String())
	}
}
