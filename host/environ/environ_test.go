package environ_test

import (
	"slices"
	"strings"
	"testing"

	"agent/host/environ"
)

func secret(name, value string) bool {
	return strings.Contains(name, "TOKEN") || strings.HasPrefix(value, "ghp_")
}

// Commands get the person's environment, but for secrets, what is about the shell, and what would
// have another program run. // issue 17, part 4
func TestChoose(t *testing.T) {
	there := []string{
		"PATH=/a", "TERM=xterm", "MY_TOKEN=x", "OTHER=ghp_1", "HOME=/home/ada", "GOPATH=/go", "PATH=/b", "no equals sign", "=odd",
		"PWD=/x", "EDITOR=code --wait", "_=/bin/agent", "BASH_ENV=/x", "BASH_FUNC_go%%=() { :; }", "GIT_DIR=/other/.git", "GIT_AUTHOR_NAME=Ada", "AGENT_HOME=/s",
		"SSH_AUTH_SOCK=/run/s", "A_TOKEN=y", "EMPTY=",
	}
	for _, tt := range []struct {
		rules        environ.Rules
		want, hidden string
	}{
		{environ.Rules{}, "EMPTY GIT_AUTHOR_NAME GOPATH HOME PATH SSH_AUTH_SOCK TERM", "A_TOKEN MY_TOKEN OTHER"},
		{environ.Rules{Pass: []string{"MY_*", "OTHER"}}, "EMPTY GIT_AUTHOR_NAME GOPATH HOME MY_TOKEN OTHER PATH SSH_AUTH_SOCK TERM", "A_TOKEN"},
		{environ.Rules{Pass: []string{"*"}, Deny: []string{"GO*", "*_TOKEN"}}, "EMPTY GIT_AUTHOR_NAME HOME OTHER PATH SSH_AUTH_SOCK TERM", ""},
		{environ.Rules{Set: map[string]string{"CI": "1", "A_TOKEN": "z"}, Deny: []string{"CI"}},
			"A_TOKEN CI EMPTY GIT_AUTHOR_NAME GOPATH HOME PATH SSH_AUTH_SOCK TERM", "MY_TOKEN OTHER"},
	} {
		got := environ.Choose(there, tt.rules, secret)
		if names := strings.Join(environ.Names(got.Variables), " "); names != tt.want || strings.Join(got.Hidden, " ") != tt.hidden {
			t.Errorf("%+v: commands get %s, and not %q", tt.rules, names, got.Hidden)
		}
		if !slices.Contains(got.Variables, "PATH=/b") {
			t.Errorf("the last value counts: %q", got.Variables)
		}
	}
}

// What is recorded are the variables that commands get, less those of a login session: these come
// from whoever drives the run.
func TestRecordedEnvironment(t *testing.T) {
	recorded := environ.Recorded([]string{"DISPLAY=:0", "HOME=/home/ada", "LC_ALL=C", "PATH=/b", "TERM=xterm"})
	if want := []string{"HOME=/home/ada", "LC_ALL=C", "PATH=/b"}; !slices.Equal(recorded, want) {
		t.Errorf("%q is recorded, want %q", recorded, want)
	}
	here := []string{"LANG=C", "PATH=/c", "SSH_AUTH_SOCK=/run/s", "TERM=dumb"}
	if got, want := environ.Restored(recorded, here), []string{"HOME=/home/ada", "LC_ALL=C", "PATH=/b", "SSH_AUTH_SOCK=/run/s", "TERM=dumb"}; !slices.Equal(got, want) {
		t.Errorf("commands get %q, want %q", got, want)
	}
	if got := environ.Restored([]string{"PATH=/a", "TERM=xterm"}, nil); !slices.Equal(got, []string{"PATH=/a"}) {
		t.Errorf("without a session commands get %q", got)
	}
	if got := environ.Recorded(nil); len(got) != 0 {
		t.Errorf("%q", got)
	}
}
