package runbook

import (
	"slices"
	"testing"
)

// An item that almost names a tool is prose, and that is said; plain English and a tool's own name
// are passed over.
func TestDoubts(t *testing.T) {
	prompt := "# Release\n\n- raed_file x\n- read_file x\n1. [ ] `write-file y`\n- Search the code, and research it\n- shall we?\n" +
		"\n```sh\n- raed_file z\n```\nraed_file in a paragraph\n- listdir\n- `read_file` reads a file\n"
	want := []string{
		"line 3: raed_file is no tool; did you mean read_file? it is taken as prose",
		"line 5: write-file is no tool; did you mean write_file? it is taken as prose",
		"line 13: listdir is no tool; did you mean list_dir? it is taken as prose",
	}
	if got := New().Doubts(prompt); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
