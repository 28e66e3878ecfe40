package view_test

import (
	"strings"
	"testing"
	"time"

	"agent/host/view"
)

// Two equal questions of delegated tasks are told apart by the tasks; a phase has a name.
func TestQuestionNamesItsTask(t *testing.T) {
	r := view.Request{ID: "p-1", Run: "r-2", Root: "r-1", Role: "delegate c-1", Task: "Review package db:\nraces, lost errors", Message: "May it?"}
	if got := r.Text(time.Now()); !strings.Contains(got, "\n    its task: Review package db: races, lost errors\n    May it?") {
		t.Error(got)
	}
	r.Role = "build#1"
	if got := r.Text(time.Now()); strings.Contains(got, "its task") {
		t.Error(got)
	}
}
