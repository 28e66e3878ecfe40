package load

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// parent is the argument that makes this binary start two busy loops and wait for ever.
const parent = "-parent-of-loops"

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == Argument:
		Spin()
	case len(os.Args) == 2 && os.Args[1] == parent:
		if _, err := Start(os.Args[0], 2); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("started")
		select {}
	}
	os.Exit(m.Run())
}

func program(t *testing.T) string {
	t.Helper()
	name, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func TestLoad(t *testing.T) {
	l, err := Start(program(t), 2)
	if err != nil {
		t.Fatal(err)
	}
	used, err := l.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if used <= 0 {
		t.Errorf("two busy loops used %v", used)
	}
}

// A loop that ended on the way is seen: what passed beside the others passed beside too little.
func TestALoopThatEnded(t *testing.T) {
	l, err := Start(program(t), 2)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.loops[1].command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-l.loops[1].ended

	_, err = l.Stop()
	if err == nil || !strings.Contains(err.Error(), "1 of 2 busy loops were alive at the end") {
		t.Errorf("stop: %v", err)
	}
}

func TestNoLoadGenerator(t *testing.T) {
	silent, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ program, want string }{
		{filepath.Join(t.TempDir(), "missing"), "no such file"},
		{silent, "it ended before it counted"},
	} {
		_, err := Start(c.program, 2)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "start the load generator: ") {
			t.Errorf("%s: %v", c.program, err)
		}
	}
}

// The loops end with their parent even if it is killed: the pipe that all of them have as standard
// error is at its end when the last one is no more.
func TestLoadEndsWithItsParent(t *testing.T) {
	held, shared, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	c := exec.Command(program(t), parent)
	c.Stderr = shared
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	err = c.Start()
	shared.Close()
	if err != nil {
		t.Fatal(err)
	}

	line := make([]byte, len("started"))
	if _, err := io.ReadFull(out, line); err != nil || string(line) != "started" {
		t.Errorf("the parent printed %q: %v", line, err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = c.Wait() // it was killed

	if text, err := io.ReadAll(held); err != nil || len(text) > 0 {
		t.Errorf("standard error of the loops: %q, %v", text, err)
	}
}
