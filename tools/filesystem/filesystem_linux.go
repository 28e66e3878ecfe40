package filesystem

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"agent/recovery/journal"
)

func read(folder string, at Roots) journal.Disk {
	var d journal.Disk
	var fs unix.Statfs_t
	var st unix.Stat_t
	if unix.Statfs(folder, &fs) != nil || unix.Stat(folder, &st) != nil {
		return d
	}
	d.ReadOnly = fs.Flags&unix.ST_RDONLY != 0
	if int64(fs.Type)&0xffffffff == unix.EXT4_SUPER_MAGIC { // ext2 and ext3 share it, and the driver
		d.Kind = "ext4"
		readExt4(&d, fmt.Sprintf("%d:%d", unix.Major(uint64(st.Dev)), unix.Minor(uint64(st.Dev))), at)
	}
	return d
}

// readExt4 reads the kernel's folder of the file system on the device, which is named by its
// numbers.
func readExt4(d *journal.Disk, device string, at Roots) {
	target, err := os.Readlink(filepath.Join(at.Sys, "dev", "block", device))
	if err != nil {
		return
	}
	dir := filepath.Join(at.Sys, "fs", "ext4", filepath.Base(target))
	info, err := os.Stat(dir)
	if err != nil {
		return
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		d.Mount = st.Ino
	}
	errors, err1 := number(filepath.Join(dir, "errors_count"))
	last, err2 := number(filepath.Join(dir, "last_error_time"))
	if err1 == nil && err2 == nil {
		d.Counts, d.Errors, d.LastError = true, errors, last
	}
	d.Checked = checked(filepath.Join(at.Block, device))
}

func number(path string) (int64, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
}

// The superblock of an ext4 (Documentation/filesystems/ext4/super.rst): it begins at byte 1024;
// s_magic is 0xEF53 at 0x38, s_lastcheck at 0x40.
const (
	superblock  = 1024
	magicAt     = 0x38
	magic       = 0xEF53
	lastCheckAt = 0x40
)

// checked is when the file system was last checked; 0 for who may not read the device.
func checked(device string) int64 {
	f, err := os.Open(device)
	if err != nil {
		return 0
	}
	defer f.Close()
	var b [0x80]byte
	if _, err := f.ReadAt(b[:], superblock); err != nil || binary.LittleEndian.Uint16(b[magicAt:]) != magic {
		return 0
	}
	return int64(binary.LittleEndian.Uint32(b[lastCheckAt:]))
}
