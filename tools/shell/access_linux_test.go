package shell

import (
	"encoding/json"
	"strings"
	"testing"

	"agent/recovery/journal"
	"agent/tools/sandbox"
)

// A command counts as what the system keeps it to: without a sandbox as an external write, whatever
// it says.
func TestAccess(t *testing.T) {
	b := newBench(t)
	open := b.shell()
	open.box = nil
	confined := open
	confined.box = &sandbox.System{Exe: "/proc/self/exe", Hidden: b.State}
	s := confined.box.Support()
	for access, want := range map[string]journal.Effect{
		`{"command":":","access":"read"}`: journal.EffectRead, `{"command":":","access":"write"}`: journal.EffectWriteLocal,
		`{"command":":","access":"full"}`: journal.EffectWriteExternal, `{"command":":"}`: journal.EffectWriteExternal,
		`{"command":":","access":"other"}`: journal.EffectWriteExternal, `[]`: journal.EffectWriteExternal,
	} {
		args := json.RawMessage(access)
		if got := open.Describe("", args).Effect; got != journal.EffectWriteExternal {
			t.Errorf("without a sandbox %s is a %s", access, got)
		}
		if want == journal.EffectRead && !s.Holds(sandbox.Read) || want == journal.EffectWriteLocal && !s.Holds(sandbox.Write) {
			want = journal.EffectWriteExternal
		}
		if got := confined.Describe("", args).Effect; got != want {
			t.Errorf("%s is a %s", access, got)
		}
		if got := confined.Describe("", args).RetrySafe; got != (want == journal.EffectRead) {
			t.Errorf("%s may be run twice: %v", access, got)
		}
	}
	if got := confined.Describe("", json.RawMessage(`{"command":":"}`)).Confinement; !strings.HasPrefix(got, "access full: ") {
		t.Errorf("a yes is bound to %q", got)
	}
	b.Refused("shell", args{"command": ":", "access": "all"})
}
