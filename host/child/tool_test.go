package child

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/host/drive"
	"agent/recovery/journal"
	"agent/tools"
)

type plain struct{ name string }

func (p plain) Spec() tools.Spec {
	return tools.Spec{Name: p.name, Schema: json.RawMessage(`{"type":"object"}`), Asks: true}
}
func (p plain) Describe(string, json.RawMessage) tools.Traits { return tools.Traits{} }

func registry(t *testing.T) *tools.Registry {
	t.Helper()
	reg, err := tools.NewRegistry(plain{"read_file"}, plain{"shell"}, &Delegate{})
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// A child has no tool that was not named for it, and two levels below a root nothing is delegated
// (flows, section 9).
func TestToolsOfAChild(t *testing.T) {
	family := func(parent string, only ...string) journal.RunCreated {
		return journal.RunCreated{Run: "r-3", Family: journal.Family{Parent: parent, Root: "r-1", Only: only}}
	}
	for _, tt := range []struct {
		name string
		of   journal.RunCreated
		want []string
	}{
		{"a root", journal.RunCreated{Run: "r-1"}, []string{"delegate", "read_file", "shell"}},
		{"a child", family("r-1"), []string{"delegate", "read_file", "shell"}},
		{"a child of a child", family("r-2"), []string{"read_file", "shell"}},
		{"one with few tools", family("r-1", "read_file"), []string{"read_file"}},
		{"one that may not delegate, though it is named", family("r-2", "delegate", "shell"), []string{"shell"}},
	} {
		reg, err := Tools(registry(t), tt.of)
		if err != nil || !slices.Equal(reg.Names(), tt.want) {
			t.Errorf("%s has %v, %v, want %v", tt.name, reg, err, tt.want)
		}
	}
	if _, err := Tools(registry(t), family("r-1", "knife")); err == nil || !strings.Contains(err.Error(), "knife") {
		t.Errorf("a tool that there is not: %v", err)
	}
}

// Mode and tools are at most the parent's (flows, section 9).
func TestAtMostTheParents(t *testing.T) {
	for _, tt := range []struct{ has, wanted, want journal.Mode }{
		{journal.ModeAuto, "", journal.ModeAuto},
		{journal.ModeAuto, journal.ModePlan, journal.ModePlan},
		{journal.ModePlan, journal.ModeYolo, journal.ModePlan},
	} {
		if got := tighter(tt.has, tt.wanted); got != tt.want {
			t.Errorf("%s of a parent in %s is %s, want %s", tt.wanted, tt.has, got, tt.want)
		}
	}
	d := &Delegate{Carrier: &Carrier{Process: &drive.Process{Env: drive.Env{Tools: registry(t)}}}}
	only := tools.Parent{
		Created: journal.RunCreated{Run: "r-2", Family: journal.Family{Parent: "r-1", Root: "r-1", Only: []string{"read_file"}}},
		Tools:   []string{"read_file"},
	}
	for args, want := range map[string]string{
		`{"task":"x","tools":["shell"]}`:             "read_file alone",
		`{"task":"x","tools":["read_file","knife"]}`: `there is no tool "knife"; there are read_file`,
	} {
		_, _, err := d.Prepare(t.Context(), tools.Call{Args: json.RawMessage(args), Parent: only})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want one about %s", args, err, want)
		}
	}
	for _, tt := range []struct{ of, wanted, want []string }{
		{nil, nil, nil},
		{nil, []string{"shell"}, []string{"shell"}},
		{[]string{"read_file"}, nil, []string{"read_file"}},
		{[]string{"read_file"}, []string{"shell", "read_file"}, []string{"read_file"}},
	} {
		if got := narrowed(tt.of, tt.wanted); !slices.Equal(got, tt.want) {
			t.Errorf("%v of %v is %v, want %v", tt.wanted, tt.of, got, tt.want)
		}
	}
}

// Bad arguments are refused before anything is recorded, with what is wrong.
func TestBadArguments(t *testing.T) {
	reg := registry(t)
	for args, want := range map[string]string{
		`{}`:                                     "task",
		`{"task":"  "}`:                          "empty",
		`{"task":"x","mode":"root"}`:             "mode",
		`{"task":"x","outputs":["../x"]}`:        "../x",
		`{"task":"x","outputs":["/etc/passwd"]}`: "/etc/passwd",
		`{"task":"x","max_turns":0}`:             "max_turns",
		`{"task":"x","max_cost":-1}`:             "max_cost",
		`{"task":"x","speed":9}`:                 "speed",
	} {
		if err := reg.Read(Name, json.RawMessage(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want one about %q", args, err, want)
		}
	}
	if err := reg.Read(Name, json.RawMessage(`{"task":"x","mode":"plan","outputs":["a/b.md"],"max_cost":0.5}`)); err != nil {
		t.Error(err)
	}
}

// A limit on cost that is too small to be counted is not taken for none.
func TestSmallestCost(t *testing.T) {
	for dollars, want := range map[float64]int64{0: 0, 1e-9: 1, 0.5: 500_000, 1e300: maxDollars * 1e6} {
		if got := millionths(dollars); got != want {
			t.Errorf("%g dollars are %d millionths, want %d", dollars, got, want)
		}
	}
}

// What is read of the outputs for one result is bounded: a file may be sparse and of any size.
func TestLargeOutputs(t *testing.T) {
	folder := t.TempDir()
	for name, size := range map[string]int64{"large": 1 << 43, "small": 3} {
		f, err := os.Create(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Truncate(size), f.Close()); err != nil {
			t.Skip("no sparse file of this size here:", err)
		}
	}
	lines, missing := outputs(folder, []string{"large", "small"})
	if got := strings.Join(lines, "\n"); missing || !strings.Contains(got, "large: 8796093022208 bytes, not hashed") ||
		!strings.Contains(got, "small: 3 bytes, SHA-256 709e80c8") {
		t.Errorf("missing %v:\n%s", missing, got)
	}
}
