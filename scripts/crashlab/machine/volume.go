//go:build linux

package machine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Volume is a small file system of a story's own, mounted on a folder: an ext4 on a loop device, or
// a tmpfs where there is no such device. It is made with the lab's mounts, so it is gone with them.
type Volume struct {
	VolumeOptions
	at    string // where it is mounted
	image string // of an ext4; "" for a tmpfs
	taken int    // files that FillInodes has made
}

type VolumeOptions struct {
	MiB    int
	Block  int // of an ext4, bytes
	Inodes int // how many there are; 0 for plenty
}

// NewVolume makes a file system, and mounts it on a folder that it makes.
func NewVolume(at string, o VolumeOptions) (*Volume, error) {
	v := &Volume{VolumeOptions: o, at: at, image: at + ".image"}
	if err := os.MkdirAll(at, 0o700); err != nil {
		return nil, err
	}
	if !CanLoop() {
		v.image = ""
		if err := unix.Mount("none", at, "tmpfs", 0, v.tmpfs()); err != nil {
			return nil, fmt.Errorf("mount a tmpfs on %s: %v", at, err)
		}
		return v, nil
	}
	f, err := os.Create(v.image)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.Truncate(int64(o.MiB)<<20), f.Close()); err != nil {
		return nil, err
	}
	args := []string{"-q", "-F", "-m", "0", "-E", "nodiscard", "-b", fmt.Sprint(o.Block)}
	if o.Inodes > 0 {
		args = append(args, "-N", fmt.Sprint(o.Inodes))
	}
	if out, err := exec.Command("mkfs.ext4", append(args, v.image)...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("make an ext4 in %s: %v %s", v.image, err, out)
	}
	return v, v.mount()
}

// CanLoop says whether an ext4 can be had here.
func CanLoop() bool {
	f, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0) // a container may show it and let nobody in
	if err == nil {
		err = f.Close()
	}
	_, tool := exec.LookPath("mkfs.ext4")
	_, mount := exec.LookPath("mount")
	return err == nil && tool == nil && mount == nil
}

func (v *Volume) tmpfs() string {
	o := fmt.Sprintf("size=%dm,mode=0700", v.MiB)
	if v.Inodes > 0 {
		o += fmt.Sprintf(",nr_inodes=%d", v.Inodes)
	}
	return o
}

// mount mounts an ext4, which turns read-only at its first error. The loop device goes with its
// last user.
func (v *Volume) mount() error {
	if out, err := exec.Command("mount", "-o", "loop,errors=remount-ro", v.image, v.at).CombinedOutput(); err != nil {
		return fmt.Errorf("mount %s: %v %s", v.image, err, out)
	}
	return os.Chmod(v.at, 0o700)
}

func (v *Volume) filler() string { return filepath.Join(v.at, "filler") }

// Fill takes every block that is left.
func (v *Volume) Fill() (err error) {
	f, err := os.OpenFile(v.filler(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("fill %s: %v", v.at, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	end := info.Size()
	for _, size := range []int64{1 << 20, 64 << 10, 1 << 10} {
		for {
			if err = unix.Fallocate(int(f.Fd()), 0, end, size); err != nil {
				break
			}
			end += size
		}
		if !errors.Is(err, unix.ENOSPC) {
			return fmt.Errorf("fill %s: %v", v.at, err)
		}
	}
	return nil
}

// FillInodes takes every inode that is left.
func (v *Volume) FillInodes() error {
	for {
		f, err := os.OpenFile(fmt.Sprintf("%s-%d", v.filler(), v.taken), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, unix.ENOSPC) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("take the inodes of %s: %v", v.at, err)
		}
		v.taken++
		if err := f.Close(); err != nil {
			return err
		}
	}
}

// Free gives back what was taken.
func (v *Volume) Free() error {
	err := os.Remove(v.filler())
	if errors.Is(err, os.ErrNotExist) {
		err = nil // only inodes were taken
	}
	for ; v.taken > 0; v.taken-- {
		err = errors.Join(err, os.Remove(fmt.Sprintf("%s-%d", v.filler(), v.taken-1)))
	}
	return err
}

// Sync makes durable what is there.
func (v *Volume) Sync() error {
	f, err := os.Open(v.at)
	if err != nil {
		return err
	}
	if err := errors.Join(unix.Syncfs(int(f.Fd())), f.Close()); err != nil {
		return fmt.Errorf("make %s durable: %v", v.at, err)
	}
	return nil
}

// device is the name of the loop device under an ext4.
func (v *Volume) device() (string, error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(table)) {
		if _, rest, ok := strings.Cut(line, " "+v.at+" "); ok {
			if _, rest, ok = strings.Cut(rest, " - "); ok {
				return filepath.Base(strings.Fields(rest)[1]), nil
			}
		}
	}
	return "", fmt.Errorf("find the device that is mounted on %s: it is not there", v.at)
}

// Fail makes an ext4 find an error in itself, as it does on a disk that returns nonsense: from now
// on it takes nothing.
func (v *Volume) Fail() error {
	device, err := v.device()
	if err == nil {
		err = os.WriteFile(filepath.Join("/sys/fs/ext4", device, "trigger_fs_error"), []byte("1"), 0)
	}
	if err != nil {
		return fmt.Errorf("make %s fail: %v", v.at, err)
	}
	return nil
}

// ReadOnly makes the file system read-only, or writable again, while nobody writes to it.
func (v *Volume) ReadOnly(yes bool) error {
	flags := uintptr(unix.MS_REMOUNT)
	if yes {
		flags |= unix.MS_RDONLY
	}
	options := ""
	if v.image == "" {
		options = v.tmpfs()
	}
	if err := v.unused(func() error { return unix.Mount("none", v.at, "", flags, options) }); err != nil {
		return fmt.Errorf("remount %s: %v", v.at, err)
	}
	return nil
}

// Repair mounts an ext4 that failed once more, as a person does after looking at it.
func (v *Volume) Repair() error {
	if err := v.unmount(); err != nil {
		return err
	}
	out, err := exec.Command("e2fsck", "-fy", v.image).CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() < 4 { // e2fsck(8): it repaired something
		err = nil
	}
	if err != nil {
		return fmt.Errorf("e2fsck %s: %v %s", v.image, err, out)
	}
	return v.mount()
}

// unused tries until nobody uses the file system any more: a runner ends a moment after its call.
func (v *Volume) unused(try func() error) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for {
		err := try()
		if !errors.Is(err, unix.EBUSY) {
			return err
		}
		select {
		case <-tick.C:
		case <-late:
			return err
		}
	}
}

// unmount takes the file system away and waits until nobody has it mounted: a command that was
// confined meanwhile took a copy of the mounts along, and keeps the file system until it ends.
func (v *Volume) unmount() error {
	if err := v.unused(func() error { return unix.Unmount(v.at, 0) }); err != nil {
		return fmt.Errorf("unmount %s: %v", v.at, err)
	}
	return v.unused(func() error {
		if mountedAnywhere(v.at) {
			return unix.EBUSY
		}
		return nil
	})
}

func mountedAnywhere(path string) bool {
	tables, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	if err != nil {
		return false // the pattern is a constant
	}
	for _, table := range tables {
		text, err := os.ReadFile(table)
		if err == nil && strings.Contains(string(text), " "+path+" ") { // else the process has ended
			return true
		}
	}
	return false
}

// Close takes the file system away, and leaves what it carried in its place when that is to be
// kept.
func (v *Volume) Close(keep bool) error {
	var err error
	kept := v.at + ".kept"
	if keep {
		err = os.CopyFS(kept, os.DirFS(v.at))
	}
	// Who is slow to die must not hold the lab up: it sees the file system for as long as it lives,
	// and nobody else does.
	err = errors.Join(err, unix.Unmount(v.at, unix.MNT_DETACH), os.Remove(v.at))
	if v.image != "" {
		err = errors.Join(err, os.Remove(v.image))
	}
	if keep {
		err = errors.Join(err, os.Rename(kept, v.at))
	}
	return err
}
