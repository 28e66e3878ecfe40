package lab

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A program with a clock of its own is built with this beside the package time of Go: it reads from
// a file how far its clock is ahead, in seconds. What measures stays as it is.
const clockFile = `package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

var clockAhead = clockMap()

func clockMap() *int64 {
	path, _ := syscall.Getenv("` + clockVariable + `")
	fd, err := syscall.Open(path, syscall.O_RDONLY, 0)
	if err != nil {
		return new(int64)
	}
	b, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return new(int64)
	}
	return (*int64)(unsafe.Pointer(&b[0]))
}

func clockNow() (int64, int32, int64) {
	sec, nsec, mono := runtimeNow()
	return sec + atomic.LoadInt64(clockAhead), nsec, mono
}
`

const clockVariable = "FLEETLAB_CLOCK"

// OwnClocks has each host's worker have a clock of its own; see [Host.SetClock].
func (l *Lab) OwnClocks() {
	l.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		l.Fatal(err)
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	text, err := os.ReadFile(filepath.Join(source, "time.go"))
	if err != nil {
		l.Fatal(err)
	}
	const now = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()"
	own := strings.Replace(string(text), now, strings.Replace(now, "runtimeNow", "clockNow", 1), 1)
	if own == string(text) {
		l.Fatal("the package time of this Go has another Now")
	}
	l.write("time.go", own)
	l.write("clock.go", clockFile)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(source, "time.go"): l.path("time.go"), filepath.Join(source, "clock.go"): l.path("clock.go"),
	}})
	if err != nil {
		l.Fatal(err)
	}
	l.write("overlay.json", string(overlay))
	module, err := filepath.Abs("..")
	if err != nil {
		l.Fatal(err)
	}
	path := l.path("agent-fleet")
	if err := build(module, path, "./cmd/agent-fleet", "-overlay="+l.path("overlay.json")); err != nil {
		l.Fatal(err)
	}
	l.Fleet = path
}

// clock is the file that the host's clock is read from.
func (h *Host) clock() string { return h.Lab.path("clock-" + h.Name) }

// SetClock sets the clock of the host's worker ahead of what it is, or behind.
func (h *Host) SetClock(ahead time.Duration) {
	h.Lab.Helper()
	f, err := os.OpenFile(h.clock(), os.O_CREATE|os.O_WRONLY, 0o600) // it is mapped: it keeps its length
	if err != nil {
		h.Lab.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(ahead/time.Second)), 0); err != nil {
		h.Lab.Fatal(err)
	}
}
