package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What to use instead.
const (
	waitForEvent = "wait for an event with testkit.Until, or use the made clock of testing/synctest"
	countInstead = "count rows, bytes, calls or allocations; times are for scripts/bench"
	namesThem    = "testkit.NoneLeft names them"
	nameProcess  = "process.Identity has its start time, so that another process with the number is not taken for it"
	kernelGives  = "listen on port 0 and read the port back"
)

// breaches are those of one file of tests.
type breaches struct {
	*clockFlow
	s     *source
	limit time.Duration
	found []finding
}

// timesOf finds what in a file of tests depends on the speed of the machine or on a number that the
// kernel did not give. In a bubble of testing/synctest times are made, so they are free there.
func timesOf(p *program, flow *clockFlow, s *source, limit time.Duration) []finding {
	b := &breaches{clockFlow: flow, s: s, limit: limit}
	b.hidden()
	loops := false
	var text token.Pos // where the last text ends
	ast.Inspect(s.syntax, func(n ast.Node) bool {
		if n == nil {
			return true
		}
		switch x := n.(type) {
		case *ast.FuncDecl:
			loops = hasLoop(x)
		case *ast.CallExpr:
			b.processes(x)
			b.ports(x)
			b.commands(x)
		case *ast.BasicLit, *ast.BinaryExpr:
			if e := n.(ast.Expr); e.Pos() >= text && b.text(e) != "" {
				text = e.End() // its parts are no texts of their own
				b.script(e)
			}
		}

		b.named(n)
		b.pids(n)
		if !b.inBubble(n) {
			b.times(n, loops)
		}
		return true
	})
	return b.found
}

func (b *breaches) add(pos token.Pos, instead, format string, args ...any) {
	b.found = append(b.found, b.s.at(pos, "%s: %s", fmt.Sprintf(format, args...), instead))
}

// hidden refuses dot imports: what they bring has no package in front of it.
func (b *breaches) hidden() {
	for _, spec := range b.s.syntax.Imports {
		target, err := strconv.Unquote(spec.Path.Value)
		watched := []string{"time", "context", "os", "os/exec", "runtime", "runtime/pprof", "syscall", "golang.org/x/sys/unix", "net"}
		if err == nil && spec.Name != nil && spec.Name.Name == "." && slices.Contains(watched, target) {
			b.add(spec.Pos(), "import it by its name", "hides package %s from this check", target)
		}
	}
}

// named finds functions by their name, called or not.
func (b *breaches) named(n ast.Node) {
	x, ok := n.(*ast.SelectorExpr)
	if !ok {
		return
	}
	switch b.packageOf(x) + "." + x.Sel.Name {
	case "runtime.NumGoroutine":
		b.add(x.Pos(), namesThem, "counts goroutines")
	case "os.FindProcess":
		b.add(x.Pos(), nameProcess, "takes a number for a process")
	}
}

// times finds sleeps, deadlines and measured times.
func (b *breaches) times(n ast.Node, loops bool) {
	switch x := n.(type) {
	case *ast.SelectorExpr:
		if b.packageOf(x) == "time" && x.Sel.Name == "Sleep" {
			b.add(x.Pos(), waitForEvent, "sleeps")
		}
	case *ast.BinaryExpr:
		if what := b.comparison(x, b.limit); what != "" {
			b.add(x.Pos(), countInstead, "%s", what)
		}
	case *ast.CallExpr:
		for _, bound := range b.boundsOf(x) {
			b.deadline(bound)
		}
		pkg, name := b.callee(x)
		if pkg == "time" && (name == "Tick" || name == "NewTicker") && !loops {
			b.add(x.Pos(), waitForEvent, "sleeps by a ticker")
		}
		if (name == "After" || name == "Before" || name == "Compare") && b.comparesNow(x) {
			b.add(x.Pos(), countInstead, "compares a measured time")
		}
		b.values(x.Args)
	case *ast.AssignStmt:
		b.values(x.Rhs)
	case *ast.ReturnStmt:
		b.values(x.Results)
	}
	for to, from := range b.flows(n) {
		if b.bounds[to] || strings.HasSuffix(to.Name(), "Timeout") && isDuration(to.Type()) {
			b.deadline(from)
		}
	}
	b.unknownField(n)
}

// deadline finds a bound that passes too soon.
func (b *breaches) deadline(bound ast.Expr) {
	if pos, d, ok := b.short(bound, b.limit); ok {
		b.add(pos, waitForEvent, "a deadline of %s", d)
	}
}

// unknownField finds a deadline in a field of a type that is not known here.
func (b *breaches) unknownField(n ast.Node) {
	if x, ok := n.(*ast.KeyValueExpr); ok {
		if key, ok := x.Key.(*ast.Ident); ok && strings.HasSuffix(key.Name, "Timeout") && b.objectOf(key) == nil {
			b.deadline(x.Value)
		}
	}
	x, ok := n.(*ast.AssignStmt)
	if !ok || len(x.Lhs) != len(x.Rhs) {
		return
	}
	for i, to := range x.Lhs {
		if field, ok := to.(*ast.SelectorExpr); ok && strings.HasSuffix(field.Sel.Name, "Timeout") && b.objectOf(field) == nil {
			b.deadline(x.Rhs[i])
		}
	}
}

// values finds functions of package time that are kept to be called by another name.
func (b *breaches) values(list []ast.Expr) {
	for _, e := range list {
		x, ok := ast.Unparen(e).(*ast.SelectorExpr)
		if !ok {
			continue
		}
		switch name := b.packageOf(x) + "." + x.Sel.Name; name {
		case "time.After", "time.AfterFunc", "time.NewTimer", "time.Tick", "time.NewTicker", "time.Since", "time.Until",
			"context.WithTimeout", "context.WithTimeoutCause", "context.WithDeadline", "context.WithDeadlineCause":
			b.add(x.Pos(), "call it where it is needed", "hides %s from this check", name)
		}
	}
}

// comparesNow reports whether a method of a time compares it with the present.
func (b *breaches) comparesNow(call *ast.CallExpr) bool {
	x, ok := call.Fun.(*ast.SelectorExpr)
	return ok && len(call.Args) == 1 && b.packageOf(x) == "" && (b.isNow(x.X) || b.isNow(call.Args[0]))
}

func (b *breaches) isNow(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			pkg, name := b.callee(call)
			found = found || pkg == "time" && name == "Now"
		}
		return !found
	})
	return found
}

// processes finds looks at a process by its number, and at goroutines by their profile.
func (b *breaches) processes(call *ast.CallExpr) {
	pkg, name := b.callee(call)
	system := pkg == "syscall" || pkg == "golang.org/x/sys/unix"
	switch {
	case system && name == "Kill" && len(call.Args) == 2 && b.isZero(call.Args[1]), pkg == "" && name == "Signal" && len(call.Args) == 1 && b.isZero(call.Args[0]):
		b.add(call.Pos(), nameProcess, "asks whether a number has a process")
	case system && name == "Kill" && len(call.Args) == 2 && b.positive(call.Args[0]):
		b.add(call.Pos(), nameProcess, "a made-up pid")
	case pkg == "runtime/pprof" && name == "Lookup" && len(call.Args) == 1 && b.text(call.Args[0]) == "goroutine":
		b.add(call.Pos(), namesThem, "counts goroutines")
	}
}

// pids finds numbers that are made of the number of a process.
func (b *breaches) pids(n ast.Node) {
	x, ok := n.(*ast.BinaryExpr)
	if !ok || x.Op != token.ADD && x.Op != token.SUB && x.Op != token.XOR && x.Op != token.MUL {
		return
	}
	for _, e := range []ast.Expr{x.X, x.Y} {
		if call, ok := ast.Unparen(e).(*ast.CallExpr); ok {
			if pkg, name := b.callee(call); (pkg == "os" || pkg == "syscall" || pkg == "golang.org/x/sys/unix") && (name == "Getpid" || name == "Getppid") {
				b.add(x.Pos(), nameProcess, "a made-up pid")
			}
		}
	}
}

// isZero reports whether a signal is none: 0, or a conversion of 0.
func (b *breaches) isZero(e ast.Expr) bool {
	e = ast.Unparen(e)
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 {
		if _, name := b.callee(call); name == "Signal" {
			e = call.Args[0]
		}
	}
	v := b.p.info.Types[e].Value
	return v != nil && v.Kind() == constant.Int && constant.Sign(v) == 0
}

func (b *breaches) positive(e ast.Expr) bool {
	v := b.p.info.Types[e].Value
	return v != nil && v.Kind() == constant.Int && constant.Sign(v) > 0
}

// text is the value of a constant string.
func (b *breaches) text(e ast.Expr) string {
	if v := b.p.info.Types[e].Value; v != nil && v.Kind() == constant.String {
		return constant.StringVal(v)
	}
	return ""
}

// ports finds listeners at a port that somebody else may have.
func (b *breaches) ports(call *ast.CallExpr) {
	pkg, name := b.callee(call)
	listens := strings.HasPrefix(name, "Listen") && (pkg == "net" || pkg == "net/http" || pkg == "crypto/tls" || pkg == "")
	if !listens || len(call.Args) > 0 && strings.HasPrefix(b.text(call.Args[0]), "unix") {
		return
	}
	for _, arg := range call.Args {
		if _, port, err := net.SplitHostPort(b.text(arg)); err == nil && port != "0" && port != "" {
			b.add(call.Pos(), kernelGives, "listens at port %s", port)
		}
		ast.Inspect(arg, func(n ast.Node) bool {
			field, ok := n.(*ast.KeyValueExpr)
			if ok {
				if key, ok := field.Key.(*ast.Ident); ok && key.Name == "Port" && b.positive(field.Value) {
					b.add(call.Pos(), kernelGives, "listens at a port that it chose")
				}
			}
			return true
		})
	}
}

// script finds a sleep in front of a comparison in a text, which a shell may get.
func (b *breaches) script(e ast.Expr) {
	_, behind, ok := strings.Cut(b.text(e), "sleep ")
	if ok && regexp.MustCompile(`\b(test|grep|cmp|diff|pgrep|kill -0) |\[ `).MatchString(behind) && len(pausesOf("", b.text(e))) > 0 {
		b.add(e.Pos(), "wait in a loop until it is there", "sleeps and then compares")
	}
}

// commands finds sleeps that a test starts.
func (b *breaches) commands(call *ast.CallExpr) {
	for i, arg := range call.Args[:max(len(call.Args)-1, 0)] {
		if b.text(arg) == "sleep" && pauses(b.text(call.Args[i+1])) {
			b.add(arg.Pos(), "wait for an event, or sleep until the test ends the command, for 1000 s", "starts a sleep of %s s", b.text(call.Args[i+1]))
		}
	}
}

// hasLoop reports whether a function repeats something, as one does that polls.
func hasLoop(fn *ast.FuncDecl) bool {
	found := false
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			found = true
		}
		return !found
	})
	return found
}
