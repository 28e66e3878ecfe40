package shell

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// lab is a folder of stubs, and nothing else that a script finds.
type lab struct{ bin, work string }

// newLab makes the stubs. Each writes the number of its words and the words, each with a NUL behind
// it, to descriptor 3, in one piece, and a line to standard error and output: the last of them may
// be a pipe that nobody reads any more.
func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{bin: filepath.Join(t.TempDir(), "bin"), work: t.TempDir()}
	if err := os.Mkdir(l.bin, 0o755); err != nil {
		t.Fatal(err)
	}
	dash := program(t, "dash")
	for _, name := range stubs() {
		status := "0"
		if name == "ff" {
			status = "1"
		}
		text := "#!" + dash + "\nprintf '%s\\0' \"$#\" \"${0##*/}\" \"$@\" >&3\necho \"err ${0##*/}\" >&2\necho \"out ${0##*/}\"\nexit " + status + "\n"
		if err := os.WriteFile(filepath.Join(l.bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"sh": dash, "dash": dash, "bash": program(t, "bash"), "env": program(t, "env"), "xargs": program(t, "xargs"), "nohup": program(t, "nohup")} {
		if err := os.Symlink(to, filepath.Join(l.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("the judge needs %s: install it", name)
	}
	return path
}

// shells are the shells that judge, by what they are given to read a text from an argument. The key
// is what the product calls a shell that this one may be.
func shells() map[string][][]string {
	all := map[string][][]string{"sh": {{"dash", "-c"}, {"bash", "--posix", "-c"}, {"bash", "-c"}}, "bash": {{"bash", "-c"}}}
	if _, err := exec.LookPath("zsh"); err == nil {
		all["print"] = [][]string{{"zsh", "--emulate", "sh", "-f", "-c"}} // as it is where it is called sh
	}
	return all
}

// outcome is what a shell made of a text: the words of each stub that ran, in order, and the lines
// of both outputs, in order of their letters, since the parts of a pipeline write at the same time.
type outcome struct {
	ran         [][]string
	out, errors []string
}

// run has a shell carry out a text, and returns once nothing of it runs any more. It is cut off
// after a time that no script needs.
func (l *lab) run(t *testing.T, shell []string, text string) (o outcome) {
	t.Helper()
	if strings.Contains(text, "\x00") {
		return outcome{} // no program can be given it
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	work, err := os.MkdirTemp(l.work, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.RemoveAll(work); err != nil {
			t.Error(err)
		}
	}()
	path, err := exec.LookPath(shell[0])
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, path, append(slices.Clone(shell[1:]), text)...)
	cmd.Dir, cmd.Env = work, []string{"PATH=" + l.bin, "HOME=" + work, "x=xx"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	var out, complaints bytes.Buffer
	cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = []*os.File{w}, &out, &complaints
	if err := cmd.Start(); err != nil {
		t.Fatal(errors.Join(err, r.Close(), w.Close()))
	}
	_ = w.Close() // the shell and what it starts have their own copies
	var said bytes.Buffer
	_, err = said.ReadFrom(r) // until the last of them is gone
	_ = cmd.Wait()            // how it ended is no news
	_ = r.Close()             // it was read to its end
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Split(said.String(), "\x00")
	for len(words) > 2 {
		n, err := strconv.Atoi(words[0])
		if err != nil || n+2 > len(words) {
			t.Fatalf("%q: the stubs said %q", text, said.String())
		}
		o.ran, words = append(o.ran, words[1:n+2]), words[n+2:]
	}
	o.out, o.errors = slices.Sorted(strings.Lines(out.String())), slices.Sorted(strings.Lines(complaints.String()))
	return o
}
