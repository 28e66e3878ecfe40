package config_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agent/host/config"
)

// A hook is read with what calls it, as one word or a list, and with the time that it may take.
func TestHooks(t *testing.T) {
	t.Setenv("HOME", "/home/ada")
	user, workspace := files(t, `notify = "bell"
[[hook]]
on = ["waiting", "ended", "waiting"]
command = ["notify-send", "agent"]

[[hook]]
on = "left_alone"
command = ["~/bin/page", "--now"]
timeout = "20s"
`, "")
	got, err := config.Load(user, workspace, known)
	if err != nil {
		t.Fatal(err)
	}
	want := []config.Hook{
		{On: []string{"ended", "waiting"}, Command: []string{"notify-send", "agent"}, Timeout: 10 * time.Second, Where: user + ":2"},
		{On: []string{"left_alone"}, Command: []string{"/home/ada/bin/page", "--now"}, Timeout: 20 * time.Second, Where: user + ":6"},
	}
	if diff := cmp.Diff(want, got.Hooks); diff != "" || got.Notify != config.NotifyBell {
		t.Error(got.Notify, diff)
	}
}

// What is wrong with a hook is named with its place, and what is right instead. The arguments of a
// command may hold what is secret, and are not shown.
func TestHookErrors(t *testing.T) {
	const command = "command = [\"true\"]\n"
	for text, want := range map[string]string{
		"[[hook]]\n" + command:                                                 "1:3: on wants a word in quotes or a list of them, such as [\"waiting\", \"ended\"]; there are waiting, ended, left_alone and before_call",
		"[[hook]]\non = []\n" + command:                                        "2:1: on wants a word in quotes",
		"[[hook]]\non = 1\n" + command:                                         "2:1: on wants a word in quotes",
		"[[hook]]\non = \"started\"\n" + command:                               `2:1: there is no on = "started"; choose waiting, ended, left_alone or before_call`,
		"[[hook]]\non = [\"ended\", 3]\n" + command:                            `2:1: there is no on = "3"; choose waiting, ended, left_alone or before_call`,
		"[[hook]]\non = \"ended\"\n":                                           "1:3: command names no command; it wants a command as a list, such as [\"notify-send\", \"agent\"]",
		"[[hook]]\non = \"ended\"\ncommand = []\n":                             "3:1: command names no command",
		"[[hook]]\non = \"ended\"\ncommand = \"a b\"\n":                        "hook.command wants a command as a list",
		"[[hook]]\non = \"ended\"\ncommand = [\"./hook\", \"geheim\"]\n":       `3:1: command: "./hook" is no name in PATH, and no path that begins with / or ~/`,
		"[[hook]]\non = \"ended\"\n" + command + "timeout = \"2m\"\n":          `4:1: timeout: "2m" is no time of at most 1m0s, such as 10s`,
		"[[hook]]\non = \"ended\"\n" + command + "timeout = \"0s\"\n":          "4:1: timeout",
		"[[hook]]\non = \"ended\"\n" + command + "when = \"now\"\n":            "4:1: there is no hook.when; what may stand here: on, tools, command, timeout",
		"[[hook]]\non = \"ended\"\ntools = [\"shell\"]\n" + command:            `3:1: tools: it is called for no call: on has no "before_call"`,
		"[[hook]]\non = \"before_call\"\ntools = []\n" + command:               "3:1: tools names no tool: leave it out to be called for all of them",
		"[[hook]]\non = \"before_call\"\ntools = [\"shel\"]\n" + command:       `3:1: tools: tool: there is no tool "shel"; there are `,
		"[[hook]]\non = \"before_call\"\ntools = [\"ask_user\"]\n" + command:   `3:1: tools: tool: ask_user is a question to a person`,
		"[[hook]]\non = \"before_call\"\ntools = \"shell\"\n" + command:        `hook.tools wants names of tools as a list, such as ["shell", "write_file"]`,
		"[hook]\non = \"ended\"\n" + command:                                   "hook",
		"notify = \"loud\"\n":                                                  `1:1: there is no notify "loud"; choose off, bell, osc9 or both`,
		"[[hook]]\non = \"ended\"\n" + command + "[[hook]]\non = \"wating\"\n": "5:1: there is no on = \"wating\"",
	} {
		user, _ := files(t, text, "")
		_, err := config.Load(user, "", known)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v\nwant %s", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "geheim") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A workspace comes with its repository: it starts nothing outside of every sandbox.
func TestWorkspaceHasNoHooks(t *testing.T) {
	for _, text := range []string{"[[hook]]\non = \"ended\"\ncommand = [\"evil\"]\n", "hook = [{on = \"ended\", command = [\"evil\"]}]\n", "notify = \"both\"\n"} {
		user, workspace := files(t, "", text)
		_, err := config.Load(user, workspace, known)
		if err == nil || !strings.Contains(err.Error(), "may not stand in the file of a workspace") || !strings.Contains(err.Error(), "write it into "+user) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
