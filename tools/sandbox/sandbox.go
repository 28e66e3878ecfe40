// Package sandbox has the operating system confine what the host starts: commands, git, servers of
// tools.
//
// A confined command starts as `agent __sandbox` in namespaces of its own. That process, the first
// of its pid namespace, lays the file system out, restricts itself for good (Landlock, seccomp,
// capabilities), starts the command and reaps what the command leaves. Each layer stands alone:
// namespaces decide what is there at all, Landlock what may be done with it, seccomp closes what
// neither covers. What a system can do is found by trying it (Probe), is promised when a call is
// decided upon (Support.Holds), and a start that cannot keep the promise is refused.
//
// On macOS sandbox-exec starts the command, with a profile made for it (seatbelt.go). Where nothing
// confines (the BSDs, and Linux under the build tag portable), no access holds.
package sandbox

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Command is the hidden first argument with which the binary becomes the confining process (Main).
const Command = "__sandbox"

// Access is what a command may do.
type Access string

// The accesses, from the tightest to the loosest.
const (
	Read  Access = "read"  // nothing can be written, no network
	Write Access = "write" // the workspace and a private temporary folder, no network
	Full  Access = "full"  // whatever the person may, but for the state folder and the policy
)

// Accesses lists the accesses from the tightest to the loosest.
func Accesses() []Access { return []Access{Read, Write, Full} }

// ABI versions of Landlock from which on it has what is wanted here.
const (
	abiTruncate = 3
	abiNet      = 4
	abiDevices  = 5
	abiScopes   = 6
	abiSockets  = 9
)

// Support is what this system can enforce.
type Support struct {
	Landlock   int      `json:"landlock"`           // ABI version; 0 is none
	Namespaces bool     `json:"namespaces"`         // for read and write: user, pid, mount, net and ipc namespaces
	Hiding     bool     `json:"hiding"`             // for full: pid and mount namespaces, with a user namespace where they need one
	Seccomp    bool     `json:"seccomp"`            // for this processor's architecture
	Seatbelt   bool     `json:"seatbelt,omitempty"` // for read and write, on macOS: sandbox-exec
	Open       bool     `json:"open,omitempty"`     // full commands run in no namespace, by configuration
	Missing    []string `json:"missing,omitempty"`  // what is not to be had, and how to get it, as sentences
}

// Holds says whether a call with this access keeps to it: one that reads may be declared a read,
// one that writes a local write, and a full one can neither see the state folder nor change the
// policy.
func (s Support) Holds(a Access) bool {
	switch a {
	case Read:
		// A mount that is read-only lets a FIFO be written: that takes Landlock.
		return s.Seatbelt || s.Seccomp && (s.Namespaces && s.Landlock > 0 || s.Landlock >= abiScopes)
	case Write:
		return s.Seatbelt || s.Seccomp && s.Namespaces
	case Full:
		return s.Hiding && !s.Open
	}
	return false
}

// Level is what confines a call with this access: short and stable. "none" if nothing does.
func (s Support) Level(a Access) string {
	var layers []string
	if a == Full {
		if s.Holds(Full) {
			layers = append(layers, "namespaces")
		}
	} else {
		if s.Seatbelt {
			layers = append(layers, "sandbox-exec")
		}
		if s.Namespaces {
			layers = append(layers, "namespaces")
		}
		if s.Landlock > 0 {
			layers = append(layers, fmt.Sprintf("landlock-%d", s.Landlock))
		}
		if s.Seccomp {
			layers = append(layers, "seccomp")
		}
	}
	if len(layers) == 0 {
		return "none"
	}
	return strings.Join(layers, "+")
}

// Profile is what one command is confined to. All paths are absolute, and but for the last name of
// Links without symbolic links.
type Profile struct {
	Access    Access   `json:"access"`
	Support   Support  `json:"support"`             // what confines it; a start that cannot reach this is refused
	Workspace string   `json:"workspace,omitempty"` // writable with Write
	Temp      string   `json:"temp,omitempty"`      // with Write: the private temporary folder (TempFolder); with none, an empty one that is gone after
	Cache     string   `json:"cache,omitempty"`     // with Write: where tools keep what they would work out again; among Writable
	Hidden    []string `json:"hidden,omitempty"`    // folders that are not there: the state folder
	Guarded   []string `json:"guarded,omitempty"`   // folders and files that can be read and never changed: the policy
	Writable  []string `json:"writable,omitempty"`  // with Write: further folders and files
	Readable  []string `json:"readable,omitempty"`  // further folders, which are seen though one above them is covered
	Links     []string `json:"links,omitempty"`     // symbolic links by which the hidden and the guarded are found: they stay what they are
}

// Confines says whether anything confines the command.
func (p Profile) Confines() bool { return p.Support.Level(p.Access) != "none" }

// names says whether the namespaces are part of what was promised.
func (p Profile) names() bool {
	if p.Access == Full {
		return p.Support.Holds(Full)
	}
	return p.Support.Namespaces
}

// check refuses what cannot be confined as asked.
func (p Profile) check() error {
	switch p.Access {
	case Read, Write, Full:
	default:
		return fmt.Errorf("there is no access %q", p.Access)
	}
	for _, list := range [][]string{{p.Workspace, p.Temp}, p.Hidden, p.Guarded, p.Writable, p.Readable, p.Links} {
		for _, path := range list {
			if path != "" && (!filepath.IsAbs(path) || filepath.Clean(path) != path) {
				return fmt.Errorf("the path %q is not absolute and clean", path)
			}
		}
	}
	for _, h := range p.Hidden {
		for _, w := range append([]string{p.Workspace, p.Temp}, p.Writable...) {
			if w != "" && within(w, h) {
				return fmt.Errorf("%s lies inside %s, which no command may see", w, h)
			}
		}
	}
	if p.Access == Write {
		for _, w := range append([]string{p.Workspace}, p.Writable...) {
			if w == "/" {
				return fmt.Errorf("the whole file system cannot be made writable: choose another folder, or access full")
			}
		}
	}
	return nil
}

// within says whether path is dir or lies below it.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// tempNames are the folders that a private temporary folder stands in for.
func tempNames() []string { return []string{"/tmp", "/var/tmp"} }

// scratch lists the folders for temporary files that the command may fill, the first one for
// TMPDIR. With Read none is among them in which something from outside shows: Landlock gives a
// right to a folder and all below it, and there would be no way to keep the command from writing to
// a FIFO in the workspace while it may write beside it.
func (p Profile) scratch(env []string) []string {
	if !p.names() || p.Access == Full {
		return nil
	}
	outside := append([]string{p.Workspace}, p.Writable...)
	if p.Access == Read {
		outside = append(p.readable(env), p.Workspace)
	}
	return slices.DeleteFunc(append(tempNames(), "/dev/shm"), func(dir string) bool {
		if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
			return true // a link: it is another one of them
		}
		return slices.ContainsFunc(outside, func(path string) bool {
			return path == dir || p.Access == Read && path != "" && within(path, dir)
		})
	})
}

// readable lists what a command can read though the folder above it may be covered.
func (p Profile) readable(env []string) []string {
	return slices.Concat([]string{p.Workspace, homeOf(env)}, p.Guarded, p.Readable)
}

func homeOf(env []string) string {
	for _, pair := range env {
		if home, ok := strings.CutPrefix(pair, "HOME="); ok && filepath.IsAbs(home) {
			return filepath.Clean(home)
		}
	}
	return ""
}

// environ fits an environment to what the command finds inside.
func (p Profile) environ(env []string) []string {
	if !p.Confines() {
		return env
	}
	set := map[string]string{}
	if p.names() {
		// Folders that are mount points here are none outside.
		set["GIT_DISCOVERY_ACROSS_FILESYSTEM"] = "1"
	}
	if p.Access == Full {
		return with(env, set)
	}
	set["GIT_TERMINAL_PROMPT"] = "0"
	temp := p.Temp
	if free := p.scratch(env); len(free) > 0 {
		temp = free[0]
	}
	if temp != "" {
		set["TMPDIR"] = temp
		if !p.cacheWritable(env) {
			maps.Copy(set, caches(cmp.Or(p.Cache, filepath.Join(temp, ".cache"))))
		}
	}
	if p.Access == Read {
		set["GIT_OPTIONAL_LOCKS"] = "0"
	}
	return with(env, set)
}

// with sets variables of an environment.
func with(env []string, set map[string]string) []string {
	var out []string
	for _, pair := range env {
		name, _, _ := strings.Cut(pair, "=")
		if _, ours := set[name]; !ours {
			out = append(out, pair)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(set)) {
		out = append(out, name+"="+set[name])
	}
	return out
}

// cacheWritable says whether the person let commands write the usual cache.
func (p Profile) cacheWritable(env []string) bool {
	if p.Access != Write {
		return false
	}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		if name == "XDG_CACHE_HOME" || name == "HOME" {
			if name == "HOME" {
				value = filepath.Join(value, ".cache")
			}
			for _, w := range append([]string{p.Workspace}, p.Writable...) {
				if w != "" && within(value, w) {
					return true
				}
			}
		}
	}
	return false
}
