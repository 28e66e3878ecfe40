package inspect

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git's names of objects; nothing is protected by it
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// maxIndex bounds the files of an index.
const maxIndex = 200_000

// staged is one file of an index.
type staged struct {
	mode uint32
	id   [20]byte
	name string
}

var errIndex = errors.New("the index cannot be read")

// indexTree is the id of the tree that a commit of the index has (gitformat-index(5)). Nothing is
// written.
func (r repository) indexTree() (string, error) {
	b, err := readPlain(filepath.Join(r.Git, "index"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	var files []staged
	if err == nil {
		if files, err = readIndex(b); err != nil {
			return "", err
		}
	}
	id, rest := treeOf(files, "")
	if len(rest) > 0 {
		return "", errIndex
	}
	return hex.EncodeToString(id[:]), nil
}

// readIndex reads an index of version 2, 3 or 4 that is whole, has no conflict and nothing that is
// only meant to be added.
func readIndex(b []byte) ([]staged, error) {
	if len(b) < 12+20 || string(b[:4]) != "DIRC" {
		return nil, errIndex
	}
	version, count := binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:])
	if version < 2 || version > 4 || count > maxIndex {
		return nil, fmt.Errorf("%w: version %d with %d files", errIndex, version, count)
	}
	at, last := 12, ""
	var files []staged
	for range count {
		const fixed = 62
		if len(b) < at+fixed {
			return nil, errIndex
		}
		e := b[at:]
		flags := binary.BigEndian.Uint16(e[60:])
		f := staged{mode: binary.BigEndian.Uint32(e[24:])}
		copy(f.id[:], e[40:60])
		head := fixed
		if flags&0x4000 != 0 {
			if len(e) < head+2 || binary.BigEndian.Uint16(e[head:])&0x2000 != 0 {
				return nil, fmt.Errorf("%w: a file is only meant to be added", errIndex)
			}
			head += 2
		}
		if flags&0x3000 != 0 {
			return nil, fmt.Errorf("%w: there is a conflict", errIndex)
		}
		size, name, err := indexName(e, head, version, last)
		if err != nil {
			return nil, err
		}
		f.name, last = name, name
		files = append(files, f)
		at += size
	}
	return files, extensions(b[at:])
}

// indexName reads an entry's name and returns the bytes that the entry takes.
func indexName(e []byte, head int, version uint32, last string) (int, string, error) {
	keep := ""
	if version == 4 {
		drop, n := 0, 0
		for {
			if head+n >= len(e) || n > 4 {
				return 0, "", errIndex
			}
			c := e[head+n]
			if n > 0 {
				drop++
			}
			drop = drop<<7 | int(c&0x7f)
			n++
			if c&0x80 == 0 {
				break
			}
		}
		if drop > len(last) {
			return 0, "", errIndex
		}
		keep, head = last[:len(last)-drop], head+n
	}
	end := bytes.IndexByte(e[head:], 0)
	if end < 0 {
		return 0, "", errIndex
	}
	name := keep + string(e[head:head+end])
	if version == 4 {
		return head + end + 1, name, nil
	}
	size := (head + end + 8) &^ 7
	if size > len(e) {
		return 0, "", errIndex
	}
	return size, name, nil
}

// extensions refuses an index of which a part lies elsewhere.
func extensions(b []byte) error {
	for len(b) > 20 {
		if len(b) < 8 {
			return errIndex
		}
		name, size := string(b[:4]), int(binary.BigEndian.Uint32(b[4:]))
		if name == "link" || name == "sdir" {
			return fmt.Errorf("%w: a part of it lies elsewhere", errIndex)
		}
		if size > len(b)-8 {
			return errIndex
		}
		b = b[8+size:]
	}
	return nil
}

// treeOf makes the tree of the files below a folder and returns the files after them. The index has
// git's order.
func treeOf(files []staged, prefix string) ([20]byte, []staged) {
	var body bytes.Buffer
	for len(files) > 0 && strings.HasPrefix(files[0].name, prefix) {
		f := files[0]
		name, _, below := strings.Cut(f.name[len(prefix):], "/")
		if !below {
			fmt.Fprintf(&body, "%o %s\x00", f.mode, name)
			body.Write(f.id[:])
			files = files[1:]
			continue
		}
		var id [20]byte
		id, files = treeOf(files, prefix+name+"/")
		fmt.Fprintf(&body, "40000 %s\x00", name)
		body.Write(id[:])
	}
	h := sha1.New() //nolint:gosec // as above
	fmt.Fprintf(h, "tree %d\x00", body.Len())
	h.Write(body.Bytes())
	return [20]byte(h.Sum(nil)), files
}
