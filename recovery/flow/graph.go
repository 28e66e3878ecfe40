package flow

import (
	"fmt"
	"slices"
	"strings"
)

// Graph is the order of a definition's phases and who makes what.
type Graph struct {
	def    *Definition
	order  []int          // of Definition.Phases, topological; the file's order among those that are free
	before []map[int]bool // by phase: all that come before it
}

// CycleError names phases that wait for each other.
type CycleError struct{ Phases []string }

// Error shows the way around.
func (e *CycleError) Error() string {
	return "phases wait for each other: " + strings.Join(e.Phases, " > ")
}

// NewGraph orders the phases. It refuses a name that stands twice or nowhere, and a cycle
// (CycleError).
func NewGraph(d *Definition) (*Graph, error) {
	g := &Graph{def: d, before: make([]map[int]bool, len(d.Phases))}
	for i := range d.Phases {
		if d.index(d.Phases[i].Name) != i {
			return nil, fmt.Errorf("order phases: the name %q stands twice", d.Phases[i].Name)
		}
		for _, name := range d.Phases[i].After {
			if d.index(name) < 0 {
				return nil, fmt.Errorf("order phases: %s comes after %q, which is no phase", d.Phases[i].Name, name)
			}
		}
	}
	for len(g.order) < len(d.Phases) {
		i := g.free()
		if i < 0 {
			return nil, &CycleError{g.cycle()}
		}
		g.before[i] = map[int]bool{}
		for _, name := range d.Phases[i].After {
			j := d.index(name)
			g.before[i][j] = true
			for k := range g.before[j] {
				g.before[i][k] = true
			}
		}
		g.order = append(g.order, i)
	}
	return g, nil
}

// free is the first phase of the file that waits for nothing which is not ordered yet; -1 where
// there is none.
func (g *Graph) free() int {
	for i := range g.def.Phases {
		if g.before[i] == nil && g.waitsFor(i) < 0 {
			return i
		}
	}
	return -1
}

func (g *Graph) waitsFor(i int) int {
	for _, name := range g.def.Phases[i].After {
		if j := g.def.index(name); g.before[j] == nil {
			return j
		}
	}
	return -1
}

// cycle walks along phases that are not ordered until it meets one again.
func (g *Graph) cycle() []string {
	i := slices.IndexFunc(g.before, func(m map[int]bool) bool { return m == nil })
	var path []int
	for !slices.Contains(path, i) {
		path = append(path, i)
		i = g.waitsFor(i)
	}
	var names []string
	for _, j := range append(path[slices.Index(path, i):], i) {
		names = append(names, g.def.Phases[j].Name)
	}
	slices.Reverse(names)
	return names
}

// Order lists the phases in an order in which each comes behind all that it waits for.
func (g *Graph) Order() []*Phase {
	out := make([]*Phase, len(g.order))
	for n, i := range g.order {
		out[n] = &g.def.Phases[i]
	}
	return out
}

// Before says whether phase a is done before phase b begins.
func (g *Graph) Before(a, b string) bool {
	i, j := g.def.index(a), g.def.index(b)
	return i >= 0 && j >= 0 && g.before[j][i]
}

// Makers lists the phases that make a path, in their order. A file below a folder that a phase
// makes is made by it too.
func (g *Graph) Makers(path string) []string {
	var out []string
	for _, p := range g.Order() {
		if slices.ContainsFunc(p.All(), func(o Output) bool { return makes(o.Path, path) }) {
			out = append(out, p.Name)
		}
	}
	return out
}

// MakerFor is the phase whose version of a path another phase reads: the last maker before it. It
// is empty for a source, which no phase makes, and for a path that is made by later or unordered
// phases only.
func (g *Graph) MakerFor(reader, path string) string {
	maker := ""
	for _, m := range g.Makers(path) {
		if g.Before(m, reader) {
			maker = m
		}
	}
	return maker
}

// makes says whether an output's path is, contains, or with some item's name would be, a path.
func makes(output, path string) bool {
	if output == path || strings.HasSuffix(output, "/") && strings.HasPrefix(path, output) {
		return true
	}
	before, after, ok := strings.Cut(output, nameMark)
	if !ok || !strings.HasPrefix(path, before) {
		return false
	}
	rest := path[len(before):]
	for n := 1; n <= len(rest) && ValidItem(rest[:n]); n++ {
		if makes(itemPath(after, rest[:n]), rest[n:]) {
			return true
		}
	}
	return false
}

// nameMark stands for an item's name in the paths of an each phase.
const nameMark = "{name}"

// itemPath is a path for one item.
func itemPath(path, item string) string { return strings.ReplaceAll(path, nameMark, item) }
