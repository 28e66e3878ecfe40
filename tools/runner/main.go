//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"agent/recovery/fault"
	"agent/tools/durable"
	"agent/tools/ofd"
)

// Exit codes of the runner process. They are for people who look: nothing is decided from them.
const (
	codeDone    = 0 // an exit record is durable
	codeRefused = 1 // nothing was started
	codeNoLock  = 2 // it was not started by a host
	codeNoExit  = 3 // the command ended, and that could not be recorded
)

// keeper is the runner process at work.
type keeper struct {
	folder string
	lock   *ofd.File
	spec   Spec
	room   *os.File // the reserved bytes of exit
	me     Process
	spool  *spool
	hit    func(fault.Point)
	//lint:ignore U1000 it is empty on Linux
	means // what this system adds
}

// Main is the runner process: it carries out the call prepared in folder, whose lock and
// specification it inherited, and returns its exit code.
func Main(folder string, opts MainOptions) int {
	if folder == guardName {
		return guardMain()
	}
	syscall.CloseOnExec(lockFD)
	syscall.CloseOnExec(jobFD)
	k := &keeper{folder: folder, hit: opts.Hit}
	if k.hit == nil {
		k.hit = fault.Hit
	}
	if err := k.takeLock(); err != nil {
		fmt.Fprintf(os.Stderr, "run call in %s: %v\n", folder, err)
		return codeNoLock
	}
	if err := k.getReady(); err != nil {
		k.refuse(err)
		return codeRefused
	}
	c, exit, err := k.carryOut()
	if err != nil {
		k.refuse(err)
		return codeRefused
	}
	if err := k.record(exit); err != nil {
		return codeNoExit
	}
	if c != nil {
		c.letGo()
	}
	k.hit(fault.RunnerExit)
	_ = k.lock.Close() // the call is over; what lingers must not hold its lock
	if c != nil {
		c.out.linger()
	}
	return codeDone
}

// takeLock verifies that the inherited descriptor is the call's lock file and holds the lock.
func (k *keeper) takeLock() error {
	path := filepath.Join(k.folder, lockName)
	k.lock = ofd.Inherit(lockFD, path)
	same, err := k.lock.Same()
	if err != nil {
		return fmt.Errorf("this command is started by the host alone: %w", err)
	}
	held, err := ofd.Held(path)
	if err != nil {
		return err
	}
	// Someone holds it, and taking it once more through this descriptor works: so it is this one.
	ours, err := k.lock.TryLock()
	if err != nil {
		return err
	}
	if !same || !held || !ours {
		return errors.New("its lock is not held by this process")
	}
	return nil
}

// getReady does everything that can fail before the call may begin.
func (k *keeper) getReady() error {
	closeInherited()
	if err := settleSignals(); err != nil {
		return err
	}
	job := os.NewFile(jobFD, "job")
	if job == nil {
		return errors.New("it got no specification")
	}
	var err error
	if k.spec, err = unpack(job); err != nil {
		return fmt.Errorf("read its specification: %w", err)
	}
	_ = job.Close() // it was read whole
	why, err := names(k.folder, k.spec.Identity)
	if err != nil || why != "" {
		return errors.Join(err, errors.New(why))
	}
	for _, name := range []string{beganName, exitName} {
		has, err := there(k.folder, name)
		if err != nil || has {
			return errors.Join(err, fmt.Errorf("there is a record %q already", name))
		}
	}
	if err := k.takePlace(); err != nil {
		return err
	}
	k.spool = newSpool(k.folder, k.spec.Keep)
	return k.reserve()
}

// reserve makes sure that exit can be written on a disk that is full by then.
func (k *keeper) reserve() error {
	f, err := os.OpenFile(filepath.Join(k.folder, reserved), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("reserve the exit record: %w", err)
	}
	if err = allocate(f); err != nil {
		return errors.Join(fmt.Errorf("reserve the exit record: %w", err), f.Close())
	}
	k.room = f
	return nil
}

// refuse leaves a word on why the call never started, in the lock file, which has room for it. It
// is a courtesy: the proof is that began is not there.
func (k *keeper) refuse(why error) {
	r := refusal{Refused: clip(why.Error())}
	for _, e := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO} {
		if errors.Is(why, e) {
			r.Disk = int(e)
		}
	}
	b, err := json.Marshal(r)
	if err != nil {
		return
	}
	if info, err := k.lock.File().Stat(); err == nil {
		_, _ = k.lock.File().WriteAt(b, info.Size()) // as said
		_ = k.lock.File().Sync()                     // as said
	}
}

// writeBegan makes the start durable. The record gets its name when it is whole: a runner that is
// killed on the way leaves the proof that nothing was started, and never half a record, which would
// not say with which start of the machine its processes are gone. If it fails the record is taken
// back, since nothing was started.
func (k *keeper) writeBegan() error {
	boot, space, err := origin()
	if err != nil {
		return err
	}
	path := filepath.Join(k.folder, beganName)
	b, err := encodeRecord(Began{Identity: k.spec.Identity, Boot: boot, Space: space, Runner: k.me, At: fault.Now()})
	if err == nil {
		err = durable.Replace(path, 0o600, bytes.NewReader(b))
	}
	if err == nil {
		err = k.inPlace()
	}
	if err != nil {
		err = fmt.Errorf("make the start durable: %w", err)
		if gone := os.Remove(path); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		return err
	}
	return nil
}

// inPlace makes sure that what was written lies where the host will look for it: a folder that was
// put in the place of the call's own, such as a copy, may be gone tomorrow.
func (k *keeper) inPlace() error {
	same, err := k.lock.Same()
	if err == nil && !same {
		err = fmt.Errorf("another folder was put in the place of %s", k.folder)
	}
	return err
}

// record makes exit durable. A file system that takes no bytes even where they were reserved gets
// the spool's.
func (k *keeper) record(e Exit) error {
	err := k.writeExit(e)
	if err == nil {
		return nil
	}
	e.Message = clip(fmt.Sprintf("%s; the output was abandoned: %v", e.Message, errors.Join(err, k.spool.drop())))
	e.Kept, e.Truncated = 0, e.Output > 0
	if d, derr := digest(k.folder); derr == nil {
		e.Digest = d
	}
	return k.writeExit(e)
}

func (k *keeper) writeExit(e Exit) error {
	b, err := encodeRecord(e)
	if err != nil {
		return err
	}
	if _, err := k.room.WriteAt(b, 0); err != nil {
		return err
	}
	if err := k.room.Truncate(int64(len(b))); err != nil {
		return err
	}
	if err := k.room.Sync(); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(k.folder, reserved), filepath.Join(k.folder, exitName)); err != nil {
		return err
	}
	return durable.SyncDir(k.folder)
}

// watchCancel tells when a stop is asked for.
func (k *keeper) watchCancel(ctx context.Context) <-chan string {
	asked := make(chan string, 1)
	w := watch(k.folder, hintNames)
	go func() {
		defer w.close()
		pause := newBackoff(w.poll, w.poll)
		for {
			if yes, why := cancelled(k.folder); yes {
				asked <- why
				return
			}
			if !pause.wait(ctx, w.hints) {
				return
			}
		}
	}()
	return asked
}
