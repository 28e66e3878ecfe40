//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// snapshot reads what a folder holds before it is served.
func snapshot(dir string) (map[uint64]*inode, map[key]uint64, error) {
	s := &reader{base: map[uint64]*inode{}, ids: map[key]uint64{}}
	root, err := s.folder(dir)
	if err != nil {
		return nil, nil, err
	}
	s.base[rootID] = root
	return s.base, s.ids, nil
}

type reader struct {
	base map[uint64]*inode
	ids  map[key]uint64
}

func (s *reader) folder(dir string) (*inode, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := &inode{folder: true, mode: 0o700, names: map[string]uint64{}}
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		var st unix.Statx_t
		if err := unix.Statx(unix.AT_FDCWD, at, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &st); err != nil {
			return nil, fmt.Errorf("look at %s: %w", at, err)
		}
		k := key{st.Ino, generation(st.Btime)}
		id, known := s.ids[k]
		if !known {
			id = rootID + uint64(len(s.ids)) + 1
			s.ids[k] = id
			if s.base[id], err = s.read(at, &st); err != nil {
				return nil, err
			}
		}
		out.names[e.Name()] = id
	}
	return out, nil
}

// generation is go-fuse's, which tells a file from one that had its number before.
func generation(t unix.StatxTimestamp) uint64 {
	if t.Sec == 0 && t.Nsec == 0 {
		return 1
	}
	return uint64(t.Sec)*1e9 + uint64(t.Nsec)
}

func (s *reader) read(at string, st *unix.Statx_t) (*inode, error) {
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFDIR:
		x, err := s.folder(at)
		if err == nil {
			x.mode = uint32(st.Mode)
		}
		return x, err
	case unix.S_IFREG:
		b, err := os.ReadFile(at)
		return &inode{mode: uint32(st.Mode), kept: content{b, int64(len(b))}}, err
	case unix.S_IFLNK:
		to, err := os.Readlink(at)
		return &inode{mode: uint32(st.Mode), link: to}, err
	}
	return nil, fmt.Errorf("%s is neither a file nor a folder", at)
}
