package prompt

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"agent/recovery/journal"
)

const (
	maxFile  = 32 << 10 // bytes that are quoted of one file
	maxTotal = 64 << 10 // and of all together
	maxRead  = 8 << 20  // bytes of a file that can be meant as instructions
)

// names are what a folder's instructions may be called; the first that is there counts.
func names() []string { return []string{"AGENTS.md", "CLAUDE.md"} }

// reader reads the instructions that apply to a folder.
type reader struct {
	folder string   // the workspace
	top    string   // the repository's root, or the workspace
	root   *os.Root // top: no link leads out of it
	state  fs.FileInfo
	owner  func(fs.FileInfo) bool
	notes  []string
}

func newReader(folder, state string) (*reader, error) {
	info, err := os.Stat(folder)
	if err != nil {
		return nil, err
	}
	r := &reader{folder: folder, top: repository(folder), owner: trusted(info)}
	if r.root, err = os.OpenRoot(r.top); err != nil {
		// A parent that cannot be opened bars its own files, not those of the workspace.
		r.note("the instructions of %s are not read: %v", r.top, reason(err))
		r.top = folder
		if r.root, err = os.OpenRoot(folder); err != nil {
			return nil, err
		}
	}
	if r.state, err = os.Stat(state); err != nil {
		r.state = nil // there is none yet, so nothing can lie in it
	}
	return r, nil
}

// repository is the nearest of folder and its parents that has a .git; folder where none has.
func repository(folder string) string {
	for dir := folder; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return folder
		}
	}
}

// quotes reads the files, the outermost first, and before them the person's own. Where there is too
// much for the prompt, the nearest to the workspace has precedence.
func (r *reader) quotes(own string) []quote {
	var out []quote
	room := maxTotal
	for dir := r.folder; ; dir = filepath.Dir(dir) {
		if q, ok := r.of(dir, room); ok {
			out = append(out, q)
			room -= len(q.body)
		}
		if dir == r.top {
			break
		}
	}
	if own != "" {
		if q, ok := r.own(filepath.Join(filepath.Dir(own), names()[0]), room); ok {
			out = append(out, q)
		}
	}
	slices.Reverse(out)
	return out
}

// own reads what the person says to every run. A link may lead to it from anywhere: it is theirs.
func (r *reader) own(path string, room int) (quote, bool) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // nothing waits for the other end of a pipe
	if errors.Is(err, fs.ErrNotExist) {
		return quote{}, false
	}
	var q quote
	if err == nil {
		q, err = r.take(f, path, path, room)
	}
	if err != nil {
		r.note("%s is not read: %v", path, reason(err))
	}
	return q, err == nil
}

// of reads what a folder says.
func (r *reader) of(dir string, room int) (quote, bool) {
	for _, name := range names() {
		path := filepath.Join(dir, name)
		rel, err := filepath.Rel(r.top, path)
		if err != nil {
			r.note("%s is not read: %v", path, err)
			return quote{}, false
		}
		info, err := r.root.Lstat(rel)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			var q quote
			if q, err = r.read(path, rel, room); err == nil {
				return q, true
			}
		}
		if info != nil && info.Mode()&fs.ModeSymlink != 0 && isPathError(err) {
			err = fmt.Errorf("it is a symbolic link that leads to no file of %s: %v", r.top, reason(err))
		}
		r.note("%s is not read: %v", path, reason(err))
		return quote{}, false
	}
	return quote{}, false
}

// read reads one file and takes as much of it as there is room for.
func (r *reader) read(path, rel string, room int) (quote, error) {
	f, err := r.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0) // nothing waits for the other end of a pipe
	if err != nil {
		return quote{}, err
	}
	return r.take(f, path, filepath.Join(r.top, rel), room)
}

// take quotes an opened file, which at leads to, and closes it.
func (r *reader) take(f *os.File, path, at string, room int) (quote, error) {
	data, err := r.content(f, at)
	if err != nil {
		return quote{}, err
	}
	sum := sha256.Sum256(data)
	q := quote{file: journal.Instruction{Path: path, Digest: hex.EncodeToString(sum[:]), Bytes: int64(len(data))}}
	text := strings.TrimPrefix(strings.ToValidUTF8(string(data), "\uFFFD"), "\uFEFF")
	q.body, q.cut = head(text, min(maxFile, room))
	if q.cut && q.body == "" {
		return quote{}, fmt.Errorf("the files nearer to the run's folder fill the %d bytes that all instructions may have", maxTotal)
	}
	if q.cut {
		r.note("%s is too long: %d of its %d bytes are shown to the model", path, len(q.body), len(data))
	}
	return q, nil
}

// content is the text of an opened file, which at leads to, where it may instruct a run. It closes
// the file.
func (r *reader) content(f *os.File, at string) ([]byte, error) {
	defer f.Close() // it was only read from
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a file")
	case !r.owner(info):
		return nil, errors.New("it belongs to somebody else than the folder of the run")
	case r.inState(at):
		return nil, errors.New("it leads into the folder in which agent keeps its state")
	case info.Size() > maxRead:
		return nil, fmt.Errorf("it has %d bytes, more than the %d that instructions may have", info.Size(), maxRead)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxRead))
	if err == nil && bytes.IndexByte(data, 0) >= 0 {
		err = errors.New("it is not text")
	}
	return data, err
}

// head is the beginning of a text in at most room bytes, cut behind a line. A first line that is
// too long for any file is cut in itself.
func head(text string, room int) (string, bool) {
	if len(text) <= room {
		return text, false
	}
	if end := strings.LastIndexByte(text[:room], '\n'); end >= 0 {
		return text[:end+1], true
	}
	if room < maxFile {
		return "", true
	}
	for room > 0 && !utf8.RuneStart(text[room]) {
		room--
	}
	return text[:room], true
}

// inState says whether a file lies in the host's own folder, by whatever way.
func (r *reader) inState(at string) bool {
	if r.state == nil {
		return false
	}
	real, err := filepath.EvalSymlinks(at)
	if err != nil {
		return true // it was there a moment ago: somebody changes it
	}
	for dir := filepath.Dir(real); ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil || os.SameFile(info, r.state) {
			return true
		}
		if dir == filepath.Dir(dir) {
			return false
		}
	}
}

func (r *reader) note(format string, args ...any) {
	r.notes = append(r.notes, oneLine(fmt.Sprintf(format, args...)))
}

func isPathError(err error) bool {
	var p *fs.PathError
	return errors.As(err, &p)
}

// reason is an error without the path, which is named beside it.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
