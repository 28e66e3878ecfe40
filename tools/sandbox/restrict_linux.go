//go:build !portable

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// restrict takes from this thread, and so from all that it starts, what the command must not have.
// It cannot be undone.
func (k *keeper) restrict() error {
	// An ordinary user outside of a user namespace has none, and drops below what could bring some.
	if k.Profile.names() || os.Geteuid() == 0 {
		if err := k.Profile.dropPowers(); err != nil {
			return fmt.Errorf("drop capabilities: %w", err)
		}
	}
	if k.Profile.Access == Full {
		return nil
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("drop new privileges: %w", err)
	}
	if k.Profile.Support.Landlock > 0 {
		if err := k.Profile.landlock(ToStrings(k.Env)); err != nil {
			return fmt.Errorf("landlock: %w", err)
		}
	}
	if k.Profile.Support.Seccomp {
		if err := k.Profile.seccomp(); err != nil {
			return fmt.Errorf("seccomp: %w", err)
		}
	}
	return nil
}

// kept are the capabilities that root keeps inside: over files, users and ports, and nothing of the
// system.
func kept() []uintptr {
	return []uintptr{
		unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_KILL, unix.CAP_SETGID, unix.CAP_SETUID,
		unix.CAP_NET_BIND_SERVICE,
	}
}

// dropPowers bounds what any program inside can ever have. A full command of root's keeps root's
// powers.
func (p Profile) dropPowers() error {
	root := os.Geteuid() == 0
	if root && p.Access == Full {
		return nil
	}
	keep := map[uintptr]bool{}
	if root {
		for _, c := range kept() {
			keep[c] = true
		}
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if keep[c] {
			continue
		}
		// An older kernel does not know the last ones.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	var none [2]unix.CapUserData
	for c := range keep {
		none[c/32].Permitted |= 1 << (c % 32)
	}
	if root {
		none[0].Effective, none[1].Effective = none[0].Permitted, none[1].Permitted
	}
	return unix.Capset(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &none[0])
}

// landlockABI is 0 where the kernel has none.
func landlockABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// Rights of Landlock that a rule may give.
const (
	rightsRead   = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	rightsDevice = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	rightsFirst = 1<<13 - 1 // all of the first ABI
	rightsMake  = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	// What can be given for something that is no folder.
	rightsFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
)

// handled are the rights that Landlock decides over, by ABI version.
func handled(abi int) uint64 {
	rights := uint64(rightsFirst)
	if abi >= 2 {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= abiTruncate {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= abiDevices {
		rights |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= abiSockets {
		rights |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	}
	return rights
}

// landlock restricts files, and where there is no network namespace TCP too, and signals and
// abstract sockets to what runs inside.
//
// The library go-landlock does not fit. It opens the path of a rule itself and follows links, while
// here a rule is for the very file whose type decides over its rights. Before ABI 8 it restricts
// each thread on its own, and with scoped signals the threads of one process cannot reach each
// other then (erratum 2 of Landlock); here only the thread that starts the command is restricted.
func (p Profile) landlock(env []string) error {
	abi := p.Support.Landlock
	if have := landlockABI(); have < abi {
		return fmt.Errorf("ABI %d was promised, this kernel has %d", abi, have)
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled(abi)}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if abi >= abiNet {
		size += unsafe.Sizeof(attr.Handled_access_net)
		if !p.names() {
			attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		}
	}
	if abi >= abiScopes {
		size += unsafe.Sizeof(attr.Scoped)
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("make a ruleset: %w", errno)
	}
	defer unix.Close(int(fd)) // only a handle
	for _, r := range p.rules(env) {
		if err := addRule(int(fd), r, attr.Handled_access_fs); err != nil {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("restrict: %w", errno)
	}
	return nil
}

// rule gives rights over a path and all below it.
type rule struct {
	path   string
	rights uint64
}

// rules lists what the command may do with files.
func (p Profile) rules(env []string) []rule {
	const all = ^uint64(rightsMake | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV)
	var list []rule
	if p.names() {
		list = append(list, rule{"/", rightsRead})
		for _, dir := range p.scratch(env) {
			list = append(list, rule{dir, all})
		}
	} else {
		list = around("/", p.Hidden)
	}
	if p.Access == Write {
		for _, dir := range append([]string{p.Workspace, p.Temp}, p.Writable...) {
			if dir == "" {
				continue
			}
			fenced := slices.Concat(p.Hidden, p.Guarded, p.Links)
			if !p.names() && anyWithin(fenced, dir) {
				continue // without namespaces nothing could keep it from the state or the policy below
			}
			list = append(list, rule{dir, all})
		}
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty", "ptmx"} {
		list = append(list, rule{"/dev/" + name, rightsDevice})
	}
	if !p.names() && p.Access == Read {
		return append(list, rule{"/dev/pts", rightsRead}) // other people's terminals are there too
	}
	return append(list, rule{"/dev/pts", rightsDevice | rightsRead})
}

func anyWithin(paths []string, dir string) bool {
	for _, path := range paths {
		if within(path, dir) {
			return true
		}
	}
	return false
}

// around lets everything be read but the hidden folders: Landlock takes nothing away from what a
// rule gives, so on the way to such a folder each of its neighbours gets a rule. Names on that way
// can be listed, even the hidden folder's; its files cannot be opened.
func around(dir string, hidden []string) []rule {
	for _, h := range hidden {
		if h == dir {
			return nil
		}
	}
	if !anyWithin(hidden, dir) {
		return []rule{{dir, rightsRead}}
	}
	list := []rule{{dir, unix.LANDLOCK_ACCESS_FS_READ_DIR}}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return list // what cannot be listed cannot be given
	}
	for _, e := range entries {
		path := dir + "/" + e.Name()
		if dir == "/" {
			path = dir + e.Name()
		}
		list = append(list, around(path, hidden)...)
	}
	return list
}

// unopened says that nobody can open what lies there: it is gone, closed to this user, or on a file
// system that answers no more, such as a FUSE mount whose program has ended.
func unopened(err error) bool {
	return slices.ContainsFunc([]error{unix.ENOENT, unix.EACCES, unix.ENOTCONN, unix.ESTALE, unix.EIO}, func(no error) bool { return errors.Is(err, no) })
}

// addRule leaves out what is not there, and links: what one leads to has a rule of its own, or must
// not get one.
func addRule(ruleset int, r rule, handled uint64) error {
	fd, err := unix.Open(r.path, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if unopened(err) {
		return nil // nor can the command open it
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", r.path, err)
	}
	defer unix.Close(fd) // only a handle
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if unopened(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", r.path, err)
	}
	rights := r.rights & handled
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= rightsFile
	}
	if rights == 0 || st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return nil
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("let %s: %w", r.path, errno)
	}
	return nil
}
