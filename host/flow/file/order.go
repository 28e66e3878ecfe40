package file

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"agent/recovery/flow"
)

// order checks what phases say of each other. It is nil where they have no order.
func (r *reader) order() *flow.Graph {
	names := make([]string, len(r.phases))
	for i, p := range r.phases {
		names[i] = strings.TrimSpace(p.Name)
	}
	known := true
	for _, p := range r.phases {
		for i, at := range p.after {
			switch name := p.After[i]; {
			case name == p.Name:
				r.wrong(at, "leave it out", "the phase %s cannot come after itself", name)
				known = false
			case !slices.Contains(names, name):
				r.wrong(at, meant(names, name), "there is no phase %q", brief(name))
				// What was probably meant lets the rest be checked too.
				p.After[i] = nearest(names, name)
				known = known && p.After[i] != ""
			}
		}
	}
	for i, p := range r.phases {
		if p.Back != "" && !slices.Contains(names, p.Back) {
			fix := "choose stop, ask, continue or an earlier phase"
			if near := nearest(append([]string{"stop", "ask", "continue"}, names...), p.Back); near != "" {
				fix = "did you mean " + near + "?"
			}
			r.wrong(p.back, fix, "on-fail names %q, which is no phase", brief(p.Back))
			r.def.Phases[i].OnFail, r.def.Phases[i].Back = r.def.OnFail, ""
		}
		r.def.Phases[i].Inputs = r.resolve(p, names)
		r.def.Phases[i].After = p.After
		known = known && names[i] == p.Name
		p.Phase = r.def.Phases[i]
	}
	if !known || len(r.phases) == 0 {
		return nil
	}
	g, err := flow.NewGraph(r.def)
	if err != nil {
		r.cycle(err)
		return nil
	}
	for i, p := range r.phases {
		if p.Back != "" && !g.Before(p.Back, p.Name) {
			r.wrong(p.back, "name a phase that is done before "+p.Name+" begins", "on-fail goes back to an earlier phase, and %s is none", p.Back)
		}
		r.fed(g, p)
		for _, other := range r.phases[:i] {
			if !g.Before(other.Name, p.Name) && !g.Before(p.Name, other.Name) {
				r.apart(other, p)
			}
		}
	}
	return g
}

// meant asks whether another name was meant.
func meant(names []string, name string) string {
	if near := nearest(names, name); near != "" {
		return "did you mean " + near + "?"
	}
	return "the phases are " + brief(strings.Join(names, ", "))
}

// resolve tells the inputs that are names of phases from paths.
func (r *reader) resolve(p *phase, names []string) []flow.Input {
	all := slices.Clone(p.Inputs)
	for i := range all {
		if slices.Contains(names, all[i].Path) && all[i].Path != p.Each && !r.dotted(p, all[i].Path) {
			all[i] = flow.Input{Phase: all[i].Path}
		}
	}
	return all
}

// dotted says whether an input is written ./NAME, which is a file whatever phases are called.
func (r *reader) dotted(p *phase, name string) bool {
	return slices.ContainsFunc(items(p.keys, "inputs"), func(v *value) bool { return v.text == "./"+name })
}

// cycle reports phases that wait for each other, where one of them says so.
func (r *reader) cycle(err error) {
	var around *flow.CycleError
	if !errors.As(err, &around) {
		return // a name that stands twice is reported already
	}
	for _, p := range r.phases {
		if slices.Contains(around.Phases, p.Name) && p.has("after") {
			r.wrong(p.at("after"), "take one of them out of after", "%v", err)
			return
		}
	}
}

// fed checks that each input is there when the phase begins.
func (r *reader) fed(g *flow.Graph, p *phase) {
	for i, in := range p.Inputs {
		at := p.inputs[i]
		if in.Phase == "" {
			r.fedPath(g, p, in.Path, at)
			continue
		}
		switch from := r.def.Phase(in.Phase); {
		case !g.Before(in.Phase, p.Name):
			r.wrong(at, afterFix(p, in.Phase), "%s reads what %s makes, and does not come after it", p.Name, in.Phase)
		case len(from.All()) == 0:
			r.wrong(at, "give it outputs or an answer, or write ./"+in.Phase+" for a file", "the phase %s makes nothing", in.Phase)
		}
	}
}

func (r *reader) fedPath(g *flow.Graph, p *phase, name string, at place) {
	if g.MakerFor(p.Name, name) != "" {
		return
	}
	later := ""
	for _, maker := range g.Makers(name) {
		if maker == p.Name {
			continue
		}
		if later = maker; !g.Before(p.Name, maker) {
			r.wrong(at, afterFix(p, maker), "%s is made by %s, which may not be done when %s begins", name, maker, p.Name)
			return
		}
	}
	if r.known.Folder == nil || strings.Contains(name, itemMark) {
		return
	}
	_, err := fs.Stat(r.known.Folder, strings.TrimSuffix(name, "/"))
	switch {
	case err == nil:
	case !errors.Is(err, fs.ErrNotExist):
		r.wrong(at, "name another path, or let it be read", "look at %s: %v", name, reason(err))
	case later != "":
		r.wrong(at, "let "+later+" come first, or put the file there", "%s is made by %s only after %s, and is not in the folder", name, later, p.Name)
	default:
		fix := "put it there, or name it among the outputs of an earlier phase"
		if near := nearest(r.made(g, p), name); near != "" {
			fix = "did you mean " + near + "?"
		}
		r.wrong(at, fix, "%s is made by no phase before %s and is not in the folder", name, p.Name)
	}
}

// made are the paths that are made before a phase.
func (r *reader) made(g *flow.Graph, p *phase) []string {
	var all []string
	for _, other := range r.phases {
		if g.Before(other.Name, p.Name) {
			for _, o := range other.All() {
				all = append(all, o.Path)
			}
		}
	}
	return all
}

// afterFix is the line that has a phase come after another one.
func afterFix(p *phase, name string) string {
	quoted := make([]string, 0, len(p.After)+1)
	for _, n := range append(slices.Clone(p.After), name) {
		quoted = append(quoted, fmt.Sprintf("%q", n))
	}
	return "write after = [" + strings.Join(quoted, ", ") + "]"
}

// apart reports outputs that two phases without an order would both write.
func (r *reader) apart(a, b *phase) {
	for i, one := range b.All() {
		for _, other := range a.All() {
			if overlap(one.Path, other.Path) {
				r.wrong(b.outputs[i], afterFix(b, a.Name)+", or choose another path", "%s and %s may run side by side, and both write %s", a.Name, b.Name, one.Path)
				return
			}
		}
	}
}

// step is one piece of a path: a byte, or one or more bytes of a class.
type step struct {
	byte  byte
	class func(byte) bool // nil for a byte
}

// overlap says whether some file may belong to both outputs: a folder holds all that is below it,
// and an item may be called anything.
func overlap(a, b string) bool {
	if a == b {
		return true
	}
	if a == strings.TrimSuffix(b, "/") || b == strings.TrimSuffix(a, "/") {
		return true
	}
	if !strings.ContainsAny(a+b, "{") && !strings.HasSuffix(a, "/") && !strings.HasSuffix(b, "/") {
		return false
	}
	x, y := steps(a), steps(b)
	type pair struct{ i, j int }
	seen := map[pair]bool{}
	var meet func(i, j int) bool
	meet = func(i, j int) bool {
		if i == len(x) || j == len(y) {
			return i == len(x) && j == len(y)
		}
		if seen[pair{i, j}] {
			return false
		}
		seen[pair{i, j}] = true
		s, t := x[i], y[j]
		switch {
		case s.class == nil && t.class == nil:
			return s.byte == t.byte && meet(i+1, j+1)
		case s.class == nil:
			return t.class(s.byte) && (meet(i+1, j+1) || meet(i+1, j))
		case t.class == nil:
			return s.class(t.byte) && (meet(i+1, j+1) || meet(i, j+1))
		}
		return meet(i+1, j+1) || meet(i+1, j) || meet(i, j+1)
	}
	return meet(0, 0)
}

// inItem says whether a byte may stand in an item's name.
func inItem(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

// steps are the pieces of an output's path.
func steps(name string) []step {
	var all []step
	for name != "" {
		if rest, ok := strings.CutPrefix(name, itemMark); ok {
			all, name = append(all, step{class: inItem}), rest
			continue
		}
		all, name = append(all, step{byte: name[0]}), name[1:]
	}
	if n := len(all); n > 0 && all[n-1].byte == '/' {
		all = append(all, step{class: func(byte) bool { return true }})
	}
	return all
}
