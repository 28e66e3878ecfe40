package openai

import (
	"strings"
	"testing"
)

// A model that makes up a tool may name it in a way that the API takes from nobody, its own model
// included.
func TestAMadeUpToolsNameIsSentBackInWordsThatAreTaken(t *testing.T) {
	for in, want := range map[string]string{
		"read_file": "read_file", "odd name!": "odd_name_", "": "unknown", "ü": "_", strings.Repeat("a", 99): strings.Repeat("a", 64),
	} {
		if got := toolName(in); got != want {
			t.Errorf("toolName(%q) = %q, want %q", in, got, want)
		}
	}
}
