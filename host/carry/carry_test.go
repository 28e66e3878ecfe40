package carry

import (
	"testing"

	"agent/host"
	"agent/host/app"
)

// The lock of a process that has just ended is none of another process: it is let go in a moment.
func TestOther(t *testing.T) {
	h := &host.Host{}
	h.Home, h.Self.PID = t.TempDir(), 4711
	c := Carrier{Folder: &app.Folder{Host: h}}
	if got := c.other("r-1", 7); got != nil {
		t.Errorf("nobody drives it: %v", got)
	}
	lock, err := h.Locks().Take("r-1")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if got := c.other("r-1", 4711); got != nil {
		t.Errorf("it has ended: %v", got)
	}
	if got := c.other("r-1", 7); got == nil || got.Run != "r-1" || got.Holder.PID != 4711 {
		t.Errorf("another process drives it: %v", got)
	}
}
