package command_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"agent/host/model/modeltest"
)

// Issue 3, behaviour 3: reads run side by side, side effects one after the other in the model's
// order, and the results go back in the model's order.
func TestModelParallelCalls(t *testing.T) {
	eachSpeaker(t, func(t *testing.T, p speaker) {
		search := func(folder, word string) modeltest.Call {
			return call("search", fmt.Sprintf(`{"pattern":"%s","path":"%s"}`, word, folder))
		}
		k := newTalk(t, p, modeltest.Script{Turns: []modeltest.Turn{
			{Calls: []modeltest.Call{
				search("hay1", "alpha"), search("hay2", "beta"), effect("one"), call("read_file", `{"path":"effects"}`), effect("two"), call("list_dir", `{"path":"."}`),
			}},
			{Text: "Done."},
		}})
		saw := watchReads(t, filepath.Join(k.dir, "hay1"), filepath.Join(k.dir, "hay2"), func(folder string) {
			for i := range 300 {
				k.write(filepath.Join(filepath.Base(folder), fmt.Sprint(i)), strings.Repeat("alp bet\n", 1000))
			}
			k.write(filepath.Join(filepath.Base(folder), "needles"), "alpha\nbeta\n")
		})
		k.runs("go").end(0)
		k.clean()
		if seen := saw(); !strings.Contains(seen, "1") || !strings.Contains(strings.TrimLeft(seen, "1"), "21") && !strings.Contains(strings.TrimLeft(seen, "2"), "12") {
			t.Errorf("the two searches opened files one after the other: %s", seen)
		}
		if got := k.read("effects"); got != "one\ntwo\n" {
			t.Errorf("effects: %q", got)
		}
		pairs := pairsOf(t, p.protocol, k.server.Exchanges()[1].Body)
		for i, want := range []string{"alpha", "beta", "", "one", "", "effects"} {
			if i >= len(pairs) || !strings.Contains(pairs[i].result, want) || i == 3 && strings.Contains(pairs[i].result, "two") {
				t.Errorf("result %d of %+v lacks %q", i+1, pairs, want)
			}
		}
	})
}

// watchReads fills two folders and watches which of their files are opened. What it returns says so
// in order: 1 for a file of the first, 2 for one of the second.
func watchReads(t *testing.T, first, second string, fill func(folder string)) (saw func() string) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Close(fd); err != nil {
			t.Error(err)
		}
	})
	names := map[uint32]string{}
	for i, dir := range []string{first, second} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		fill(dir)
		w, err := unix.InotifyAddWatch(fd, dir, unix.IN_OPEN)
		if err != nil {
			t.Fatal(err)
		}
		names[uint32(w)] = string(rune('1' + i))
	}
	return func() string {
		t.Helper()
		var said strings.Builder
		buf := make([]byte, 64<<10)
		for {
			n, err := unix.Read(fd, buf)
			if err == unix.EAGAIN {
				return said.String()
			}
			if err != nil {
				t.Fatal(err)
			}
			// An event is: watch, mask, cookie and the length of the name, 4 bytes each, and the
			// name (inotify(7)).
			for b := buf[:n]; len(b) >= unix.SizeofInotifyEvent; {
				watch, mask := binary.NativeEndian.Uint32(b), binary.NativeEndian.Uint32(b[4:])
				if mask&unix.IN_ISDIR == 0 {
					said.WriteString(names[watch])
				}
				b = b[unix.SizeofInotifyEvent+binary.NativeEndian.Uint32(b[12:]):]
			}
		}
	}
}
