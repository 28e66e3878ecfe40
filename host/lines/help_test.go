package lines_test

import (
	"strings"
	"testing"

	"agent/host/help"
	"agent/host/watch"
)

// The table of agent help scripting is the list of types, row by row.
func TestHelpListsTheTypes(t *testing.T) {
	topics, err := help.Topics()
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, topic := range topics {
		if topic.Name == "scripting" {
			_, table, _ := strings.Cut(topic.Text, "| type | data |\n|---|---|\n")
			table, _, _ = strings.Cut(table, "\n\n")
			rows = strings.Split(table, "\n")
		}
	}
	list := watch.LineTypes()
	if len(rows) != len(list) {
		t.Fatalf("the table has %d rows, the list %d types", len(rows), len(list))
	}
	for i, l := range list {
		if want := "| `" + l.Name + "` | " + l.Data + " |"; rows[i] != want {
			t.Errorf("row %d is\n%s, want\n%s", i+1, rows[i], want)
		}
	}
}
