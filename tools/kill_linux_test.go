package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"agent/recovery"
	"agent/recovery/fault"
)

// writeAndDie carries out a recorded write in a process of its own, which an armed fault point ends on the way.
func writeAndDie(folder, before, args string) int {
	if _, err := fault.Arm(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	c := Call{
		Place: recovery.Place{Turn: 1, Attempt: 1}, Run: "r-test", ID: "c-test", Folder: folder,
		Before: json.RawMessage(before), Args: json.RawMessage(args), Show: func([]byte) {},
	}
	if _, err := (writeFile{}).Call(context.Background(), c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// A write that SIGKILL ends is looked at: not happened before the rename, happened after it, and done once in the end.
func TestKilledWrite(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
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
			cmd := exec.CommandContext(b.context(), exe, "__write", b.dir, string(c.Before), string(c.Args))
			cmd.Env = append(os.Environ(), fault.EnvPoint+"="+string(point), fault.EnvUnsafe+"=1")
			if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("%s: %v %s", point, err, out)
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
