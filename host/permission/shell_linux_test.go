package permission_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"agent/host/permission"
	"agent/recovery/journal"
)

// tokens are what scripts are made of, so that most of what is tried means something to a shell.
func tokens() []string {
	return []string{
		"aa", "bb x", "cc", "rm", " ", "\n", ";", "&&", "||", "|", "&", "(", ")", "{ ", "; }", "$(", "`", "'", "\"", "\\", "#", "<<E\n", "\nE\n", "<<'E'\n", "<<-E\n", "\t", "if ", "; then ", "; fi", "else ",
		"for i in ", "; do ", "; done", "case x in x) ", ";;", " esac", "$'", "$\"", "${", "}", "$x", "<(", ">/dev/null", "2>&1", "<&0", "<<<", "! ", "*", "~", "[", "]", "=", "x", "-a", "aa\\\n", "\\\n", "((", "))", "$((", "[[ ", " ]]",
		",", "{a,b}", "time ", "coproc ", "function ", "()", "|&", "&>/dev/null", ";&", "E", "%", "@(", "!", "^", "\"$(", ")\"", "'\\''", "é",
	}
}

// covering are the rules of FuzzShell: aa with any words, bb x and cc alone.
func covering(words []string) bool {
	return len(words) > 0 && words[0] == "aa" || slices.Equal(words, []string{"bb", "x"}) || slices.Equal(words, []string{"cc"})
}

// traced says whether a name in dash's trace is made of commands that the rules of FuzzShell know.
// The parts of a pipe write at the same time, word by word, so the names of several may run into
// each other.
func traced(name string) bool {
	return name != "" && strings.NewReplacer("aa", "", "bb", "", "cc", "", "+", "", "'", "", `"`, "").Replace(name) == ""
}

// harmless leaves out of what a shell is given what could do more than name a command that there is
// not, or take long.
func harmless(script string) bool {
	left := strings.ReplaceAll(script, "/dev/null", "")
	for _, s := range []string{"/", "..", "+", "while", "until", "\x00"} {
		if strings.Contains(left, s) {
			return false
		}
	}
	return len(script) < 2000
}

// bashLog makes bash call a command for each name that it does not find, which is every name: its
// own commands are taken from it.
const bashLog = `command_not_found_handle() { /usr/bin/printf '%s\0' "$#" "$@" >&3; }
for b in $(compgen -b); do [[ $b = enable ]] || enable -n "$b"; done; enable -n enable
`

// shellRun runs what a shell says of a script: bash tells each command that it would run with its
// words, dash the name of each.
func shellRun(t *testing.T, shell, script string) (commands [][]string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "dash", "-x", "-c", script)
	if shell == "bash" {
		cmd = exec.CommandContext(ctx, "bash", "--norc", "--noprofile", "-c", bashLog+script)
	}
	cmd.Dir, cmd.Env, cmd.WaitDelay = "/", []string{"PATH=/nonexistent", "HOME=/nonexistent"}, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var said bytes.Buffer
	cmd.Stderr = &said
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{w}
	logged := make(chan []byte, 1)
	go func() {
		var b bytes.Buffer
		_, _ = b.ReadFrom(r) // what was logged until then counts
		logged <- b.Bytes()
	}()
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("%s: %v", shell, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	// What the script left in the background ends here: it waits for nothing but a pipe of this
	// test.
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	words := strings.Split(string(<-logged), "\x00")
	_ = r.Close() // it was read to its end
	for shell == "bash" && len(words) > 1 {
		n, err := strconv.Atoi(words[0])
		if err != nil || n+1 > len(words) {
			break
		}
		commands, words = append(commands, words[1:n+1]), words[n+1:]
	}
	for line := range strings.Lines(said.String()) {
		// The parts of a pipe write their lines at the same time, and the mark of one may stand
		// before the complaint of another.
		name := strings.Fields(strings.TrimLeft(line, "+ "))
		if shell == "sh" && strings.HasPrefix(line, "+ ") && len(name) > 0 && name[0] != "dash:" {
			commands = append(commands, name[:1])
		}
	}
	return commands
}

// FuzzShell: of a script that rules allow, the shells themselves run nothing that no rule covers.
func FuzzShell(f *testing.F) {
	for _, shell := range []string{"bash", "dash"} {
		if _, err := exec.LookPath(shell); err != nil {
			f.Skipf("%s is not installed", shell)
		}
	}
	for _, script := range []string{
		"aa", "aa x 'y z' | bb x; cc", "(aa; cc) && bb x\n", "if aa; then cc; fi", "for i in a b; do aa $i; done", "case x in x) aa;; *) cc;; esac", "aa <<'E'\n$(rm)\nE\ncc", "aa <<E\nrm\nE\n", "! aa & cc", "{ aa; cc; } >/dev/null 2>&1",
		"aa '$(rm)' \\$x \"a\\`\"", "aa # rm\ncc", "aa \\\nrm", "aa $'a\\'; rm'", "aa {a,b} ~ [x]* $x", "a\\a 'c''c'", "aa <<-E\n\tx\n\tE\ncc", "aa=b; rm", "rm", "aa $(rm)", "aa \"`rm`\"", "aa é", "aa <<< x",
	} {
		f.Add(script, []byte{})
	}
	f.Add("", []byte{0, 4, 21, 62, 22, 2})
	f.Add("aa ", []byte{36, 19, 17, 6, 3})
	p := permission.New(allow("aa *", "bb x", "cc")...)
	tokens := tokens()
	f.Fuzz(func(t *testing.T, script string, made []byte) {
		for _, b := range made {
			script += tokens[int(b)%len(tokens)]
		}
		if !harmless(script) {
			return
		}
		for _, shell := range []string{"sh", "bash"} {
			if d, _ := decided(p, bounded(journal.ModeAsk, script, shell)); d != journal.DecisionAllow {
				continue
			}
			for _, words := range shellRun(t, shell, script) {
				if ok := covering(words); !ok && (shell == "bash" || !traced(words[0])) {
					t.Errorf("%q is allowed for %s, and runs %q", script, shell, words)
				}
			}
		}
	})
}

// The shells do tell, so that FuzzShell proves something.
func TestShellsTell(t *testing.T) {
	for shell, program := range map[string]string{"bash": "bash", "sh": "dash"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
		var names []string
		for _, words := range shellRun(t, shell, "aa 'x y'; r\\m; (echo a; 'cc'); eval rm") {
			names = append(names, words[0])
		}
		slices.Sort(names)
		if want := []string{"aa", "cc", "echo", "eval", "rm"}; !slices.Equal(slices.Compact(names), want) {
			t.Errorf("%s runs %q, want %q", shell, names, want)
		}
	}
}
