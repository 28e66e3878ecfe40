package main

import (
	"go/ast"
	"go/token"
	"path"
	"strconv"
	"strings"
)

// checkImports finds the imports of one file that its folder's rule does not allow, and what in
// recovery is not pure. Tests are bound as well, with two exceptions: those of main and
// host/command stand above the whole tree and may look into all of it, the database file included;
// and a test of recovery may use what it needs to test with. All of them have testkit.
func checkImports(s *source) []finding {
	if s.syntax == nil || unbound(s.dir) {
		return nil
	}
	if s.test && (s.dir == "." || s.dir == "host/command") {
		return nil
	}
	var found []finding
	bound, ok := ruleFor(s.dir)
	if !ok {
		return []finding{s.at(s.syntax.Name.Pos(),
			"no rule says what %s may import: add one to scripts/imports/rules.go", s.dir)}
	}
	for _, spec := range s.syntax.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			found = append(found, s.at(spec.Pos(), "import %s: %v", spec.Path.Value, err))
			continue
		}
		if why := refusal(s, bound, target); why != "" {
			found = append(found, s.at(spec.Pos(), "%s", why))
		}
	}
	if pure(s) {
		found = append(found, clockUses(s)...)
	}
	if replayed(s) {
		found = append(found, ownThreads(s)...)
	}
	return found
}

// pure reports whether the file must decide from its arguments alone.
func pure(s *source) bool {
	for _, dir := range []string{"scripts/crashlab/judge", "scripts/crashlab/marks", "scripts/crashlab/story", fleetDir + "/custody", fleetDir + "/model"} {
		if within(s.dir, dir) && !s.test {
			return true
		}
	}
	return within(s.dir, "recovery") && !within(s.dir, "recovery/fault") && !s.test
}

// testkit waits for events, and looks at time for the tests: every one of them may import it.
const testkit = "scripts/testkit"

// lineDiff compares two texts, from its arguments alone.
const lineDiff = "github.com/rogpeppe/go-internal/diff"

// refusal is the reason why the file may not import target, or "".
func refusal(s *source, bound rule, target string) string {
	if target == module {
		return "imports the main package"
	}
	if local, ok := folderOf(target); ok {
		return localRefusal(s, bound, local)
	}
	if within(target, "database/sql") || within(target, "modernc.org/sqlite") {
		if !mayReachSQL(s.dir) {
			return "imports " + target + ": SQLite is reached only through db, which redacts, checks epochs and orders every write"
		}
		return ""
	}
	if within(s.dir, fleetDir) && !s.test && !standard(target) {
		return otherRefusal(bound, target)
	}
	if !pure(s) {
		if s.dir == "host/stream" && !s.test && !standard(target) && target != "github.com/fsnotify/fsnotify" {
			return "imports " + target + ": host/stream uses the standard library and fsnotify: " + bound.why
		}
		return ""
	}
	if s.dir == "recovery/workspace/origin" && target == lineDiff {
		return ""
	}
	if !standard(target) {
		return "imports " + target + ": " + bound.dir + " uses the standard library only: " + bound.why
	}
	if impureInRecovery(target) {
		return "imports " + target + ": the world, time and chance are arguments here: " + bound.why
	}
	return ""
}

// otherRefusal is about a package of another module, for a rule that names those that may be
// imported.
func otherRefusal(bound rule, target string) string {
	if matches(bound.others, target) {
		return ""
	}
	may := "nothing"
	if len(bound.others) > 0 {
		may = "only " + strings.Join(bound.others, ", ")
	}
	return "imports " + target + ": " + bound.dir + " may import " + may + " of other modules: " + bound.why
}

func localRefusal(s *source, bound rule, local string) string {
	external := strings.HasSuffix(s.syntax.Name.Name, "_test") && local == s.dir
	kit := s.test && within(local, "scripts/testkit") // which is there for the tests of every package
	if external || kit || bound.permits(local) || s.test && matches(bound.tests, local) {
		return ""
	}
	may := "nothing of this module"
	if len(bound.allow) > 0 {
		may = "only " + strings.Join(bound.allow, ", ")
	}
	if len(bound.deny) > 0 {
		may += " without " + strings.Join(bound.deny, ", ")
	}
	who := bound.dir
	if who == "." {
		who = "main"
	}
	text := "imports " + local + ": " + who + " may import " + may + ": " + bound.why
	if bound.dir != s.dir {
		text += " (" + s.dir + " has no rule of its own in scripts/imports/rules.go)"
	}
	return text
}

// standard reports whether the path belongs to the standard library: its first element has no dot.
func standard(target string) bool {
	first, _, _ := strings.Cut(target, "/")
	return !strings.Contains(first, ".")
}

// clockUses finds uses of package time that read the clock.
func clockUses(s *source) []finding {
	var found []finding
	for _, pos := range selectorUses(s, "time", readsClock) {
		found = append(found, s.at(pos, "reads the clock: a decision takes the time as an argument"))
	}
	return found
}

// selectorUses returns where the file names a function of the imported package that pick selects. A
// dot import would hide such a use, so it counts as one.
func selectorUses(s *source, pkg string, pick func(string) bool) []token.Pos {
	local := ""
	var uses []token.Pos
	for _, spec := range s.syntax.Imports {
		if spec.Path.Value != strconv.Quote(pkg) {
			continue
		}
		local = path.Base(pkg)
		if spec.Name != nil {
			local = spec.Name.Name
		}
		if local == "." {
			uses = append(uses, spec.Pos())
		}
	}
	if local == "" || local == "." || local == "_" {
		return uses
	}
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && x.Name == local && pick(sel.Sel.Name) {
			uses = append(uses, sel.Pos())
		}
		return true
	})
	return uses
}
