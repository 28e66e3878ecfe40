package db

import (
	"os"
	"testing"
)

// whole says that every place at which a file or a row can be damaged is tried; a plain go test
// tries some of them. All of them: AGENT_TESTS=whole go test ./db
func whole() bool { return os.Getenv("AGENT_TESTS") == "whole" }

// longAlone skips a long test in which nothing runs beside it: scripts/check race, which looks for
// races, passes -short.
func longAlone(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("long, and left out with -short: go test ./db")
	}
}
