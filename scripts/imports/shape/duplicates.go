package shape

import (
	"go/ast"
	"hash/fnv"
	"io"
	"path"
	"reflect"
	"slices"
	"strings"
)

// minSkeleton is how many statements a function has that is compared: two shorter ones may be equal
// by accident.
const minSkeleton = 8

// duplicateKinds are the measures of functions that are there several times.
func duplicateKinds() []kind {
	return []kind{
		{"duplicate-lines", false, "lines of functions that several packages have, by syntax or by name", duplicateLines},
	}
}

// A skeleton is a function that is compared with others.
type skeleton struct {
	place  string // and its name
	folder string
	lines  int
}

// duplicateLines counts the lines of the functions of 8 statements and more that are the same
// sequence of syntax nodes as one of another package, or that have the name of one in each of two
// packages beside theirs. For the name, the folder that the three share has to be of level 2 or
// lower: the folders in one of level 1 have nothing in common.
func duplicateLines(m *Module) (float64, []string) {
	bySyntax, byName := map[uint64][]skeleton{}, map[string][]skeleton{}
	for _, fn := range m.declared() {
		if statements(fn.body) < minSkeleton {
			continue
		}
		s := skeleton{m.place(fn.file, fn.node) + " " + fn.name, fn.file.folder, m.line(fn.node.End()) - m.line(fn.node.Pos()) + 1}
		syntax := syntaxHash(fn.body)
		bySyntax[syntax] = append(bySyntax[syntax], s)
		if above := path.Dir(s.folder); strings.Contains(above, "/") {
			byName[above+" "+fn.name] = append(byName[above+" "+fn.name], s)
		}
	}

	sum, counted := 0, map[string]bool{}
	add := func(group []skeleton, packages int) {
		folders := map[string]bool{}
		for _, s := range group {
			folders[s.folder] = true
		}
		for _, s := range group {
			if len(folders) >= packages && !counted[s.place] {
				counted[s.place] = true
				sum += s.lines
			}
		}
	}
	for _, group := range bySyntax {
		add(group, 2)
	}
	for _, group := range byName {
		add(group, 3)
	}

	var found []string
	for place := range counted {
		found = append(found, place)
	}
	slices.Sort(found)
	return float64(sum), found
}

// syntaxHash is equal for bodies with equal trees of syntax nodes, whatever their names and values.
func syntaxHash(body ast.Node) uint64 {
	h := fnv.New64a()
	ast.Inspect(body, func(n ast.Node) bool {
		kind := "^" // the end of a node
		if n != nil {
			kind = reflect.TypeOf(n).String()
		}
		_, _ = io.WriteString(h, kind) // a hash takes everything
		return true
	})
	return h.Sum64()
}
