package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"agent/recovery/fault"
)

// Bounds of what commands with access write keep between them.
const (
	cacheUnused = 30 * 24 * time.Hour // after which the cache of a workspace is removed
	cacheMost   = 4 << 30             // bytes of the files of one, beyond which the oldest are removed
	cacheLook   = 24 * time.Hour      // between two looks at how large it is
)

// cacheOf makes the folder in which commands in a workspace keep what their tools would work out
// again, such as compiled packages; "" where there is to be none, or where the workspace holds it.
// It is theirs alone: neither the person's own tools nor commands with more access read it.
func (s *System) cacheOf(workspace string) (string, error) {
	if s.Caches == "" {
		return "", nil
	}
	if err := os.MkdirAll(s.Caches, 0o700); err != nil {
		return "", fmt.Errorf("make the folder for caches of tools: %w", err)
	}
	base, err := resolved(s.Caches)
	if err != nil {
		return "", fmt.Errorf("find the folder for caches of tools: %w", err)
	}
	if within(base, workspace) {
		return "", nil
	}
	sum := sha256.Sum256([]byte(workspace))
	dir := filepath.Join(base, hex.EncodeToString(sum[:8]))
	if err := os.Mkdir(dir, 0o700); errors.Is(err, fs.ErrExist) {
		err = private(dir)
		if err == nil {
			now := fault.Now()
			err = os.Chtimes(dir, now, now) // it is in use
		}
		if err != nil {
			return "", fmt.Errorf("use the cache of tools for %s: %w", workspace, err)
		}
	} else if err != nil {
		return "", fmt.Errorf("make a cache of tools for %s: %w", workspace, err)
	}
	return dir, nil
}

// TrimCaches removes the caches of workspaces in which nothing ran for long, and the oldest files
// of one that has become too large. Nothing is lost by it but time.
func TrimCaches(base string, now time.Time) error {
	entries, err := os.ReadDir(base)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var all []error
	for _, e := range entries {
		dir := filepath.Join(base, e.Name())
		info, err := e.Info()
		switch {
		case err != nil || !e.IsDir():
		case now.Sub(info.ModTime()) > cacheUnused:
			all = append(all, removeAll(dir))
		default:
			all = append(all, trimCache(dir, now, cacheMost))
		}
	}
	return errors.Join(append(all, err)...)
}

// trimCache removes the oldest files of a cache that is larger than most. It looks once a day.
// Commands filled it, and may do so now: nothing outside of it is reached, wherever a link in it
// leads.
func trimCache(dir string, now time.Time, most int64) error {
	const stamp = ".trimmed"
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() // each removal was reported
	if info, err := root.Lstat(stamp); err == nil && now.Sub(info.ModTime()) < cacheLook {
		return nil
	}
	var all []error
	total, files := filesIn(root)
	for _, f := range files {
		if total <= most {
			break
		}
		if err := root.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = append(all, err)
			continue
		}
		total -= f.size
	}
	if err := root.Remove(stamp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		all = append(all, err)
	}
	return errors.Join(append(all, root.WriteFile(stamp, nil, 0o600))...)
}

// cached is a file of a cache.
type cached struct {
	path string // below the cache
	at   time.Time
	size int64
}

// filesIn lists the files of a cache, the oldest first, with the bytes of all of them. What cannot
// be read is not counted.
func filesIn(root *os.Root) (total int64, files []cached) {
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil {
			files, total = append(files, cached{path, info.ModTime(), info.Size()}), total+info.Size()
		}
		return nil
	})
	slices.SortFunc(files, func(a, b cached) int { return a.at.Compare(b.at) })
	return total, files
}

// caches are the variables by which tools find their caches below a folder.
func caches(dir string) map[string]string {
	return map[string]string{
		"XDG_CACHE_HOME": dir, "GOCACHE": filepath.Join(dir, "go-build"), "npm_config_cache": filepath.Join(dir, "npm"),
		"PIP_CACHE_DIR": filepath.Join(dir, "pip"),
	}
}
