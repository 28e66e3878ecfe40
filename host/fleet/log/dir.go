package log

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	temporary = ".new-"   // begins the names of files that are being written
	forgotten = time.Hour // after which a file that is being written is somebody's who was killed
	digits    = 8         // of a place, at least
)

// dir keeps logs in a folder: namespace/root/place. An entry is written to a file of another name,
// which link(2) then gives the name of the place: it fails if that name is taken, also on network
// file systems. Nothing is ever replaced.
type dir struct {
	path string // of the namespace

	mu   sync.Mutex
	made map[string]bool // folders of roots whose names are on the disk
}

func openDir(path, namespace string) (Log, error) {
	path = strings.TrimPrefix(path, "//")
	if !filepath.IsAbs(path) {
		return nil, fmt.Errorf("open the log: %.200q names no folder from the root on: dir:/FOLDER", "dir:"+path)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open the log: there is no folder %.200q; make it, or mount what every host shares", path)
	case err != nil:
		return nil, fmt.Errorf("open the log: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("open the log: %.200q is no folder", path)
	}
	d := &dir{path: filepath.Join(path, namespace), made: map[string]bool{}}
	if err := makeFolder(d.path); err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return d, nil
}

// makeFolder makes a folder, and has its name on the disk, whoever made it.
func makeFolder(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (d *dir) folder(root string) string { return filepath.Join(d.path, root) }

func placeName(place int64) string { return fmt.Sprintf("%0*d", digits, place) }

func (d *dir) Create(ctx context.Context, root string, place int64, entry []byte) error {
	if err := check(root, place); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.begin(root); err != nil {
		return err
	}
	folder := d.folder(root)
	name := filepath.Join(folder, placeName(place))
	err := error(fs.ErrExist)
	if _, missing := os.Lstat(name); missing != nil {
		err = d.link(folder, name, entry)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// Whoever hears that a place is taken may rely on it as whoever took it does.
	if err := syncFolder(folder); err != nil {
		return err
	}
	if err != nil {
		return ErrTaken
	}
	return nil
}

// begin makes the folder of a root.
func (d *dir) begin(root string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.made[root] {
		return nil
	}
	if err := makeFolder(d.folder(root)); err != nil {
		return err
	}
	d.made[root] = true
	return nil
}

// link writes an entry, and gives it its name.
func (d *dir) link(folder, name string, entry []byte) error {
	f, err := os.CreateTemp(folder, temporary+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(entry)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Link(f.Name(), name)
	}
	_ = os.Remove(f.Name()) // a name of what is stored, or of nothing; Last removes what stays
	return err
}

func (d *dir) Read(ctx context.Context, root string, place int64) ([]byte, error) {
	if err := check(root, place); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(d.folder(root), placeName(place)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, d.none()
	}
	return data, err
}

// none is ErrNone, unless the folder itself is gone: what is not mounted is not empty.
func (d *dir) none() error {
	if _, err := os.Stat(d.path); err != nil {
		return fmt.Errorf("the folder of the log: %w", err)
	}
	return ErrNone
}

func (d *dir) Last(ctx context.Context, root string) (int64, error) {
	if err := CheckRoot(root); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	f, err := os.Open(d.folder(root))
	if errors.Is(err, fs.ErrNotExist) {
		if err := d.none(); err != ErrNone {
			return 0, err
		}
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	names, err := f.Readdirnames(-1)
	if err := errors.Join(err, f.Close()); err != nil {
		return 0, err
	}
	last := int64(0)
	for _, name := range names {
		if strings.HasPrefix(name, temporary) {
			sweep(filepath.Join(d.folder(root), name))
		}
		if place, err := strconv.ParseInt(name, 10, 64); err == nil && placeName(place) == name {
			last = max(last, place)
		}
	}
	return last, nil
}

// sweep removes a file that somebody began to write long ago.
func sweep(path string) {
	if info, err := os.Lstat(path); err == nil && time.Since(info.ModTime()) > forgotten {
		_ = os.Remove(path) // it disturbs nobody
	}
}

func (d *dir) Roots(ctx context.Context, each func(root string) error) error {
	folders, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	slices.SortFunc(folders, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, f := range folders {
		if !f.IsDir() || CheckRoot(f.Name()) != nil {
			continue
		}
		last, err := d.Last(ctx, f.Name())
		if err == nil && last > 0 {
			err = each(f.Name())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *dir) Close() error { return nil }
