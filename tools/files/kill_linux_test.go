package files

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"agent/recovery"
	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools"
)

// actAndDie carries out a recorded write in a process of its own, which an armed fault point ends
// on the way.
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
	c := tools.Call{
		Place: journal.Place{Turn: 1, Attempt: n}, Run: "r-test", ID: "c-test", Folder: folder,
		Before: json.RawMessage(before), Args: json.RawMessage(args), Show: func([]byte) {},
	}
	acts := map[string]tools.Caller{"write_file": writeFile{}, "apply_patch": applyPatch{}}
	if _, err := acts[tool].Call(context.Background(), c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// die carries out a prepared call in a process that is killed at a fault point, and says whether it
// was.
func (b *bench) die(tool string, c tools.Call, point string) bool {
	b.T.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.T.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), exe, "__act", tool, strconv.Itoa(c.Attempt), b.Dir, string(c.Before), string(c.Args))
	cmd.Env = append(os.Environ(), fault.EnvPoint+"="+point, fault.EnvUnsafe+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(err.Error(), "killed") {
		b.T.Fatalf("%s: %v %s", point, err, out)
	}
	return err != nil
}

// A write that SIGKILL ends is looked at: not happened before the rename, happened after it, and
// done once in the end.
func TestKilledWrite(t *testing.T) {
	for point, want := range map[fault.Point]recovery.InspectionAnswer{
		fault.WriteTemp: recovery.InspectionNotHappened, fault.WriteRenamed: recovery.InspectionHappened,
	} {
		for _, before := range []string{"", "old"} {
			b := newBench(t)
			if before != "" {
				b.Write("d/a", before)
			}
			c, err := b.Prepare("write_file", b.Call("write_file", args{"path": "d/a", "content": "new"}))
			if err != nil {
				t.Fatal(err)
			}
			if !b.die("write_file", c, string(point)) {
				t.Fatalf("%s was not reached", point)
			}
			i := b.Tool("write_file").(tools.Inspector).Inspect(b.Context(), c)
			if i.Answer != want {
				t.Fatalf("%s over %q: %+v", point, before, i)
			}
			if want == recovery.InspectionHappened {
				if b.Read("d/a") != "new" || b.Names("d") != "a" {
					t.Errorf("%s: %q, %s", point, b.Read("d/a"), b.Names("d"))
				}
				continue
			}
			again := b.Call("write_file", args{"path": "d/a", "content": "new"})
			again.Attempt = 2
			if again, err = b.Prepare("write_file", again); err != nil {
				t.Fatal(err)
			}
			b.carryOut(again)
			if b.Read("d/a") != "new" || b.Names("d") != "a" {
				t.Errorf("%s: %q, %s", point, b.Read("d/a"), b.Names("d"))
			}
		}
	}
}
