package drive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"agent/db"
	"agent/host/drive/disknote"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
)

// errDiskFull is why nothing new is started after a commit that only the ballast made room for.
var errDiskFull = errors.New("the disk is full")

// pendingStart is an effect that waits for the commit that records its start.
type pendingStart struct {
	place journal.Place // of the call
	fresh bool          // it is started, not only watched again
	begin func()
}

// abortStart drops an effect that waited. Its start is recorded, and what a runner prepared for it
// is left as it is and let go of: the proof for the next owner that it never began. Of a call that
// leaves no such proof it is recorded here, while it is known.
func (cl *caller) abortStart(p journal.Place, why error) {
	index := p.Index
	if cancel := cl.flying[index]; cancel != nil {
		cancel()
	}
	delete(cl.flying, index)
	if c, ok := cl.handles[index].handle.(io.Closer); ok {
		if err := c.Close(); err != nil {
			cl.p.Warn(cl.state.Created.Run, "%v", err)
		}
	}
	delete(cl.handles, index)
	c, err := cl.state.Call(p)
	if err != nil || c.Phase != journal.PhaseStarted {
		return // it was settled by another word meanwhile
	}
	if t, _ := cl.env.Tools.Get(c.Tool); !outlives(t) && c.Effect != journal.EffectRead && !untouched(t, journal.Result{Applied: journal.AppliedNo}) {
		cl.settleOne(ended{place: p, err: fmt.Errorf("%s was not started: %w", c.Tool, why), result: journal.Result{Applied: journal.AppliedNo}})
	}
}

// stopOnFullDisk leaves the run, once everything that was under way has come home.
func (d *driver) stopOnFullDisk(ctx context.Context) error {
	remedy := "make room on the disk of"
	if err := disknote.Add(d.p.Home, d.calls.full); err != nil {
		d.p.Warn(d.state.Created.Run, "%v", err)
	}
	switch {
	case errors.Is(d.calls.full, syscall.EIO):
		remedy = "see to the disk of"
	case errors.Is(d.calls.full, syscall.EROFS):
		remedy = "make it writable:"
	}
	why := fmt.Sprintf("%v; nothing new is started: %s %s", d.calls.full, remedy, d.p.Home)
	if d.state.Status == recovery.StatusWaiting {
		d.p.Warn(d.state.Created.Run, "%s", why)
		return errors.Join(d.calls.flush(ctx), errLeave)
	}
	return d.calls.interrupt(ctx, journal.CauseFailing, why)
}

// minFree is what a runner needs for its records, with something to spare; bytes.
const minFree = 64 << 10

// stalled says that a call's runner never began because the state folder took none of its records.
// That is no result of the call: it is still to come.
func (cl *caller) stalled(t tools.Tool, e ended) bool {
	if !outlives(t) || e.err == nil || e.result.Applied != journal.AppliedNo || cl.state.Stopping != nil {
		return false
	}
	if unwritable(e.err) {
		return true
	}
	disk, err := db.DiskOf(cl.p.Home)
	return err == nil && (disk.Free >= 0 && disk.Free < minFree || disk.Files == 0)
}

func outlives(t tools.Tool) bool {
	_, ok := t.(tools.Process)
	return ok
}

// unwritable says that a disk took nothing, whatever was to be written.
func unwritable(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EIO)
}

// disk is what can be read of the state folder's file system now, or what a test puts in its place.
func (p *Process) disk() journal.Disk {
	if p.Disk != nil {
		return p.Disk()
	}
	return disknote.Read(p.Home)
}
