package objects

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git's names of objects; nothing is protected by it
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"agent/tools/gitrepo/gitconfig"
)

// Kinds of entries of an index, as its modes have them.
const (
	ModeFile       uint32 = 0o100644
	ModeExecutable uint32 = 0o100755
	ModeLink       uint32 = 0o120000
	ModeSubmodule  uint32 = 0o160000
	modeFolder     uint32 = 0o040000 // of an index that leaves out all below it
)

// Bounds of an index.
const (
	maxIndex = 256 << 20 // bytes, and bytes of all its names
	maxName  = 4096      // of one name: a longer one can be no path
)

// errIndex: an index that git would refuse, or that nobody could have written.
var errIndex = errors.New("the index cannot be read")

// Indexed is what an index says of one path.
type Indexed struct {
	Blob  string // object id, hex
	Mode  uint32 // ModeFile, ModeExecutable, ModeLink or ModeSubmodule
	Size  uint32 // of the file on disk, cut to 32 bits; the blob's where nothing converts
	Inode uint32 // cut to 32 bits
	Mtime int64  // ns
	Ctime int64  // ns
	Stage int    // 0, or one of the sides of a conflict

	Assume bool // git assumes that it is unchanged
	Skip   bool // it need not be on disk
	Intent bool // it is only meant to be added
	Racy   bool // it was written no earlier than the index, so that a later write may not show
}

// The objects of no content.
const (
	emptySHA1   = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
	emptySHA256 = "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
)

// Clean says whether what lstat(2) says of a regular file proves that nobody wrote it since git
// did, or read it: what Blob holds is on disk, if the blob is as large as the file (Pin.Sizes) and
// nothing converts the path to as many other bytes (Conversions). Neither alone is enough: a
// setting that converted the file may be gone, and a filter may keep the size.
//
// Git's own limit holds here too: where the kernel gives two writes the same time, one that came
// right behind git's reading does not show.
func (e Indexed) Clean(inode uint64, size, mtime, ctime int64) bool {
	switch {
	case e.Mode != ModeFile && e.Mode != ModeExecutable, e.Stage != 0, e.Assume, e.Skip, e.Intent, e.Racy:
		return false
	case e.Size == 0 && e.Blob != emptySHA1 && e.Blob != emptySHA256:
		return false // git marks so what it must compare itself
	}
	return size >= 0 && e.Size == uint32(size) && e.Inode == uint32(inode) && e.Mtime == mtime && e.Ctime == ctime
}

// record is one entry as it lies in an index.
type record struct {
	name string
	mode uint32
	id   string // hex
	stat [6]uint32
	flag uint16
	more uint16
}

const (
	flagAssume = 0x8000
	flagMore   = 0x4000
	flagStage  = 0x3000
	moreSkip   = 0x4000
	moreIntent = 0x2000
)

func (e *record) indexed(written int64) Indexed {
	at := func(i int) int64 { return int64(e.stat[i])*1e9 + int64(e.stat[i+1]) }
	mtime := at(2)
	return Indexed{
		Blob: e.id, Mode: e.mode, Size: e.stat[5], Inode: e.stat[4], Ctime: at(0), Mtime: mtime, Stage: int(e.flag & flagStage >> 12),
		Assume: e.flag&flagAssume != 0, Skip: e.more&moreSkip != 0, Intent: e.more&moreIntent != 0, Racy: mtime >= written,
	}
}

// isPath says whether a file can have the name. Most names show that without being taken apart.
func isPath(name string) bool {
	odd, last := false, byte('/')
	for _, c := range []byte(name) {
		odd = odd || last == '/' && (c == '/' || c == '.')
		last = c
	}
	if !odd {
		return last != '/'
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") {
			return false
		}
	}
	return true
}

// index is a whole index.
type index struct {
	list    []record
	written int64  // when its file was, ns
	base    string // of a split index: the id of the shared one
	sparse  bool
	deleted []int // of the shared one: entries that are no longer there
	changed []int // and those that stand at the front of this one, without their names
}

// index reads the index with what it shares.
func (r Repository) index() (index, error) {
	ix, err := readIndexFile(filepath.Join(r.Git, "index"), r.idLength())
	if errors.Is(err, fs.ErrNotExist) {
		return index{}, nil
	}
	if err != nil || ix.base == "" {
		return ix, err
	}
	shared, err := readIndexFile(filepath.Join(r.Git, "sharedindex."+ix.base), r.idLength())
	if err != nil {
		return ix, err
	}
	if shared.base != "" {
		return ix, fmt.Errorf("%w: a shared index is split itself", errIndex)
	}
	return ix.over(shared)
}

// over lays a split index over what it shares: gitformat-index, "Split index".
func (ix index) over(shared index) (index, error) {
	if len(ix.changed) > len(ix.list) {
		return ix, fmt.Errorf("%w: it changes more than it holds", errIndex)
	}
	gone := make([]bool, len(shared.list))
	list := shared.list
	for n, i := range ix.changed {
		if i >= len(list) || ix.list[n].name != "" {
			return ix, fmt.Errorf("%w: it changes what is not there", errIndex)
		}
		name := list[i].name
		list[i] = ix.list[n]
		list[i].name = name
	}
	for _, i := range ix.deleted {
		if i >= len(list) {
			return ix, fmt.Errorf("%w: it deletes what is not there", errIndex)
		}
		gone[i] = true
	}
	added := ix.list[len(ix.changed):]
	replaced := make(map[string]bool, len(added))
	for _, e := range added {
		replaced[e.name] = true
	}
	whole := ix
	whole.list = make([]record, 0, len(list)+len(added))
	for i, e := range list {
		if !gone[i] && !replaced[e.name] {
			whole.list = append(whole.list, e)
		}
	}
	whole.list = append(whole.list, added...)
	return whole, nil
}

// readIndexFile reads one file, with the time that it was written at.
func readIndexFile(name string, idLen int) (index, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return index{}, err
	}
	defer f.Close() // it was only read from; nothing can be lost
	info, err := f.Stat()
	if err != nil {
		return index{}, err
	}
	content, err := gitconfig.ReadOpened(f, maxIndex)
	if err != nil {
		return index{}, err
	}
	ix, err := parseIndex(content, idLen)
	ix.written = info.ModTime().UnixNano()
	return ix, err
}

// checked compares the sum at the end, if there is one: git-config, index.skipHash.
func checked(b []byte, idLen int) bool {
	body, sum := b[:len(b)-idLen], b[len(b)-idLen:]
	if bytes.Count(sum, []byte{0}) == idLen {
		return true
	}
	if idLen == sha256.Size {
		is := sha256.Sum256(body)
		return bytes.Equal(is[:], sum)
	}
	is := sha1.Sum(body) //nolint:gosec // as above
	return bytes.Equal(is[:], sum)
}

// parseIndex reads gitformat-index.
func parseIndex(b []byte, idLen int) (index, error) {
	if len(b) < 12+idLen || string(b[:4]) != "DIRC" {
		return index{}, errIndex
	}
	sum := make(chan bool, 1)
	go func() { sum <- checked(b, idLen) }()
	body := b[:len(b)-idLen]
	ix, at, err := entries(body, idLen)
	if err == nil {
		err = ix.extensions(body[at:], idLen)
	}
	if !<-sum && err == nil {
		err = fmt.Errorf("%w: its checksum is another", errIndex)
	}
	return ix, err
}

// entries reads the entries, and returns where they end.
func entries(b []byte, idLen int) (ix index, at int, err error) {
	version, count := binary.BigEndian.Uint32(b[4:]), int64(binary.BigEndian.Uint32(b[8:]))
	fixed := 42 + idLen
	if version < 2 || version > 4 || count > int64(len(b)/(fixed+1)) {
		return ix, 0, fmt.Errorf("%w: version %d with %d entries", errIndex, version, count)
	}
	text := string(b) // names are parts of it
	var ids strings.Builder
	ids.Grow(2 * idLen * int(count))
	id := make([]byte, 2*idLen)
	ix.list = make([]record, count)
	names := 0
	at = 12
	last := ""
	for i := range ix.list {
		if len(b) < at+fixed {
			return ix, 0, errIndex
		}
		e := &ix.list[i]
		raw := b[at : at+fixed]
		for n, from := range []int{0, 4, 8, 12, 20, 36} {
			e.stat[n] = binary.BigEndian.Uint32(raw[from:])
		}
		e.mode = binary.BigEndian.Uint32(raw[24:])
		hex.Encode(id, raw[40:40+idLen])
		ids.Write(id)
		e.flag = binary.BigEndian.Uint16(raw[40+idLen:])
		head := at + fixed
		if e.flag&flagMore != 0 {
			if version < 3 || len(b) < head+2 {
				return ix, 0, errIndex
			}
			e.more = binary.BigEndian.Uint16(b[head:])
			head += 2
		}
		if e.name, at, err = entryName(text, at, head, version, last); err != nil {
			return ix, 0, err
		}
		last = e.name
		if names += len(last); len(last) > maxName || names > maxIndex {
			return ix, 0, fmt.Errorf("%w: its names are too long", errIndex)
		}
	}
	all := ids.String()
	for i := range ix.list {
		ix.list[i].id = all[2*idLen*i : 2*idLen*(i+1)]
	}
	return ix, at, nil
}

// entryName reads the name of the entry that begins at start, and returns where the next begins.
func entryName(text string, start, head int, version uint32, last string) (string, int, error) {
	keep := 0
	if version == 4 {
		drop, n := 0, 0
		for more := true; more; n++ {
			if head+n >= len(text) || n > 4 {
				return "", 0, errIndex
			}
			c := text[head+n]
			if n > 0 {
				drop++
			}
			drop, more = drop<<7|int(c&0x7f), c&0x80 != 0
		}
		if drop > len(last) {
			return "", 0, errIndex
		}
		keep, head = len(last)-drop, head+n
	}
	end := strings.IndexByte(text[head:], 0)
	if end < 0 {
		return "", 0, errIndex
	}
	if version == 4 {
		return last[:keep] + text[head:head+end], head + end + 1, nil
	}
	next := start + (head-start+end+8)&^7
	if next > len(text) {
		return "", 0, errIndex
	}
	return text[head : head+end], next, nil
}
