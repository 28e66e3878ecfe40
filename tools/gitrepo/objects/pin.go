package objects

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"agent/tools/durable"
	"agent/tools/gitrepo/gitconfig"
)

// ErrOtherFS: the objects cannot have a second name in the folder of the pin. It is on another file
// system, or the system refuses links there.
var ErrOtherFS = errors.New("the objects cannot be linked there")

// Pin gives packs and loose objects a second name in a folder, so that they stay when the
// repository is destroyed: all packs, and of the loose objects those named. They are found where
// git finds them, also in what objects/info/alternates names. The folder is made, and the one that
// it is in, and looks like a repository to git; what an earlier call linked there stays. All names
// are durable at the end.
//
// What is neither packed nor loose is passed over (Has names it). A pin keeps files from being
// removed, not from being written: git writes no object anew, and whoever does is found out when
// the object is read.
func (r Repository) Pin(dir string, blobs func(yield func(hex string) bool)) (*Pin, error) {
	l := linker{dir: filepath.Clean(dir), made: map[string]bool{}, touched: map[string]bool{}, now: time.Now()}
	p := &Pin{dir: l.dir, sha256: r.SHA256}
	err := l.skeleton(r.SHA256)
	if err == nil {
		err = l.objects(r, blobs)
	}
	if err == nil {
		err = l.sync()
	}
	if err != nil {
		return nil, fmt.Errorf("pin the objects of %s in %s: %w", r.Common, dir, err)
	}
	return p, nil
}

const (
	pinHead   = "ref: refs/heads/pin\n"
	pinConfig = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
	pinSHA256 = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = sha256\n"
)

// linker is a pin that is being made.
type linker struct {
	dir     string
	made    map[string]bool // folders that are there
	touched map[string]bool // folders and files to be made durable
	now     time.Time
}

// skeleton makes what git wants to see.
func (l *linker) skeleton(sha256 bool) error {
	config := pinConfig
	if sha256 {
		config = pinSHA256
	}
	if err := l.folder(filepath.Dir(l.dir)); err != nil {
		return err
	}
	for _, dir := range []string{"", "refs", "objects", "objects/info", "objects/pack"} {
		if err := l.folder(filepath.Join(l.dir, dir)); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"HEAD": pinHead, "config": config} {
		file := filepath.Join(l.dir, name)
		if is, err := gitconfig.ReadFile(file, maxLine); err == nil && string(is) == text {
			continue
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
		l.touched[file] = true
	}
	return nil
}

// folder makes a folder, once.
func (l *linker) folder(dir string) error {
	if l.made[dir] {
		return nil
	}
	l.made[dir] = true
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	l.touched[filepath.Dir(dir)] = true
	return nil
}

// passes is how often packs are looked for anew while somebody repacks them.
const passes = 5

// objects links what there is. The loose ones are first: what is packed meanwhile is found in its
// pack.
func (l *linker) objects(r Repository, blobs func(yield func(hex string) bool)) error {
	stores := r.Stores()
	if err := l.loose(stores, r.idLength(), blobs); err != nil {
		return err
	}
	for range passes {
		again := false
		for _, store := range stores {
			moved, err := l.packs(filepath.Join(store, "pack"))
			if err != nil {
				return err
			}
			again = again || moved
		}
		if !again {
			return nil
		}
	}
	return nil // who asks for what was moved all the time learns that it is missing
}

// Stores lists the folders of objects: the repository's own, and what their info/alternates name:
// gitrepository-layout.
func (r Repository) Stores() []string {
	const deep, many = 5, 100 // git follows as deep
	list := []string{filepath.Join(r.Common, "objects")}
	for depth, from := 0, 0; depth < deep; depth++ {
		upTo := len(list)
		for _, store := range list[from:upTo] {
			text, _ := gitconfig.ReadFile(filepath.Join(store, "info", "alternates"), gitconfig.MaxFile) // most have none
			for line := range bytes.Lines(text) {
				to := strings.TrimSuffix(string(line), "\n")
				if to == "" || to[0] == '#' {
					continue
				}
				if to[0] == '"' {
					if to, _ = Unquote(to); to == "" {
						continue
					}
				}
				if !filepath.IsAbs(to) {
					to = filepath.Join(store, to)
				}
				if real, err := filepath.EvalSymlinks(to); err == nil && !slices.Contains(list, real) && len(list) < many {
					list = append(list, real)
				}
			}
		}
		from = upTo
	}
	return list
}

// loose links those of the named objects that lie alone in their file.
func (l *linker) loose(stores []string, idLen int, blobs func(yield func(hex string) bool)) error {
	known := make([]map[string]map[string]bool, len(stores)) // by store and first two digits
	for i := range known {
		known[i] = map[string]map[string]bool{}
	}
	var wrong error
	blobs(func(id string) bool {
		if len(id) != 2*idLen || !isHex(id[:2]) {
			return true // no object has this id
		}
		for i, store := range stores {
			names, ok := known[i][id[:2]]
			if !ok {
				names = listed(filepath.Join(store, id[:2]))
				known[i][id[:2]] = names
			}
			if !names[id[2:]] || !isHex(id) {
				continue
			}
			to := filepath.Join(l.dir, "objects", id[:2])
			if wrong = l.folder(to); wrong != nil {
				return false
			}
			if _, wrong = l.link(filepath.Join(store, id[:2], id[2:]), filepath.Join(to, id[2:])); wrong != nil {
				return false
			}
		}
		return true
	})
	return wrong
}

// listed lists the names in a folder; what cannot be listed has none.
func listed(dir string) map[string]bool {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()                // it was only read from; nothing can be lost
	names, _ := f.Readdirnames(-1) // what was read counts
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// packs links the packs of a folder. moved says that there was one which is not pinned yet, so that
// it has to be looked again.
func (l *linker) packs(dir string) (moved bool, err error) {
	names := listed(dir)
	for name := range names {
		stem, ok := strings.CutSuffix(name, ".idx")
		if !ok || !strings.HasPrefix(stem, "pack-") || !isHex(stem[len("pack-"):]) || !names[stem+".pack"] {
			continue
		}
		linked, err := l.pack(filepath.Join(dir, stem), filepath.Join(l.dir, "objects", "pack", stem))
		if err != nil {
			return false, err
		}
		moved = moved || linked
	}
	return moved, nil
}

// pack links a pack, and its index behind it: one that has an index is whole.
func (l *linker) pack(from, to string) (moved bool, err error) {
	if _, err := os.Lstat(to + ".idx"); err == nil {
		return false, nil
	}
	// A pack without an index is of a call that was killed, and may be of another moment.
	if err := os.Remove(to + ".pack"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	ok, err := l.link(from+".pack", to+".pack")
	if err != nil {
		return false, err
	}
	if ok {
		if ok, err = l.link(from+".idx", to+".idx"); err != nil {
			return false, err
		}
		if !ok {
			err = os.Remove(to + ".pack")
		}
	}
	_, odd := os.Lstat(from + ".pack")
	return ok || odd != nil, err
}

// young is how long ago a file was written that the kernel may not have stored yet.
const young = 2 * time.Minute

// link gives a file a second name. ok is false where there is no such file, or it is something
// else: what is no regular file is never linked.
func (l *linker) link(from, to string) (ok bool, err error) {
	if info, err := os.Lstat(from); err != nil || !info.Mode().IsRegular() {
		return false, nil
	}
	switch err := os.Link(from, to); {
	case errors.Is(err, fs.ErrExist):
		return true, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return false, nil
	case errors.Is(err, syscall.EXDEV), errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EMLINK), errors.Is(err, errors.ErrUnsupported):
		return false, fmt.Errorf("%w: %w", ErrOtherFS, err)
	case err != nil:
		return false, err
	}
	info, err := os.Lstat(to)
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, os.Remove(to) // it took the place in between
	}
	l.touched[filepath.Dir(to)] = true
	if l.now.Sub(info.ModTime()) < young {
		l.touched[to] = true
	}
	return true, nil
}

// sync makes all that was made durable. Git does so with packs and not with loose objects.
func (l *linker) sync() error {
	for name := range l.touched {
		if err := syncFile(name); err != nil {
			return err
		}
	}
	return nil
}

func syncFile(name string) error {
	info, err := os.Lstat(name)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return durable.SyncDir(name)
	}
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("make file %s durable: %w", name, err)
	}
	return errors.Join(f.Sync(), f.Close())
}

func isHex(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return s != ""
}

// Remove removes a pin. A folder that holds anything else is refused; one that is not there is
// removed already.
func Remove(dir string) error {
	names, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove the pin %s: %w", dir, err)
	}
	for _, e := range names {
		if !slices.Contains([]string{"HEAD", "config", "objects", "refs"}, e.Name()) {
			return fmt.Errorf("remove the pin %s: %s in it is of no pin", dir, e.Name())
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove the pin %s: %w", dir, err)
	}
	return nil
}
