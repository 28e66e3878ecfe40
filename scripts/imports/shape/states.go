package shape

import (
	"fmt"
	"go/types"
	"slices"
)

// maxTouching is how many functions can change a state that is no wide one.
const maxTouching = 60

// stateKinds are the measures of what can change one state.
func stateKinds() []kind {
	return []kind{
		{"widest-state", true, "functions that can change the state that most of them can change", widestState},
		{"wide-states", true, fmt.Sprintf("structs that more than %d functions can change", maxTouching), wideStates},
	}
}

// A touch is how many functions can change one state.
type touch struct {
	methods, takers, holders int
}

func (t touch) sum() int { return t.methods + t.takers + t.holders }

// widestState is the number of functions that can change one struct, of the struct with the most:
// its methods; the functions of its package that take it, or a pointer to it, first or second; and
// the methods of the structs of its package that hold it and have a way back. These are the structs
// that embed it, that it holds in turn, and that hold only it. A struct holds another that is, or
// is pointed to by, the type of a field.
func widestState(m *Module) (float64, []string) {
	widest := 0
	for _, t := range m.states() {
		widest = max(widest, t.sum())
	}
	_, found := wideStates(m)
	return float64(widest), found
}

// wideStates counts the structs that more than 60 functions can change, as in widestState.
func wideStates(m *Module) (float64, []string) {
	var found []string
	for name, t := range m.states() {
		if t.sum() > maxTouching {
			found = append(found, fmt.Sprintf("%3d %s.%s: %d methods, %d takers, %d methods of holders",
				t.sum(), m.folderOf(name.Pkg()), name.Name(), t.methods, t.takers, t.holders))
		}
	}
	return ranked(found)
}

// states are all structs that a function can change.
func (m *Module) states() map[*types.TypeName]touch {
	all := map[*types.TypeName]touch{}
	for _, fn := range m.declared() {
		o, ok := fn.file.pkg.info.Defs[fn.decl.Name].(*types.Func)
		if !ok {
			continue
		}
		if receiver := o.Signature().Recv(); receiver != nil {
			if name := m.structOf(receiver.Type()); name != nil {
				t := all[name]
				t.methods++
				all[name] = t
			}
			continue
		}
		for _, name := range m.taken(o) {
			t := all[name]
			t.takers++
			all[name] = t
		}
	}

	for _, p := range m.packages {
		for _, holder := range p.structs() {
			for _, name := range m.waysBack(holder) {
				t := all[name]
				t.holders += all[holder].methods
				all[name] = t
			}
		}
	}
	return all
}

// taken are the structs of its own package that a function takes first or second.
func (m *Module) taken(fn *types.Func) (names []*types.TypeName) {
	parameters := fn.Signature().Params()
	for i := range min(2, parameters.Len()) {
		name := m.structOf(parameters.At(i).Type())
		if name != nil && name.Pkg() == fn.Pkg() && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// structs are the structs that a package declares.
func (p *pkg) structs() (names []*types.TypeName) {
	for _, name := range p.types.Scope().Names() {
		o, ok := p.types.Scope().Lookup(name).(*types.TypeName)
		if ok && !o.IsAlias() && structure(o) != nil {
			names = append(names, o)
		}
	}
	return names
}

// waysBack are the structs of its package that a struct holds, and from which there is a way back
// to it.
func (m *Module) waysBack(holder *types.TypeName) (names []*types.TypeName) {
	s := structure(holder)
	for i := range s.NumFields() {
		held := m.structOf(s.Field(i).Type())
		if held == nil || held == holder || held.Pkg() != holder.Pkg() || slices.Contains(names, held) {
			continue
		}
		if s.Field(i).Embedded() || s.NumFields() == 1 || m.holds(held, holder) {
			names = append(names, held)
		}
	}
	return names
}

// holds reports whether a struct has a field of another.
func (m *Module) holds(holder, held *types.TypeName) bool {
	s := structure(holder)
	for i := range s.NumFields() {
		if m.structOf(s.Field(i).Type()) == held {
			return true
		}
	}
	return false
}

// structOf is the struct of the module that a type is, or points to.
func (m *Module) structOf(t types.Type) *types.TypeName {
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || !m.owns(n.Obj().Pkg()) || structure(n.Obj()) == nil {
		return nil
	}
	return n.Obj()
}

// structure is the struct that a type name is declared as, or nil.
func structure(name *types.TypeName) *types.Struct {
	if name == nil || name.Type() == nil {
		return nil
	}
	s, _ := name.Type().Underlying().(*types.Struct)
	return s
}
