package hooklines_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/tools/gitrepo/gitconfig"
	"agent/tools/gitrepo/hooklines"
)

// What was added is found and cut to the byte, whatever the program's path is.
func TestSectionIsCutToTheByte(t *testing.T) {
	for _, exe := range []string{"/usr/bin/agent", "/home/it's/a b", `/a"b\c/$x;#y`, "/ü/agent"} {
		section := hooklines.Section(exe)
		list, err := gitconfig.Parse([]byte(section), "")
		if err != nil || len(list) != 4 || list[0].Value != hooklines.Hooks()[0].Line(exe) {
			t.Fatalf("%s: %v %+v", exe, err, list)
		}
		for i, p := range hooklines.Pairs(exe) {
			if list[i].Key() != p.Key || list[i].Value != p.Value {
				t.Errorf("%s: %+v, %+v", exe, list[i], p)
			}
		}
		for _, before := range []string{"", "[core]\n\tbare = false\n", "# x\n"} {
			for _, after := range []string{"", "[a]\nb=c\n", "[a]"} {
				whole := before + section + after
				if rest, ok := hooklines.Cut(whole, exe); !ok || rest != before+after || hooklines.Installed(whole) != exe {
					t.Errorf("%q: %q, %v, %q", whole, rest, ok, hooklines.Installed(whole))
				}
			}
		}
		if rest, ok := hooklines.Cut("# "+section, exe); ok {
			t.Errorf("cut out of a comment: %q", rest)
		}
		for _, more := range []string{"\tjobs = 2\n", "# x\n\n  event = pre-commit\n"} {
			if rest, ok := hooklines.Cut(section+more, exe); ok || hooklines.Installed(section+more) != "" {
				t.Errorf("cut before what belongs to it: %q", rest)
			}
		}
		for _, h := range hooklines.Hooks() {
			if is := h.InScript(h.Script(exe)); is != exe || h.InScript(h.Script(exe)+"x\n") != "" {
				t.Errorf("%s: %q", exe, is)
			}
		}
	}
}

// In every shell, and in whatever script it stands, a line prints nothing, ends well, lets the
// script go on, and hands the arguments over as they are.
func TestLineInShells(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "it's a $HOME")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	exe := filepath.Join(dir, "agent")
	shells := 0
	for _, words := range [][]string{{"sh"}, {"dash"}, {"bash"}, {"bash", "--posix"}, {"busybox", "sh"}, {"zsh"}, {"ksh"}} {
		if _, err := exec.LookPath(words[0]); err != nil {
			continue
		}
		shells++
		for _, program := range []string{"", "echo err >&2; exit 3", "kill -9 $$"} {
			if err := os.Remove(exe); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			if program != "" {
				text := "#!/bin/sh\nprintf '<%s>' \"$@\" > \"$0.args\"\n" + program + "\n"
				if err := os.WriteFile(exe, []byte(text), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			lineInShell(t, words, exe, program)
		}
	}
	if shells == 0 {
		t.Skip("there is no shell")
	}
}

func lineInShell(t *testing.T, words []string, exe, program string) {
	t.Helper()
	for _, h := range hooklines.Hooks() {
		for _, editor := range []string{"GIT_EDITOR=:", "GIT_EDITOR=vi -n", "X="} {
			for _, args := range [][]string{nil, {"a b\n*", ""}} {
				for script, out := range map[string]string{h.Line(exe) + ` "$@"`: "", "set -eu\n" + h.Line(exe) + "\necho behind": "behind\n"} {
					_ = os.Remove(exe + ".args")
					cmd := exec.Command(words[0], append(append(slices.Clone(words[1:]), "-c", script, "hook"), args...)...)
					cmd.Env = []string{"PATH=" + os.Getenv("PATH"), editor}
					text, err := cmd.CombinedOutput()
					is, _ := os.ReadFile(exe + ".args") // "" where it was not started
					want := "<__git><" + h.Verb + ">"
					if args != nil {
						want += "<a b\n*><>"
					}
					if program == "" || editor == "GIT_EDITOR=:" && h.Verb == "strip" {
						want = ""
					}
					// What a shell says of a program that was killed is no concern of the line.
					if err != nil || string(text) != out && !strings.Contains(program, "kill") || string(is) != want {
						t.Errorf("%v %q, %q, %q: %v %q, the program got %q", words, program, editor, script, err, text, is)
					}
				}
			}
		}
	}
}

// The trailer is taken away as git added it, and nothing else is.
func TestWithout(t *testing.T) {
	const line = "Agent-Checkpoint: k-6b0d81kq7xw2\n"
	for message, want := range map[string]string{
		"one\n\n" + line:                              "one\n",
		"one\n\nbody\n\n" + line:                      "one\n\nbody\n",
		"one\n\nSigned-off-by: a\n" + line:            "one\n\nSigned-off-by: a\n",
		"one\n\n" + line + "Signed-off-by: a\n":       "",
		"one\n\n" + strings.TrimSuffix(line, "\n"):    "",
		"one\n\n" + line + "\n":                       "",
		"one\n\nAgent-Checkpoint: k-6b0d81kq7xwu\n":   "",
		"one\n\nAgent-Checkpoint: k-6b0d81kq7xw\n":    "",
		"one\n\nagent-checkpoint: k-6b0d81kq7xw2\n":   "",
		"one\n\n Agent-Checkpoint: k-6b0d81kq7xw2\n":  "",
		"one\n\nAgent-Checkpoint: k-6b0d81kq7xw2 x\n": "",
		line: "",
	} {
		if want == "" {
			want = message
		}
		if is := hooklines.Without(message); is != want {
			t.Errorf("%q: %q", message, is)
		}
	}
}

// The settings come behind those that an environment has already.
func TestJoin(t *testing.T) {
	is := hooklines.Join([]string{"A=b", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_VALUE_0=c"}, "/agent")
	for _, want := range []string{"A=b", "GIT_CONFIG_KEY_0=a.b", "GIT_CONFIG_KEY_1=hook.agent-prepare.command", "GIT_CONFIG_VALUE_4=commit-msg", "GIT_CONFIG_COUNT=5"} {
		if !slices.Contains(is, want) {
			t.Errorf("%s is not in %q", want, is)
		}
	}
	if is := hooklines.Join([]string{"GIT_CONFIG_COUNT=x"}, "/agent"); len(is) != 1 {
		t.Errorf("%q", is)
	}
}
