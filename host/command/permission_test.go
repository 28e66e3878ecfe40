package command_test

import (
	"path/filepath"
	"slices"
	"testing"

	"agent/host/permission"
	"agent/tools/builtin"
)

// Each built-in tool that needs permission can be named by a rule, and no other name can: a rule
// about it would do nothing.
func TestRulesNameTheBuiltInTools(t *testing.T) {
	dir := t.TempDir()
	list, err := builtin.Tools(builtin.Options{
		State: dir, Calls: filepath.Join(dir, "calls"), Exe: filepath.Join(dir, "agent"), Outputs: struct{ builtin.Outputs }{},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"delegate"} // of package child
	for _, tool := range list {
		if spec := tool.Spec(); !spec.Asks {
			want = append(want, spec.Name)
		}
	}
	got := permission.Tools()
	slices.Sort(got)
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("rules may name %v, and the built-in tools are %v", got, want)
	}
}
