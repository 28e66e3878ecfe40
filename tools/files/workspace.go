package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"agent/tools"
	"agent/tools/excerpt"
)

// Bounds of a path, those of Linux.
const (
	maxPath  = 4096
	maxName  = 255
	maxLinks = 40
)

// Workspace is a run's folder as the file tools see it. Every path is walked folder by folder, each
// opened below the one before, so that what is reached is known by identity and not by the spelling
// of its path: not outside the workspace, not in a denied folder, whatever symlinks and mounts lie
// on the way and whoever moves them meanwhile.
type Workspace struct {
	folder string // as the run names it
	Real   string // without symlinks
	root   *os.Root
	info   os.FileInfo
	denied []guarded
	policy []guarded // what can be read and not be written

	ignores func() string // finds the file of what the person ignores everywhere; nil is none

	from     string // of a folder beside it: the workspace
	readOnly bool
}

// guarded is a folder that no path may lead to, or a folder or file that none may write.
type guarded struct {
	path string
	info os.FileInfo // nil when it is not there
}

// Target is what a path leads to once every symlink is followed: a name in an opened folder.
type Target struct {
	asked   string      // the path as it was given
	Rel     string      // where it lies in the workspace, with slashes; "." is the workspace itself
	Dir     *os.Root    // the folder that holds it, or itself when name is "."
	Name    string      // in dir
	Info    os.FileInfo // nil: nothing is there
	missing []string    // folders between dir and name that are not there
	linked  bool        // the path's own last name is a symlink
	held    []*os.Root  // what close closes
}

func OpenWorkspace(folder string, denied []string) (*Workspace, error) {
	if !filepath.IsAbs(folder) {
		return nil, fmt.Errorf("open workspace %s: not an absolute path", folder)
	}
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, fmt.Errorf("open workspace %s: %w", folder, err)
	}
	w := &Workspace{folder: filepath.Clean(folder), Real: real}
	for _, b := range denied {
		w.denied = append(w.denied, guardedOf(b))
	}
	for at := real; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return nil, fmt.Errorf("open workspace %s: %w", folder, err)
		}
		if w.Denies(at, info) {
			return nil, fmt.Errorf("open workspace %s: it lies in the state folder, which no tool may reach", folder)
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if w.root, err = os.OpenRoot(real); err != nil {
		return nil, fmt.Errorf("open workspace %s: %w", folder, err)
	}
	w.info, err = w.root.Stat(".")
	if err == nil {
		err = admissible(w.root)
	}
	if err != nil {
		w.Close()
		return nil, fmt.Errorf("open workspace %s: %w", folder, err)
	}
	return w, nil
}

// Denies reports whether a folder is one of the denied ones, by identity and by path.
func (w *Workspace) Denies(real string, info os.FileInfo) bool {
	for _, b := range w.denied {
		if real == b.path || (b.info != nil && info != nil && os.SameFile(b.info, info)) {
			return true
		}
	}
	return false
}

func (w *Workspace) Close() {
	_ = w.root.Close() // it was only read from; nothing can be lost
}

func (s *Target) Close() {
	for _, r := range s.held {
		_ = r.Close() // it was only read from; nothing can be lost
	}
	s.held = nil
}

// Find walks a path. What is not there is no error: info is nil then, and missing lists the folders
// that would have to be made.
func (w *Workspace) Find(asked string) (*Target, error) {
	parts, folderOnly, err := w.split(asked)
	if err != nil {
		return nil, err
	}
	k := &walk{w: w, asked: asked, todo: parts}
	s, err := k.run()
	if err == nil && folderOnly && (s.Info == nil || !s.Info.IsDir()) {
		err = fmt.Errorf("%s: not a folder", asked)
	}
	if err != nil {
		for _, r := range k.stack {
			_ = r.Close() // it was only read from; nothing can be lost
		}
		return nil, err
	}
	s.held, s.linked = k.stack, k.last
	return s, nil
}

// split gives the names on the way from the workspace, and whether the path can only mean a folder.
func (w *Workspace) split(asked string) ([]string, bool, error) {
	switch {
	case asked == "":
		return nil, false, errors.New("the path is empty")
	case strings.IndexByte(asked, 0) >= 0:
		return nil, false, fmt.Errorf("%q: a path cannot hold a NUL byte", asked)
	case len(asked) > maxPath:
		return nil, false, fmt.Errorf("%.40s…: the path has %d bytes, at most %d can be used", asked, len(asked), maxPath)
	}
	rest := filepath.ToSlash(asked)
	if w.from != "" && !filepath.IsAbs(asked) {
		end := "" // a slash at the end says that it is a folder
		if strings.HasSuffix(rest, "/") || strings.HasSuffix(rest, "/.") {
			end = "/"
		}
		rest = filepath.ToSlash(w.absolute(asked)) + end
	}
	if filepath.IsAbs(rest) {
		inner, ok := w.inside(rest)
		if !ok {
			return nil, false, w.outside(asked)
		}
		rest = inner
	} else if filepath.VolumeName(asked) != "" {
		return nil, false, w.outside(asked)
	}
	folderOnly := strings.HasSuffix(rest, "/") || strings.HasSuffix(rest, "/.")
	parts := names(rest)
	for _, p := range parts {
		if len(p) > maxName {
			return nil, false, fmt.Errorf("%.40s…: a name in it has %d bytes, at most %d can be used", asked, len(p), maxName)
		}
	}
	return parts, folderOnly, nil
}

// names splits at slashes and drops what means nothing.
func names(slashed string) []string {
	var parts []string
	for _, p := range strings.Split(slashed, "/") {
		if p != "" && p != "." {
			parts = append(parts, p)
		}
	}
	return parts
}

// inside takes the workspace's own path off an absolute one. It decides nothing: what is left is
// walked like any other path.
func (w *Workspace) inside(abs string) (string, bool) {
	for _, base := range []string{w.folder, w.Real} {
		base = strings.TrimSuffix(filepath.ToSlash(base), "/")
		if rest, ok := strings.CutPrefix(abs, base); ok && (rest == "" || rest[0] == '/') {
			return rest, true
		}
	}
	return "", false
}

func (w *Workspace) outside(asked string) error {
	if w.from != "" {
		return fmt.Errorf("%s leads out of %s, the folder beside the workspace that this run reaches", asked, w.folder)
	}
	return &tools.OutsideError{Path: asked, Folder: w.folder}
}

// walk is one path on its way.
type walk struct {
	w     *Workspace
	asked string
	todo  []string
	stack []*os.Root // folders below the workspace that were entered
	names []string   // their names
	links int
	last  bool     // the last name of the path was a symlink
	lost  []string // names from the first on that is not there
}

func (k *walk) top() *os.Root {
	if len(k.stack) == 0 {
		return k.w.root
	}
	return k.stack[len(k.stack)-1]
}

func (k *walk) rel(more ...string) string {
	return path.Join(append(append([]string{"."}, k.names...), more...)...)
}

func (k *walk) run() (*Target, error) {
	for len(k.todo) > 0 {
		part := k.todo[0]
		k.todo = k.todo[1:]
		if part == ".." {
			if err := k.up(); err != nil {
				return nil, err
			}
			continue
		}
		if len(k.lost) > 0 {
			k.lost = append(k.lost, part)
			continue
		}
		s, err := k.step(part)
		if s != nil || err != nil {
			return s, err
		}
	}
	if n := len(k.lost); n > 0 {
		return &Target{asked: k.asked, Rel: k.rel(k.lost...), Dir: k.top(), Name: k.lost[n-1], missing: k.lost[:n-1]}, nil
	}
	info, err := k.top().Stat(".")
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", k.asked, reason(err))
	}
	return &Target{asked: k.asked, Rel: k.rel(), Dir: k.top(), Name: ".", Info: info}, nil
}

func (k *walk) up() error {
	if len(k.lost) > 0 {
		return fmt.Errorf("%s: %s does not exist", k.asked, k.rel(k.lost...))
	}
	if len(k.stack) == 0 {
		return k.w.outside(k.asked)
	}
	last := len(k.stack) - 1
	_ = k.stack[last].Close() // it was only read from; nothing can be lost
	k.stack, k.names = k.stack[:last], k.names[:last]
	return nil
}

// step takes one name. It returns a target when the name is the last one.
func (k *walk) step(part string) (*Target, error) {
	info, err := k.top().Lstat(part)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		k.lost = append(k.lost, part)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("look at %s: %w", k.asked, reason(err))
	case info.Mode()&fs.ModeSymlink != 0:
		k.last = k.last || len(k.todo) == 0
		return nil, k.follow(part)
	case info.IsDir() && k.w.Denies(filepath.Join(k.w.Real, filepath.FromSlash(k.rel(part))), info):
		return nil, fmt.Errorf("%s leads into the state folder, which no tool may reach", k.asked)
	case len(k.todo) == 0:
		return &Target{asked: k.asked, Rel: k.rel(part), Dir: k.top(), Name: part, Info: info}, nil
	case !info.IsDir():
		return nil, fmt.Errorf("%s: %s is not a folder", k.asked, k.rel(part))
	}
	sub, err := Enter(k.top(), part, info)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", k.asked, reason(err))
	}
	k.stack, k.names = append(k.stack, sub), append(k.names, part)
	return nil, nil
}

// follow puts a symlink's target in the place of its name.
func (k *walk) follow(part string) error {
	if k.links++; k.links > maxLinks {
		return fmt.Errorf("%s: more than %d symlinks on the way", k.asked, maxLinks)
	}
	target, err := k.top().Readlink(part)
	if err != nil {
		return fmt.Errorf("read symlink %s: %w", k.rel(part), reason(err))
	}
	target = filepath.ToSlash(target)
	if filepath.IsAbs(target) {
		inner, ok := k.w.inside(target)
		if !ok {
			return fmt.Errorf("%s is outside the workspace: the symlink %s leads to %s", k.asked, k.rel(part), target)
		}
		for len(k.stack) > 0 {
			if err := k.up(); err != nil {
				return err
			}
		}
		target = inner
	}
	k.todo = append(names(target), k.todo...)
	return nil
}

// Enter opens a folder below dir and makes sure that it is the one that info describes.
func Enter(dir *os.Root, name string, info os.FileInfo) (*os.Root, error) {
	sub, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	got, err := sub.Stat(".")
	switch {
	case err != nil:
	case !os.SameFile(got, info):
		err = fmt.Errorf("%s was replaced meanwhile", name)
	default:
		err = admissible(sub)
	}
	if err != nil {
		_ = sub.Close() // it was only read from; nothing can be lost
		return nil, err
	}
	return sub, nil
}

// Open opens a regular file for reading and makes sure that it is the one that was looked at.
func (s *Target) Open() (*os.File, os.FileInfo, error) {
	switch {
	case s.Info == nil:
		return nil, nil, fmt.Errorf("%s does not exist", s.asked)
	case s.Info.IsDir():
		return nil, nil, fmt.Errorf("%s is a folder", s.asked)
	case !s.Info.Mode().IsRegular():
		return nil, nil, fmt.Errorf("%s is not a regular file (%s)", s.asked, kindOf(s.Info.Mode()))
	}
	return openRegular(s.Dir, s.Name, s.Info)
}

// openRegular never waits, not even for a fifo that was put in the file's place.
func openRegular(dir *os.Root, name string, want os.FileInfo) (*os.File, os.FileInfo, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", excerpt.Name(name), reason(err))
	}
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || !os.SameFile(info, want)) {
		err = errors.New("it was replaced meanwhile")
	}
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, nil, fmt.Errorf("open %s: %w", excerpt.Name(name), err)
	}
	return f, info, nil
}

// reason takes the path out of an error of the system: it names a folder handle, which says nothing
// to a reader.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func kindOf(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "fifo"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	case m&fs.ModeSymlink != 0:
		return "symlink"
	}
	return m.Type().String()
}
