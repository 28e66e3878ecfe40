package seed

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// double is a test whose end is seen.
type double struct {
	*testing.T
	failed bool
	ends   []func()
	log    string
}

func (d *double) Name() string                    { return "TestDrawn/one" }
func (d *double) Failed() bool                    { return d.failed }
func (d *double) Cleanup(f func())                { d.ends = append(d.ends, f) }
func (d *double) Logf(format string, args ...any) { d.log += fmt.Sprintf(format, args...) }

func (d *double) end() {
	for _, f := range d.ends {
		f()
	}
}

// repository is a folder below a root that has the file.
func repository(t *testing.T, text string) string {
	t.Helper()
	root := t.TempDir()
	for _, folder := range []string{"scripts", "host/serve"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "scripts/seed.txt"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(root, "host/serve"))
	return root
}

func TestNumber(t *testing.T) {
	repository(t, "7\n")
	t.Setenv(Variable, "")
	t.Setenv("AGENT_TESTS", "whole")
	d := &double{T: t}
	if number, first := Number(d), First(d, 2000); number != 7 || first != 12000 {
		t.Errorf("number %d, first %d", number, first)
	}
	if got := slices.Collect(Numbers(d, 3)); !slices.Equal(got, []uint64{18, 19, 20}) {
		t.Errorf("three numbers: %v", got)
	}
	if d.end(); d.log != "" {
		t.Errorf("a test that passed prints %s", d.log)
	}

	failing := &double{T: t, failed: true}
	Number(failing)
	failing.end()
	if want := "drawn from seed 7; again: AGENT_SEED=7 AGENT_TESTS=whole go test -count=1 -run '^TestDrawn$' ./host/serve"; failing.log != want {
		t.Errorf("%s, want %s", failing.log, want)
	}

	t.Setenv(Variable, "9")
	if number := Number(d); number != 9 {
		t.Errorf("number %d of the environment", number)
	}
}

func TestRefused(t *testing.T) {
	t.Setenv(Variable, "")
	for _, text := range []string{"", "0\n", "-1\n", "x\n", "1\n2\n", "4294967296\n"} {
		repository(t, text)
		if _, _, err := Read("."); err == nil || !strings.HasPrefix(err.Error(), "scripts/seed.txt: ") {
			t.Errorf("%q: %v", text, err)
		}
	}
	repository(t, "1\n")
	t.Setenv(Variable, "one")
	if _, _, err := Read("."); err == nil || !strings.HasPrefix(err.Error(), "AGENT_SEED: ") {
		t.Errorf("%v", err)
	}

	t.Setenv(Variable, "")
	root := repository(t, "1\n")
	if err := os.Remove(filepath.Join(root, "scripts/seed.txt")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Read("."); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("%v", err)
	}
}

// The file of this repository has a number.
func TestFile(t *testing.T) {
	t.Setenv(Variable, "")
	if number, root, err := Read("."); err != nil || number == 0 {
		t.Errorf("%d in %s: %v", number, root, err)
	}
}

// What rapid draws follows from the number, and is another for another one.
func TestRapid(t *testing.T) {
	drawn := func(number string) string {
		t.Setenv(Variable, number)
		if err := flag.Set("rapid.seed", "0"); err != nil {
			t.Fatal(err)
		}
		var values []uint64
		draw := func(t *rapid.T) { values = append(values, rapid.Uint64().Draw(t, "value")) }
		next := Rapid(t)
		rapid.Check(t, draw)
		first := fmt.Sprint(values)
		values = nil
		next()
		if rapid.Check(t, draw); fmt.Sprint(values) == first {
			t.Error("the next seed draws the same")
		}
		return first + fmt.Sprint(values)
	}
	one := drawn("1")
	if drawn("1") != one {
		t.Error("the same seed draws something else")
	}
	if drawn("2") == one {
		t.Error("another seed draws the same")
	}

	if err := flag.Set("rapid.seed", "5"); err != nil {
		t.Fatal(err)
	}
	Rapid(t)()
	if own := flag.Lookup("rapid.seed").Value.String(); own != "5" {
		t.Errorf("the seed of the command line became %s", own)
	}
}
