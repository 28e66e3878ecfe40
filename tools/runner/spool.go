package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// tailParts is how many of the newest segments are kept behind the head. Head and segments together
// fill Spec.Keep: a half for the head, an eighth for each segment.
const tailParts = 4

// spool writes a command's output to disk within bounds and counts all of it. An error of the disk
// ends the record, never the command: Write always takes everything.
type spool struct {
	folder    string
	headRoom  int64
	partRoom  int64
	f         *os.File
	room      int64   // left in f
	parts     []int64 // offsets of the segments on disk, oldest first
	total     int64
	kept      int64
	trouble   error // why the record ends early
	headBegun bool
}

func newSpool(folder string, keep int64) *spool {
	return &spool{folder: folder, headRoom: max(keep/2, 1), partRoom: max(keep/(2*tailParts), 1)}
}

// Write records p as far as there is room and counts it. It never fails.
func (s *spool) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && s.trouble == nil {
		if s.room == 0 {
			if s.trouble = s.next(); s.trouble != nil {
				break
			}
		}
		w, err := s.f.Write(p[:min(int64(len(p)), s.room)])
		s.trouble = err
		s.room -= int64(w)
		s.kept += int64(w)
		s.total += int64(w)
		p = p[w:]
	}
	s.total += int64(len(p))
	return n, nil
}

// next goes on in a new file, and drops the oldest segment when there are too many.
func (s *spool) next() error {
	if s.f != nil { // made durable at the end: most segments are dropped before
		if err := s.f.Close(); err != nil {
			return err
		}
		s.f = nil
	}
	name, room := spoolName, s.headRoom
	if s.headBegun {
		if len(s.parts) == tailParts {
			oldest := filepath.Join(s.folder, partName(s.parts[0]))
			if err := os.Remove(oldest); err != nil {
				return err
			}
			s.parts = s.parts[1:]
			s.kept -= s.partRoom
		}
		name, room = partName(s.total), s.partRoom
	}
	f, err := os.OpenFile(filepath.Join(s.folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if s.headBegun {
		s.parts = append(s.parts, s.total)
	}
	s.f, s.room, s.headBegun = f, room, true
	return nil
}

// end closes the current file and makes all of them durable.
func (s *spool) end() error {
	if s.f == nil {
		return nil
	}
	err := s.f.Sync()
	if cerr := s.f.Close(); err == nil {
		err = cerr
	}
	s.f = nil
	for _, name := range append([]string{spoolName}, partNames(s.parts)...) {
		if err == nil && len(s.parts) > 0 {
			err = syncFile(filepath.Join(s.folder, name))
		}
	}
	return err
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	err = f.Sync()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// drop frees what is kept, to make room for the record of how the command ended.
func (s *spool) drop() error {
	err := s.end()
	for _, name := range append([]string{spoolName}, partNames(s.parts)...) {
		rerr := os.Remove(filepath.Join(s.folder, name))
		if rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	s.parts, s.kept = nil, 0
	return err
}

func partName(offset int64) string { return spoolName + "." + strconv.FormatInt(offset, 10) }

func partNames(offsets []int64) []string {
	var names []string
	for _, offset := range offsets {
		names = append(names, partName(offset))
	}
	return names
}

// part is one file of a spool as it lies on disk.
type part struct {
	path   string
	offset int64 // of its first byte in the command's output
	size   int64
}

// parts lists a spool's files in the order of their bytes. A spool without a file is empty.
func parts(folder string) ([]part, error) {
	names, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var found []part
	for _, entry := range names {
		offset := int64(0)
		if entry.Name() != spoolName {
			rest, ok := strings.CutPrefix(entry.Name(), spoolName+".")
			if !ok {
				continue
			}
			if offset, err = strconv.ParseInt(rest, 10, 64); err != nil {
				continue // not one of ours
			}
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // a segment that was just dropped
		}
		if err != nil {
			return nil, err
		}
		found = append(found, part{path: filepath.Join(folder, entry.Name()), offset: offset, size: info.Size()})
	}
	slices.SortFunc(found, func(a, b part) int { return int(min(max(a.offset-b.offset, -1), 1)) })
	return found, nil
}

// digest is the sha256 of what the spool keeps, in hex.
func digest(folder string) (string, error) {
	list, err := parts(folder)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, p := range list {
		if err := hashFile(h, p.path); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func hashFile(h hash.Hash, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(h, f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("read spool: %w", err)
	}
	return nil
}
