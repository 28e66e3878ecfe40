package command_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Every command, and every process that runs or confines a call, is a start of this binary. What a
// package of ours prepares before main, such as a compiled expression, all of them pay for; it is
// prepared when it is first needed instead.
func TestStartPreparesNothing(t *testing.T) {
	const most = 8 << 10 // bytes of memory of one package
	cmd := exec.Command(filepath.Join(binDir(), "agent"), "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	packages := 0
	for line := range strings.Lines(trace.String()) {
		var name string
		var at, took float64
		var bytes int
		if _, err := fmt.Sscanf(line, "init %s @%f ms, %f ms clock, %d bytes", &name, &at, &took, &bytes); err != nil {
			continue
		}
		packages++
		if strings.HasPrefix(name, "agent/") && bytes > most {
			t.Errorf("the start of %s takes %d bytes, and may take %d", name, bytes, most)
		}
	}
	if packages == 0 {
		t.Fatalf("the runtime traced no start of a package:\n%s", &trace)
	}
}
