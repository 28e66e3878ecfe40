package shape

import (
	"fmt"
	"slices"
	"strings"
)

// tables is the file that says which folders the measures know by name.
const tables = "scripts/imports/shape/layers.go"

// A refusal is a layer of which the packages of a folder may hold no value.
type refusal struct {
	in, layer string
	but       string // a file in which the layer is not refused
}

func refusals() []refusal {
	return []refusal{
		{in: "host/command", layer: "db"}, {in: "host/serve", layer: "db"}, {in: "host/acp", layer: "db"},
		{in: "host/command", layer: "tools"}, {in: "host/serve", layer: "tools"}, {in: "host/acp", layer: "tools"},
		{in: "host/command", layer: "host/serve", but: "host/command/serve.go"}, {in: "host/acp", layer: "host/serve"},
		{in: "tools", layer: "host"}, {in: "db", layer: "host"}, {in: "recovery", layer: "db"},
	}
}

// wings are the folders of level 2 whose folders are rooms.
func wings() []string { return []string{"host/model"} }

// MissingFolders finds folders and files of the tables that the module does not have: something was
// moved and the tables were not, so that a figure counts nothing.
func (m *Module) MissingFolders() (problems []Problem) {
	check := func(table, folder string) {
		if !slices.ContainsFunc(m.files, func(f *file) bool { return within(f.name, folder) }) {
			problems = append(problems, Problem{tables, 1, fmt.Sprintf("the table of %s names %s, and no package is there", table, folder)})
		}
	}
	for _, r := range refusals() {
		check("refused layers", r.in)
		check("refused layers", r.layer)
		if r.but != "" {
			check("refused layers", r.but)
		}
	}
	for _, wing := range wings() {
		check("wings", wing)
	}

	slices.SortFunc(problems, func(a, b Problem) int { return strings.Compare(a.Text, b.Text) })
	return slices.Compact(problems)
}

// within reports whether a file or folder is another, or below it.
func within(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }
