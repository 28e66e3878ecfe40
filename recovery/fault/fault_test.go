package fault

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Every declared point is in All, once, and named like no other.
func TestAllPoints(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "fault.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[Point]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if id, ok := spec.Type.(*ast.Ident); !ok || id.Name != "Point" {
			return true
		}
		for _, v := range spec.Values {
			name, err := strconv.Unquote(v.(*ast.BasicLit).Value)
			if err != nil || declared[Point(name)] {
				t.Errorf("point %s is declared twice, or is no text (%v)", name, err)
			}
			declared[Point(name)] = true
		}
		return true
	})
	listed := map[Point]bool{}
	for _, p := range All() {
		if listed[p] {
			t.Errorf("point %s is listed twice", p)
		}
		if !declared[p] {
			t.Errorf("point %s is listed and not declared", p)
		}
		if place, what, ok := strings.Cut(string(p), "."); !ok || place == "" || what == "" || strings.Contains(string(p), ":") {
			t.Errorf("point %s is not named place.step", p)
		}
		listed[p] = true
	}
	for p := range declared {
		if !listed[p] {
			t.Errorf("point %s is declared and not listed", p)
		}
	}
	if len(listed) < 20 {
		t.Errorf("%d points", len(listed))
	}
}

// set arms by the two variables, and disarms when the test is over.
func set(t *testing.T, point, unsafe string) (string, error) {
	t.Helper()
	t.Setenv(EnvPoint, point)
	t.Setenv(EnvUnsafe, unsafe)
	t.Cleanup(func() { armed.Store(nil) })
	return Arm()
}

func TestArm(t *testing.T) {
	for _, c := range []struct {
		point, unsafe string
		warns, fails  string
		armed         bool
	}{
		{"", "", "", "", false},
		{"", "1", "", "", false},
		{"call.after_started", "", "counts for nothing without AGENT_FAULT_UNSAFE=1", "", false},
		{"call.after_started", "0", "counts for nothing", "", false},
		{"nonsense", "", "counts for nothing", "", false},
		{"call.after_started", "1", "call.after_started", "", true},
		{"call.after_started:3", "1", "call.after_started:3", "", true},
		{"call.after_started:1:stop", "1", "stop", "", true},
		{"nonsense", "1", "", "no such point", false},
		{":1", "1", "", "no such point", false},
		{"call.after_started:0", "1", "", `"0" is not a count`, false},
		{"call.after_started:-1", "1", "", "not a count", false},
		{"call.after_started:", "1", "", `"" is not a count`, false},
		{"call.after_started:x", "1", "", `"x" is not a count`, false},
		{"call.after_started:99999999999999999999", "1", "", "not a count", false},
		{"call.after_started:1:explode", "1", "", `no action "explode"`, false},
		{"call.after_started:1:", "1", "", `no action ""`, false},
		{"call.after_started:2:clock+26h", "1", "set its clock", "", true},
		{"call.after_started:1:clock-26h,call.after_effect", "1", "set its clock, this process will end itself", "", true},
		{"call.after_started,", "1", "", `no such point as ""`, false},
		{"call.after_started:1:clock", "1", "", `"clock" is no step of the clock`, false},
		{"call.after_started:1:clock26h", "1", "", "no step of the clock", false},
		{"call.after_started:1:clock+0s", "1", "", "no step of the clock", false},
		{"call.after_started:1:clock+1d", "1", "", "no step of the clock", false},
	} {
		t.Run(c.point+"/"+c.unsafe, func(t *testing.T) {
			warning, err := set(t, c.point, c.unsafe)
			switch {
			case c.fails == "" && err != nil, c.fails != "" && (err == nil || !strings.Contains(err.Error(), c.fails)):
				t.Errorf("error %v, want %q", err, c.fails)
			case !strings.Contains(warning, c.warns) || (warning == "") != (c.warns == ""):
				t.Errorf("warning %q, want %q", warning, c.warns)
			case (armed.Load() != nil) != c.armed:
				t.Errorf("armed: %v", armed.Load())
			}
			for _, name := range []string{EnvPoint, EnvUnsafe} {
				if v, ok := os.LookupEnv(name); ok {
					t.Errorf("%s=%s is left for children", name, v)
				}
			}
		})
	}
}

// Only the named point counts, only the n-th time, and only once.
func TestHitCounts(t *testing.T) {
	if _, err := set(t, "call.after_started:3:panic", "1"); err != nil {
		t.Fatal(err)
	}
	ended := func(p Point) (msg any) {
		defer func() { msg = recover() }()
		Hit(p)
		return nil
	}
	for i, want := range []bool{false, false, true, false, false} {
		if other := ended(AfterEffect); other != nil {
			t.Errorf("another point ended the process: %v", other)
		}
		if got := ended(AfterStarted); (got != nil) != want {
			t.Errorf("time %d: %v", i+1, got)
		}
	}
}

// The clock goes its step at the point, once; steps add up, other points are passed as before, and
// what measures time is as it was.
func TestClock(t *testing.T) {
	near := func(want time.Duration) {
		t.Helper()
		if off := Now().Sub(time.Now().Round(0)) - want; off.Abs() > time.Minute {
			t.Errorf("the clock is %s off from %s ahead", off, want)
		}
	}
	near(0)
	if _, err := set(t, "call.after_started:2:clock+26h,call.after_effect:1:clock-876000h,call.after_effect:2:panic", "1"); err != nil {
		t.Fatal(err)
	}
	Hit(AfterStarted)
	near(0)
	began := time.Now()
	Hit(AfterStarted)
	near(26 * time.Hour)
	Hit(AfterStarted)
	Hit(AfterEffect)
	near((26 - 876000) * time.Hour)
	if took := time.Since(began).Abs(); took > time.Minute {
		t.Errorf("%s passed", took)
	}
	defer func() {
		if recover() == nil {
			t.Error("the second point at the same place counts for nothing")
		}
	}()
	Hit(AfterEffect)
}

// A clock can stand elsewhere from the start.
func TestClockFromTheStart(t *testing.T) {
	if _, err := set(t, "process.started:1:clock-48h", "1"); err != nil {
		t.Fatal(err)
	}
	if off := Now().Sub(time.Now().Round(0)); off > -47*time.Hour {
		t.Errorf("the clock is %s ahead", off)
	}
}

// A runner is this binary again: it gets its own points, with what is left of the count, and
// nothing else.
func TestEnv(t *testing.T) {
	if env := Env(); env != nil {
		t.Errorf("unarmed: %v", env)
	}
	if _, err := set(t, "call.after_started", "1"); err != nil {
		t.Fatal(err)
	}
	if env := Env(); env != nil {
		t.Errorf("a point of the host reaches a child: %v", env)
	}
	if _, err := set(t, "runner.spawned:2:panic", "1"); err != nil {
		t.Fatal(err)
	}
	Hit(RunnerStarted)
	if env := strings.Join(Env(), " "); env != "AGENT_FAULT=runner.spawned:1:panic AGENT_FAULT_UNSAFE=1" {
		t.Errorf("after one of two: %s", env)
	}
	if _, err := set(t, "call.after_started:1:clock+26h,runner.after_began:3", "1"); err != nil {
		t.Fatal(err)
	}
	Hit(AfterStarted)
	if env := strings.Join(Env(), " "); env != "AGENT_FAULT=process.started:1:clock+26h0m0s,runner.after_began:3:kill AGENT_FAULT_UNSAFE=1" {
		t.Errorf("with another clock: %s", env)
	}
	if _, err := set(t, "runner.spawned:1:panic", "1"); err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() { recover() }() // the panic is the action
		Hit(RunnerStarted)
	}()
	if env := Env(); env != nil {
		t.Errorf("a point that was reached reaches a child: %v", env)
	}
}

// An unarmed point costs about a nanosecond: it is always compiled in. b.Loop would keep the call
// from being inlined and count itself.
func BenchmarkHitUnarmed(b *testing.B) {
	for range b.N {
		Hit(AfterCommit)
	}
}

// The clock costs what time.Now costs.
func BenchmarkNowUnarmed(b *testing.B) {
	for range b.N {
		Now()
	}
}

func BenchmarkTimeNow(b *testing.B) {
	for range b.N {
		time.Now()
	}
}

func BenchmarkHitOtherPointArmed(b *testing.B) {
	a, err := parse("call.after_started")
	if err != nil {
		b.Fatal(err)
	}
	armed.Store(a)
	defer armed.Store(nil)
	for range b.N {
		Hit(AfterCommit)
	}
}
