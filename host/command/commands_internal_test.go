package command

import (
	"testing"
)

// The command that is made alone is the one that was typed.
func TestACommandIsMadeByItsName(t *testing.T) {
	all := newCommandLine(IO{})
	for i, c := range all.commandsByName() {
		if made := all.commands()[i].Name; made != c.name {
			t.Errorf("the command %q is listed as %q", made, c.name)
		}
		alone := newCommandLine(IO{})
		alone.args = []string{"agent", c.name, "--help"}
		if list := alone.commands(); c.name != "help" && (len(list) != 1 || list[0].Name != c.name) || c.name == "help" && len(list) != len(all.commands()) {
			t.Errorf("for %q %d commands are made", c.name, len(list))
		}
	}
	for _, args := range [][]string{nil, {"agent"}, {"agent", "--verbose", "ls"}, {"agent", "lss"}} {
		some := newCommandLine(IO{})
		if some.args = args; len(some.commands()) != len(all.commands()) {
			t.Errorf("for %q %d commands are made", args, len(some.commands()))
		}
	}
}
