package lines_test

import (
	"slices"
	"strings"
	"testing"

	"agent/host/help"
	"agent/host/watch"
)

// The tables of the topics are the list of types, row by row: scripting has all that a command
// prints, and server what is sent.
func TestHelpListsTheTypes(t *testing.T) {
	topics, err := help.Topics()
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{}
	for _, topic := range topics {
		_, table, _ := strings.Cut(topic.Text, "| type | data |\n|---|---|\n")
		table, _, _ = strings.Cut(table, "\n\n")
		rows[topic.Name] = strings.Split(table, "\n")
	}
	sent := slices.DeleteFunc(watch.LineTypes(), func(l watch.LineType) bool {
		return slices.Contains([]string{watch.TypeNote, watch.TypeAnswer, watch.TypeError}, l.Name) // of a command
	})
	for name, list := range map[string][]watch.LineType{"scripting": watch.LineTypes(), "server": append(sent, watch.ListTypes()...)} {
		if len(rows[name]) != len(list) {
			t.Fatalf("the table of %s has %d rows, the list %d types", name, len(rows[name]), len(list))
		}
		for i, l := range list {
			if want := "| `" + l.Name + "` | " + l.Data + " |"; rows[name][i] != want {
				t.Errorf("%s: row %d is\n%s, want\n%s", name, i+1, rows[name][i], want)
			}
		}
	}
}
