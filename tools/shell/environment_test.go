package shell

import (
	"slices"
	"testing"
)

// What is recorded of an environment are the variables that commands get, less those of a login
// session: these come from whoever drives the run.
func TestRecordedEnvironment(t *testing.T) {
	there := []string{"PATH=/a", "TERM=xterm", "SECRET_TOKEN=x", "HOME=/home/ada", "LC_ALL=C", "DISPLAY=:0", "PATH=/b"}
	recorded := Recorded(there)
	if want := []string{"HOME=/home/ada", "LC_ALL=C", "PATH=/b"}; !slices.Equal(recorded, want) {
		t.Errorf("%q is recorded, want %q", recorded, want)
	}
	here := []string{"TERM=dumb", "PATH=/c", "LANG=C", "SSH_AUTH_SOCK=/run/s"}
	if got, want := Restored(recorded, here), []string{"HOME=/home/ada", "LC_ALL=C", "PATH=/b", "TERM=dumb"}; !slices.Equal(got, want) {
		t.Errorf("commands get %q, want %q", got, want)
	}
	if got := Restored([]string{"PATH=/a", "TERM=xterm", "SECRET_TOKEN=x"}, nil); !slices.Equal(got, []string{"PATH=/a"}) {
		t.Errorf("without a session commands get %q", got)
	}
	if got := Recorded(nil); got == nil {
		t.Error("an empty environment is recorded too")
	}
}
