package words_test

import (
	"testing"

	"agent/host/words"
)

// Issue 11, C18: an activity line names what a search looks for and which part of a file is read.
func TestWords(t *testing.T) {
	for _, tt := range []struct{ tool, args, want string }{
		{"search", `{"pattern":"func main","path":"."}`, "func main"},
		{"search", `{"pattern":"func main","path":"cmd","glob":"*.go"}`, "func main in cmd (*.go)"},
		{"find_files", `{"pattern":"**/*.go","path":"host"}`, "**/*.go in host"},
		{"read_file", `{"path":"go.mod"}`, "go.mod"},
		{"read_file", `{"path":"go.mod","offset":10,"limit":20}`, "go.mod, lines 10 to 29"},
		{"read_file", `{"path":"go.mod","limit":5}`, "go.mod, lines 1 to 5"},
		{"read_file", `{"path":"go.mod","offset":7}`, "go.mod, from line 7"},
		{"list_dir", `{"path":"."}`, "."},
		{"read_output", `{"call":"c-7k2m"}`, "c-7k2m"},
		{"shell", `{"command":"make test"}`, "make test"},
		{"restore_files", `{"files":[{"path":"a"}]}`, "make 1 path again"},
		{"restore_files", `{"files":[{"path":"a"},{"path":"b","want":{"kept":"9"}}]}`, "make 2 paths again"},
		{"search", `{"path":"."}`, "."},
	} {
		if got := words.Call(tt.tool, []byte(tt.args)); got != tt.want {
			t.Errorf("%s %s: %q, want %q", tt.tool, tt.args, got, tt.want)
		}
	}
}
