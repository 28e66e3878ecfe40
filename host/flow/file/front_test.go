package file_test

import (
	"strings"
	"testing"

	"agent/host/flow/file"
)

// A key of front matter that means nothing there is refused with its place, and not ignored:
// whoever wrote mode: plan relies on it (flows, promise 16).
func TestFrontMatterKeys(t *testing.T) {
	text := "---\nagent: flow\nmode: plan\ntries: 3\nauthor: me\n---\n## one\n```phase\nmode = \"plan\"\n```\nLook.\n"
	err := file.Parse("f.md", text, file.Known{}).Err()
	if err == nil {
		t.Fatal("nothing is refused")
	}
	for _, want := range []string{
		`f.md:3:1: there is no key "mode" in front matter; it stands in the flow fence: mode = "plan"`,
		`f.md:4:1: there is no key "tries" in front matter; it stands in the fence of a phase: tries = 3`,
		`f.md:5:1: there is no key "author" in front matter; the only key here is agent`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nlacks %s", err, want)
		}
	}
}
