package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"agent/recovery"
	"agent/recovery/fault"
)

// actAndDie carries out a recorded write in a process of its own, which an armed fault point ends on the way.
func actAndDie(tool, attempt, folder, before, args string) int {
	if _, err := fault.Arm(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	n, err := strconv.Atoi(attempt)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	c := Call{
		Place: recovery.Place{Turn: 1, Attempt: n}, Run: "r-test", ID: "c-test", Folder: folder,
		Before: json.RawMessage(before), Args: json.RawMessage(args), Show: func([]byte) {},
	}
	acts := map[string]Caller{"write_file": writeFile{}, "apply_patch": applyPatch{}}
	if _, err := acts[tool].Call(context.Background(), c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// dieAt has a runner kill itself at the point that the file die-at beside its folder names.
func dieAt(folder string) func(fault.Point) {
	point, err := os.ReadFile(filepath.Join(folder, "die-at"))
	if err != nil {
		return nil
	}
	return func(at fault.Point) {
		if string(at) == string(point) {
			_ = unix.Kill(os.Getpid(), unix.SIGKILL)
			select {}
		}
	}
}

// die carries out a prepared call in a process that is killed at a fault point, and says whether it was.
func (b *bench) die(tool string, c Call, point string) bool {
	b.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	cmd := exec.CommandContext(b.context(), exe, "__act", tool, strconv.Itoa(c.Attempt), b.dir, string(c.Before), string(c.Args))
	cmd.Env = append(os.Environ(), fault.EnvPoint+"="+point, fault.EnvUnsafe+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(err.Error(), "killed") {
		b.t.Fatalf("%s: %v %s", point, err, out)
	}
	return err != nil
}

// A write that SIGKILL ends is looked at: not happened before the rename, happened after it, and done once in the end.
func TestKilledWrite(t *testing.T) {
	for point, want := range map[fault.Point]recovery.InspectionAnswer{
		fault.WriteTemp: recovery.InspectionNotHappened, fault.WriteRenamed: recovery.InspectionHappened,
	} {
		for _, before := range []string{"", "old"} {
			b := newBench(t)
			if before != "" {
				b.write("d/a", before)
			}
			c, err := b.prepare("write_file", b.call("write_file", args{"path": "d/a", "content": "new"}))
			if err != nil {
				t.Fatal(err)
			}
			if !b.die("write_file", c, string(point)) {
				t.Fatalf("%s was not reached", point)
			}
			i := b.tool("write_file").(Inspector).Inspect(b.context(), c)
			if i.Answer != want {
				t.Fatalf("%s over %q: %+v", point, before, i)
			}
			if want == recovery.InspectionHappened {
				if b.read("d/a") != "new" || b.names("d") != "a" {
					t.Errorf("%s: %q, %s", point, b.read("d/a"), b.names("d"))
				}
				continue
			}
			again := b.call("write_file", args{"path": "d/a", "content": "new"})
			again.Attempt = 2
			if again, err = b.prepare("write_file", again); err != nil {
				t.Fatal(err)
			}
			b.carryOut(again)
			if b.read("d/a") != "new" || b.names("d") != "a" {
				t.Errorf("%s: %q, %s", point, b.read("d/a"), b.names("d"))
			}
		}
	}
}
