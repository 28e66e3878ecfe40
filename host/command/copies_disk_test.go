//go:build linux

package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// left are the names on the disk, but for what fills it.
func (d *disk) left() (names []string) {
	d.t.Helper()
	list, err := os.ReadDir(d.path)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range list {
		if e.Name() != filepath.Base(d.filler()) {
			names = append(names, e.Name())
		}
	}
	return names
}

// leave fills the disk but for so many bytes.
func (d *disk) leave(free int64) {
	d.t.Helper()
	d.fill()
	info, err := os.Stat(d.filler())
	if err == nil {
		err = os.Truncate(d.filler(), info.Size()-free)
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// A disk that is full leaves no half copy: neither a backup nor a state folder of one, and neither
// a pack nor runs of it. Where there is room again, the same command makes it whole.
func TestDiskFullForACopy(t *testing.T) {
	w := newWorld(t)
	d := mountDisk(t, filepath.Join(t.TempDir(), "small"), 128)
	there := &world{t: t, home: d.path, dir: w.dir}
	w.write("book.md", "```sh\necho one >> effects\nhead -c 400000 /dev/urandom | base64\n```\n- confirm_action \"Go?\"\n\n```sh\necho two >> effects\n```\n")
	code, out := w.say("run", "--runbook", "--mode", "yolo", "-f", "book.md")
	w.expect(code, 3, out)
	file, small := filepath.Join(w.dir, "whole.backup"), filepath.Join(d.path, "small")
	code, out = w.say("backup", file)
	w.expect(code, 0, out)
	sizes := []int64{0, 8 << 10, 100 << 10, 300 << 10}
	for _, free := range sizes {
		for _, c := range []struct {
			of   *world
			args []string
		}{
			{w, []string{"backup", small}}, {w, []string{"export", "last", small}}, {w, []string{"export", "last", "--format", "html", small}},
			{there, []string{"restore", file, "--nothing-after"}},
		} {
			d.leave(free)
			code, out := c.of.say(c.args...)
			if code == 0 { // so little was enough
				for _, name := range d.left() {
					if err := os.RemoveAll(filepath.Join(d.path, name)); err != nil {
						t.Fatal(err)
					}
				}
			} else if names := d.left(); code != 1 || len(names) > 0 || !strings.Contains(out, "disk is full ("+d.path) && !strings.Contains(out, "no space left") {
				t.Errorf("with %d bytes left agent %s ends with %d, and leaves %v:\n%s", free, strings.Join(c.args, " "), code, names, out)
			}
			d.room()
		}
	}
	code, out = there.say("import", "--id")
	there.expect(code, 0, out)
	id := out[strings.Index(out, "agent-store-"):]
	id, _, _ = strings.Cut(id, "\n")
	pack := filepath.Join(d.path, "moved.pack")
	d.leave(0)
	code, out = w.say("export", "last", "--move", "--to", id, pack)
	w.expect(code, 1, out, "no space left", "the same command writes the pack again")
	d.room()
	code, out = w.say("export", "last", "--move", "--to", id, pack)
	w.expect(code, 0, out)
	for _, free := range sizes {
		if err := os.RemoveAll(there.state("ballast")); err != nil { // it would make room
			t.Fatal(err)
		}
		d.leave(free)
		code, out = there.say("import", pack)
		d.room()
		_, list := there.say("ls")
		if has := strings.Contains(list, "book.md") || strings.Contains(list, "confirm_action"); has != (code == 0) {
			t.Fatalf("with %d bytes left the import ends with %d, and then there are runs: %t\n%s%s", free, code, has, out, list)
		}
		if code == 0 {
			break
		}
	}
	code, out = there.say("import", pack)
	there.expect(code, 0, out)
	code, out = there.say("resume", "last")
	there.expect(code, 3, out)
	code, out = there.say("answer", "yes")
	there.expect(code, 0, out, "completed")
	if got := w.read("effects"); got != "one\ntwo\n" {
		t.Errorf("effects: %q", got)
	}
	code, out = there.say("doctor")
	there.expect(code, 0, out)
}
