//go:build !portable

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// kind of a mount. At one path the kinds are mounted in this order.
type kind int

const (
	cover  kind = iota // a folder of the system is replaced
	attach             // a folder from outside, writable or not, stays where it is
	pin                // a folder or link becomes a mount point, so that it can be neither renamed nor replaced
	hide               // a folder is not there
	guard              // a folder or file can only be read
)

// mount is one step of laying the file system out.
type mount struct {
	kind kind
	path string
	tree int // of a cover or an attachment: what is put there; -1 makes an empty one
}

// layOut makes the file system that the command sees. It runs in mount and pid namespaces of its
// own.
func (k *keeper) layOut() error {
	p := k.Profile
	// What is mounted here must never show outside. A full command still sees what a person mounts
	// later.
	propagation := uintptr(unix.MS_PRIVATE)
	if p.Access == Full {
		propagation = unix.MS_SLAVE
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|propagation, ""); err != nil {
		return fmt.Errorf("keep mounts inside: %w", err)
	}
	var list []mount
	if p.Access != Full {
		var err error
		if list, err = p.covers(ToStrings(k.Env)); err != nil {
			return err
		}
		if err := setAttributes(unix.AT_FDCWD, "/", unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NODEV); err != nil {
			return fmt.Errorf("make the file system read-only: %w", err)
		}
		if err := loopback(); err != nil {
			return fmt.Errorf("start the loopback: %w", err)
		}
	}
	list = append(list, p.fences()...)
	slices.SortStableFunc(list, func(a, b mount) int {
		if c := strings.Compare(a.path+"/", b.path+"/"); c != 0 {
			return c // a folder comes before what lies below it
		}
		return int(a.kind) - int(b.kind)
	})
	for _, m := range list {
		if err := p.put(m); err != nil {
			return err
		}
	}
	return p.finish()
}

// covers lists what replaces the system's folders and what shows through. All of it is opened
// before anything is covered or made read-only, and so keeps what it was.
func (p Profile) covers(env []string) ([]mount, error) {
	open := map[string]bool{} // the writable paths
	if p.Access == Write {
		for _, w := range append([]string{p.Workspace}, p.Writable...) {
			open[w] = w != ""
		}
	}
	var list []mount
	for _, path := range []string{"/dev", "/proc", "/run", "/var/run", "/tmp", "/var/tmp"} {
		if !isFolder(path) || open[path] || path == p.Workspace {
			continue
		}
		m := mount{kind: cover, path: path, tree: -1}
		if p.Access == Write && p.Temp != "" && slices.Contains(tempNames(), path) {
			var err error
			if m.tree, err = tree(p.Temp, unix.MOUNT_ATTR_NODEV); err != nil {
				return nil, err
			}
		}
		list = append(list, m)
	}
	covered := slices.Clone(list)
	show := func(path string, attributes uint64) error {
		fd, err := tree(path, attributes|unix.MOUNT_ATTR_NODEV)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		list = append(list, mount{kind: attach, path: path, tree: fd})
		return err
	}
	for path := range open {
		if open[path] {
			if err := show(path, 0); err != nil {
				return nil, err
			}
		}
	}
	// What can be read stays to be read below a folder that is covered.
	readable := p.readable(env)
	for i, path := range readable {
		if path == "" || open[path] || slices.Contains(readable[:i], path) || !slices.ContainsFunc(covered, func(m mount) bool {
			return path != m.path && within(path, m.path)
		}) {
			continue
		}
		if err := show(path, unix.MOUNT_ATTR_RDONLY); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// fences lists what keeps the command from the state folder and from the policy. Both end with
// their folder: moved away, another could be put in its place. So every folder on the way to one of
// them that could be moved becomes a mount point.
func (p Profile) fences() []mount {
	var list []mount
	if p.Access == Full {
		list = append(list, mount{kind: cover, path: "/proc", tree: -1})
	}
	pinned := map[string]bool{}
	add := func(kind kind, path string) {
		list = append(list, mount{kind: kind, path: path})
		for up := filepath.Dir(path); up != "/"; up = filepath.Dir(up) {
			if !pinned[up] && p.reaches(up) && movable(up) {
				pinned[up] = true
				list = append(list, mount{kind: pin, path: up})
			}
		}
	}
	for _, path := range p.Hidden {
		add(hide, path)
	}
	for _, path := range p.Guarded {
		if p.reaches(path) {
			add(guard, path)
		}
	}
	for _, path := range p.Links {
		if !pinned[path] && p.reaches(path) && movable(path) {
			pinned[path] = true
			add(pin, path)
		}
	}
	return list
}

// reaches says whether the command could change something at path.
func (p Profile) reaches(path string) bool {
	if p.Access == Full {
		return true
	}
	return p.Access == Write && slices.ContainsFunc(append([]string{p.Workspace}, p.Writable...), func(w string) bool {
		return w != "" && within(path, w)
	})
}

// movable says whether this user could rename path: the folder that holds it is writable, or could
// be made so.
func movable(path string) bool {
	var st unix.Stat_t
	if err := unix.Stat(filepath.Dir(path), &st); err != nil {
		return false
	}
	return os.Geteuid() == 0 || int(st.Uid) == os.Geteuid() || unix.Access(filepath.Dir(path), unix.W_OK) == nil
}

func (p Profile) put(m mount) error {
	var err error
	switch m.kind {
	case cover:
		err = p.cover(m)
	case attach:
		if err = mountPoint(m); err == nil {
			err = move(m.tree, m.path)
		}
	case pin, guard:
		var attributes uint64
		if m.kind == guard {
			attributes = unix.MOUNT_ATTR_RDONLY
		}
		var fd int
		if fd, err = tree(m.path, attributes); err == nil {
			err = move(fd, m.path)
		}
	case hide:
		var info fs.FileInfo
		if info, err = os.Lstat(m.path); err == nil && !info.IsDir() {
			err = blank(m.path)
		} else if err == nil {
			err = unix.Mount("tmpfs", m.path, "tmpfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=0500,size=4k")
		}
	}
	if errors.Is(err, fs.ErrNotExist) && m.kind >= pin {
		return nil // it lies below a folder that is covered, and what is not there needs no fence
	}
	if err != nil {
		return fmt.Errorf("mount %s: %w", m.path, err)
	}
	return nil
}

// blank puts something in the place of a file, such as one of the state folder that is mounted by
// itself, that cannot be opened.
func blank(path string) error {
	fd, err := tree("/dev/null", unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return err
	}
	return move(fd, path)
}

// cover replaces a folder of the system.
func (p Profile) cover(m mount) error {
	const flags = unix.MS_NOSUID | unix.MS_NODEV
	switch {
	case m.tree >= 0:
		return move(m.tree, m.path)
	case m.path == "/proc":
		only := uintptr(unix.MS_RDONLY) // the kernel's settings are root's, and root of a user namespace is root to them
		if p.Access == Full {
			only = 0
		}
		return unix.Mount("proc", m.path, "proc", flags|unix.MS_NOEXEC|only, "")
	case m.path == "/dev":
		return devices()
	case slices.Contains(tempNames(), m.path):
		return unix.Mount("tmpfs", m.path, "tmpfs", flags, "mode=1777,size=512m,nr_inodes=65536")
	}
	return unix.Mount("tmpfs", m.path, "tmpfs", flags|unix.MS_NOEXEC, "mode=0755,size=64k")
}

// finish makes read-only what had to take mount points first.
func (p Profile) finish() error {
	if p.Access == Full {
		return nil
	}
	for _, path := range []string{"/dev", "/run", "/var/run"} {
		var st unix.Statfs_t
		if !isFolder(path) || unix.Statfs(path, &st) != nil || st.Type != unix.TMPFS_MAGIC || p.Access == Write && (p.reaches(path)) {
			continue
		}
		if err := unix.MountSetattr(unix.AT_FDCWD, path, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fmt.Errorf("make %s read-only: %w", path, err)
		}
	}
	return nil
}

// devices makes a /dev of what harms nobody.
func devices() error {
	nodes := []string{"null", "zero", "full", "random", "urandom", "tty"}
	trees := make([]int, len(nodes))
	for i, name := range nodes {
		fd, err := unix.OpenTree(unix.AT_FDCWD, "/dev/"+name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return fmt.Errorf("open /dev/%s: %w", name, err)
		}
		// The file system as a whole lets no device be opened by now; these it does.
		if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_RDONLY}); err != nil {
			return fmt.Errorf("open /dev/%s: %w", name, err)
		}
		trees[i] = fd
	}
	if err := unix.Mount("tmpfs", "/dev", "tmpfs", unix.MS_NOSUID|unix.MS_NOEXEC, "mode=0755,size=64k"); err != nil {
		return err
	}
	for i, name := range nodes {
		if err := unix.Mknod("/dev/"+name, unix.S_IFREG|0o644, 0); err != nil {
			return fmt.Errorf("make a mount point for /dev/%s: %w", name, err)
		}
		if err := move(trees[i], "/dev/"+name); err != nil {
			return err
		}
	}
	for name, to := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx",
	} {
		if err := os.Symlink(to, "/dev/"+name); err != nil {
			return err
		}
	}
	for _, name := range []string{"/dev/pts", "/dev/shm"} {
		if err := os.Mkdir(name, 0o755); err != nil {
			return err
		}
	}
	if err := unix.Mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620"); err != nil {
		return err
	}
	return unix.Mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777,size=512m,nr_inodes=65536")
}

// mountPoint makes what a tree can be put on, where nothing is: below a folder that was covered.
func mountPoint(m mount) error {
	var st unix.Stat_t
	if err := unix.Fstat(m.tree, &st); err != nil {
		return err
	}
	if _, err := os.Stat(m.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return os.MkdirAll(m.path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(m.path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(m.path, os.O_CREATE|os.O_RDONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

// tree opens a copy of what is mounted at path and below it, with attributes set on all of it. A
// link is a link, and none is expected on the way.
func tree(path string, attributes uint64) (int, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW)
	if err == nil && attributes != 0 {
		err = setAttributes(fd, "", attributes)
	}
	if err != nil {
		return -1, fmt.Errorf("open %s: %w", path, err)
	}
	return fd, nil
}

func setAttributes(at int, path string, attributes uint64) error {
	return unix.MountSetattr(at, path, unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attributes})
}

func move(tree int, path string) error {
	err := unix.MoveMount(tree, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH)
	_ = unix.Close(tree) // it is mounted, or the start is refused
	return err
}

func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// loopback lets programs that test themselves over 127.0.0.1 do so: the network is theirs alone.
func loopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s) // only a handle
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, r)
}
