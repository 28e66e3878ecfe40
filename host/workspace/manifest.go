package workspace

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"agent/recovery/journal"
	"agent/tools/scan"
)

// A manifest is the list of all that was in scope at a look, with what was left out. Its form:
// manifestVersion, when the look began, then what was seen and what was left out, each as their
// number and the entries. A number is a varint (encoding/binary), a text its length and its bytes;
// a path begins with how many bytes it shares with the one before, so the order should be that of
// folders. What was left out has its reason behind its path, what was seen its flags, and by these
// the rest. Most of it is names of objects and differences of times: to deflate it is no use.
const manifestVersion = 3

// The flags of what was seen. Without one that says otherwise, a file has a blob of git's and is as
// large as that, its mode is that of the one before, and it has one link.
const (
	flagKind   = 3         // two bits: a number of kinds
	flagAbsent = 2 << iota // nothing was there
	flagYoung
	flagMode  // another mode follows
	flagLinks // another number of links
	flagSize  // the version's size is not the file's
	flagTexts // not a blob alone: all that names a content, and why there is none
)

// kinds are the kinds of files by their number in a manifest. It is read only.
var kinds = [...]journal.FileKind{journal.FileRegular, journal.FileFolder, journal.FileLink, journal.FileSpecial}

var errManifest = errors.New("the list of files is damaged")

// encode makes the manifest of what was seen at the paths that are named.
func encode(names []string, all map[string]seen, left map[string]journal.LeftReason, at int64) []byte {
	w := &writer{b: make([]byte, 0, 48*len(names)+64)}
	w.number(manifestVersion)
	w.number(at)
	w.number(int64(len(names)))
	for _, name := range names {
		w.path(name)
		w.seen(all[name])
	}
	w.number(int64(len(left)))
	w.last.path = ""
	for _, name := range sortedNames(left) {
		w.path(name)
		w.text(string(left[name]))
	}
	return w.b
}

func decode(data []byte) (all map[string]seen, left map[string]journal.LeftReason, at int64, err error) {
	r := &reader{b: data}
	if v := r.number(); v != manifestVersion {
		return nil, nil, 0, fmt.Errorf("read the list of files: version %d is not known", v)
	}
	at = r.number()
	all, left = map[string]seen{}, map[string]journal.LeftReason{}
	for n := r.number(); n > 0 && !r.bad; n-- {
		name := r.path()
		all[name] = r.seen()
	}
	r.last.path = ""
	for n := r.number(); n > 0 && !r.bad; n-- {
		name := r.path()
		left[name] = journal.LeftReason(r.text())
	}
	if r.bad || len(r.b) > 0 {
		return nil, nil, 0, errManifest
	}
	return all, left, at, nil
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// before is what an entry is told from.
type before struct {
	path         string
	mode         uint32
	inode        uint64
	mtime, ctime int64
}

type writer struct {
	b    []byte
	last before
}

func (w *writer) number(n int64) { w.b = binary.AppendVarint(w.b, n) }

func (w *writer) text(s string) {
	w.number(int64(len(s)))
	w.b = append(w.b, s...)
}

func (w *writer) path(name string) {
	last, n := w.last.path, 0
	for n < min(len(name), len(last)) && name[n] == last[n] {
		n++
	}
	w.number(int64(n))
	w.text(name[n:])
	w.last.path = name
}

func (w *writer) seen(s seen) {
	v, e := s.v, &s.stat
	if v == nil {
		w.number(flagAbsent | flagIf(s.young, flagYoung))
		return
	}
	texts := v.Kept+string(v.Link)+string(v.Lost)+v.Stamp+string(e.Out) != ""
	flags := int64(slices.Index(kinds[:], v.Kind)) | flagIf(s.young, flagYoung) | flagIf(v.Mode != w.last.mode || e.Mode != v.Mode, flagMode) |
		flagIf(e.Links != 1, flagLinks) | flagIf(v.Size != e.Size, flagSize) | flagIf(texts, flagTexts)
	w.number(flags)
	if flags&flagMode != 0 {
		w.number(int64(v.Mode))
		w.number(int64(e.Mode))
	}
	w.number(e.Size)
	if flags&flagSize != 0 {
		w.number(v.Size)
	}
	w.number(int64(e.Inode - w.last.inode))
	w.number(e.Mtime - w.last.mtime)
	w.number(e.Ctime - w.last.ctime)
	if flags&flagLinks != 0 {
		w.number(int64(e.Links))
	}
	w.id(v.Git)
	if texts {
		w.id(v.Kept)
		for _, text := range []string{string(e.Out), string(v.Link), string(v.Lost), v.Stamp} {
			w.text(text)
		}
	}
	w.last.mode, w.last.inode, w.last.mtime, w.last.ctime = v.Mode, e.Inode, e.Mtime, e.Ctime
}

func flagIf(is bool, flag int64) int64 {
	if is {
		return flag
	}
	return 0
}

// id is an id as bytes: they are made in hexadecimal.
func (w *writer) id(id string) {
	w.number(int64(len(id) / 2))
	var err error
	if w.b, err = hex.AppendDecode(w.b, []byte(id)); err != nil {
		panic(err)
	}
}

type reader struct {
	b    []byte
	last before
	bad  bool
}

func (r *reader) number() int64 {
	n, size := binary.Varint(r.b)
	if size <= 0 {
		r.bad, r.b = true, nil
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) text() string {
	n := r.number()
	if n < 0 || n > int64(len(r.b)) {
		r.bad, r.b = true, nil
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *reader) path() string {
	n := r.number()
	if n < 0 || n > int64(len(r.last.path)) {
		r.bad, r.b = true, nil
		return ""
	}
	r.last.path = r.last.path[:n] + r.text()
	return r.last.path
}

func (r *reader) seen() seen {
	flags := r.number()
	young := flags&flagYoung != 0
	if flags&flagAbsent != 0 {
		return seen{young: young}
	}
	v := &journal.FileVersion{Kind: kinds[flags&flagKind], Mode: r.last.mode}
	e := scan.Entry{Kind: v.Kind, Mode: v.Mode, Links: 1}
	if flags&flagMode != 0 {
		v.Mode, e.Mode = uint32(r.number()), uint32(r.number())
	}
	e.Size = r.number()
	if v.Size = e.Size; flags&flagSize != 0 {
		v.Size = r.number()
	}
	e.Inode, e.Mtime, e.Ctime = r.last.inode+uint64(r.number()), r.last.mtime+r.number(), r.last.ctime+r.number()
	if flags&flagLinks != 0 {
		e.Links = uint64(r.number())
	}
	v.Git = hex.EncodeToString([]byte(r.text()))
	if flags&flagTexts != 0 {
		v.Kept = hex.EncodeToString([]byte(r.text()))
		e.Out, v.Link, v.Lost, v.Stamp = journal.LeftReason(r.text()), journal.LinkTarget(r.text()), journal.LeftReason(r.text()), r.text()
	}
	r.last.mode, r.last.inode, r.last.mtime, r.last.ctime = v.Mode, e.Inode, e.Mtime, e.Ctime
	return seen{stat: e, v: v, young: young}
}

// Named lists the contents of the store that a manifest names.
func Named(manifest []byte) (names []string, err error) {
	all, _, _, err := decode(manifest)
	for _, s := range all {
		if s.v != nil && s.v.Kept != "" {
			names = append(names, s.v.Kept)
		}
	}
	return names, err
}

// Renamed is a manifest in which contents have other names.
func Renamed(manifest []byte, name func(string) string) ([]byte, error) {
	r, w := &reader{b: manifest}, &writer{}
	if v := r.number(); v != manifestVersion {
		return nil, errManifest
	}
	w.number(manifestVersion)
	w.number(r.number())
	n := r.number()
	w.number(n)
	for ; n > 0 && !r.bad; n-- {
		w.path(r.path())
		s := r.seen()
		if s.v != nil && s.v.Kept != "" {
			s.v.Kept = name(s.v.Kept)
		}
		w.seen(s)
	}
	if r.bad {
		return nil, errManifest
	}
	w.b = append(w.b, r.b...) // what was left out
	return w.b, nil
}
