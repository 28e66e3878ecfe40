package dirent

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Buffer is how many bytes Each is best given.
const Buffer = 32 << 10

// Each goes through the names of an open folder, in the system's order; "." and ".." are left out.
// A name is good until yield returns. kind is a DT_… of getdents64(2), DT_UNKNOWN where the file
// system does not say.
func Each(fd int, buffer []byte, yield func(name []byte, kind byte)) error {
	for {
		n, err := unix.Getdents(fd, buffer)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if n <= 0 {
			return nil
		}
		for rest := buffer[:n]; len(rest) > 19; {
			// struct linux_dirent64: inode, offset, length of the record, type, name.
			size := int(binary.NativeEndian.Uint16(rest[16:]))
			name := rest[19:size]
			if end := bytes.IndexByte(name, 0); end >= 0 {
				name = name[:end]
			}
			if s := string(name); s != "." && s != ".." {
				yield(name, rest[18])
			}
			rest = rest[size:]
		}
	}
}
