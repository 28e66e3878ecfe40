package sandbox

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// seatbeltPath is what starts a confined command on macOS. Apple calls it deprecated, and keeps it.
const seatbeltPath = "/usr/bin/sandbox-exec"

// seatbeltBase is what every confined command gets: it reads, starts programs, signals what it
// started, and nothing else. Of two rules that fit the later one counts. No service of the system
// may be asked but the one that knows the names of users: others act on a command's behalf, outside
// of its confinement.
const seatbeltBase = `(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow user-preference-read)
(allow ipc-posix-sem)
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo"))
(allow file-read*)
(allow file-write-data (require-all (path "/dev/null") (vnode-type CHARACTER-DEVICE)))
`

// seatbelt is the profile of sandbox-exec for read and write, in its language (SBPL), and the
// values that it names, each "NAME=path". A path is never part of the text, so none can change its
// rules.
func (p Profile) seatbelt() (text string, values []string) {
	var b strings.Builder
	b.WriteString(seatbeltBase)
	rule := func(rule, kind, name string, paths []string) {
		for i, path := range paths {
			name := fmt.Sprintf("%s_%d", name, i)
			fmt.Fprintf(&b, "(%s (%s (param %q)))\n", rule, kind, name)
			values = append(values, name+"="+path)
		}
	}
	writable := p.seatbeltWritable()
	rule("allow file-write*", "subpath", "WRITABLE", writable)
	rule("deny file-write*", "subpath", "GUARDED", p.Guarded)
	// Who moves a folder above one of these away, or a link to it, has it under another name, and
	// may put something else in its place.
	rule("deny file-write*", "literal", "KEPT", p.seatbeltKept(writable))
	rule("deny file-read* file-write*", "subpath", "HIDDEN", p.Hidden)
	return b.String(), values
}

// seatbeltWritable is what the command may change.
func (p Profile) seatbeltWritable() []string {
	if p.Access != Write {
		return nil
	}
	return slices.DeleteFunc(slices.Concat([]string{p.Workspace, p.Temp}, p.Writable), func(path string) bool { return path == "" })
}

// seatbeltKept lists the links by which the hidden and the guarded are found, and the writable
// folders above these.
func (p Profile) seatbeltKept(writable []string) []string {
	kept := slices.Clone(p.Links)
	for _, path := range slices.Concat(p.Guarded, p.Hidden, p.Links) {
		for up := filepath.Dir(path); up != filepath.Dir(up); up = filepath.Dir(up) {
			if slices.ContainsFunc(writable, func(w string) bool { return within(up, w) }) {
				kept = append(kept, up)
			}
		}
	}
	slices.Sort(kept)
	return slices.Compact(kept)
}

// seatbeltArgs are the arguments of sandbox-exec that have it become a command.
func (p Profile) seatbeltArgs(path string, args []string) []string {
	text, values := p.seatbelt()
	out := []string{filepath.Base(seatbeltPath)}
	for _, v := range values {
		out = append(out, "-D", v)
	}
	return append(append(out, "-p", text, path), args[min(1, len(args)):]...)
}
