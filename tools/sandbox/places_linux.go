//go:build !portable

package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mounted is one line of /proc/self/mountinfo (proc_pid_mountinfo(5)).
type mounted struct {
	device string // of the file system: major:minor; for btrfs the same for all subvolumes
	root   string // what of the file system is mounted
	point  string
	kind   string   // of the file system
	layers []string // of an overlay: the folders that it is made of, topmost first
}

// place is a folder or file where it lies in its file system, whatever shows it.
type place struct{ device, path string }

// readMounts lists what is mounted, in the order of mounting.
func readMounts() ([]mounted, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	return parseMounts(string(text)), nil
}

func parseMounts(text string) []mounted {
	var out []mounted
	for line := range strings.Lines(text) {
		before, after, ok := strings.Cut(line, " - ")
		own, system := strings.Fields(before), strings.Fields(after)
		if !ok || len(own) < 6 || len(system) < 2 {
			continue // no line of the kernel's
		}
		m := mounted{device: own[2], root: plainPath(own[3]), point: plainPath(own[4]), kind: system[0]}
		if m.kind == "overlay" && len(system) > 2 {
			m.layers = overlayLayers(system[2])
		}
		out = append(out, m)
	}
	return out
}

// plainPath undoes the kernel's escapes of blanks and backslashes, \040 and similar.
func plainPath(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+3 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// overlayLayers reads the folders out of an overlay's options
// (https://docs.kernel.org/filesystems/overlayfs.html): upperdir, and lowerdir as a list or one by
// one.
func overlayLayers(options string) []string {
	var out []string
	for option := range strings.SplitSeq(options, ",") {
		name, value, _ := strings.Cut(option, "=")
		value = plainPath(value)
		switch name {
		case "upperdir", "lowerdir+", "datadir+":
			out = append(out, value)
		case "lowerdir":
			out = append(out, splitLayers(value)...)
		}
	}
	return out
}

// splitLayers splits at colons; one that belongs to a name has a backslash before it.
func splitLayers(list string) []string {
	var out []string
	var name strings.Builder
	end := func() {
		if name.Len() > 0 { // two colons begin the layers that hold data only
			out = append(out, name.String())
		}
		name.Reset()
	}
	for i := 0; i < len(list); i++ {
		switch {
		case list[i] == '\\' && i+1 < len(list):
			i++
			name.WriteByte(list[i])
		case list[i] == ':':
			end()
		default:
			name.WriteByte(list[i])
		}
	}
	end()
	return out
}

// placeOf finds where a path without links lies: in the mount with the longest point above it, of
// these the last.
func placeOf(path string, all []mounted) (place, bool) {
	best := -1
	for i, m := range all {
		if within(path, m.point) && (best < 0 || len(m.point) >= len(all[best].point)) {
			best = i
		}
	}
	if best < 0 || !filepath.IsAbs(path) {
		return place{}, false
	}
	return place{all[best].device, moved(path, all[best].point, all[best].root)}, true
}

// moved is a path below one folder as it is below another.
func moved(path, from, to string) string {
	rest := strings.TrimPrefix(strings.TrimPrefix(path, from), "/")
	return filepath.Join(to, rest)
}

// mostPlaces bounds the search, so that it ends whatever the layers are.
const mostPlaces = 256

// showing lists the paths at which mounts show a path or something below it: it itself first, then
// every other mount of the same file system that has it, the layers of an overlay on which it lies,
// and every overlay that has it in a layer.
func showing(path string, all []mounted) []string {
	first, ok := placeOf(path, all)
	out := []string{path}
	if !ok {
		return out
	}
	places := []place{first}
	grow := func(more func(place, []mounted) []place) {
		for i := 0; i < len(places) && len(places) < mostPlaces; i++ {
			for _, next := range more(places[i], all) {
				if !slices.Contains(places, next) {
					places = append(places, next)
				}
			}
		}
	}
	grow(place.below) // first: the other layers of an overlay above are no part of it
	grow(place.above)
	for _, p := range places {
		for _, at := range p.shown(all) {
			if !slices.Contains(out, at) {
				out = append(out, at)
			}
		}
	}
	return out
}

// shown lists the paths at which mounts of its file system show a place, whole or a part of it, and
// no other mount lies over it.
func (p place) shown(all []mounted) []string {
	var out []string
	for _, m := range all {
		at, real := "", p
		switch {
		case m.device != p.device:
			continue
		case within(p.path, m.root):
			at = moved(p.path, m.root, m.point)
		case within(m.root, p.path):
			at, real.path = m.point, m.root
		default:
			continue
		}
		if top, ok := placeOf(at, all); ok && top == real {
			out = append(out, at)
		}
	}
	return out
}

// below lists where a place of an overlay lies in its layers.
func (p place) below(all []mounted) []place {
	var out []place
	for _, m := range all {
		for _, layer := range m.layers {
			// A layer that lies out of sight is looked for where it is not: no overlay is made of
			// itself.
			if at, ok := placeOf(layer, all); ok && m.device == p.device && at.device != m.device {
				out = append(out, place{at.device, filepath.Join(at.path, p.path)})
			}
		}
	}
	return out
}

// above lists where overlays have a place, or a part of it, that lies in one of their layers.
func (p place) above(all []mounted) []place {
	var out []place
	for _, m := range all {
		for _, layer := range m.layers {
			at, ok := placeOf(layer, all)
			switch {
			case !ok, at.device != p.device, at.device == m.device:
			case within(p.path, at.path):
				out = append(out, place{m.device, moved(p.path, at.path, "/")})
			case within(at.path, p.path):
				out = append(out, place{m.device, "/"})
			}
		}
	}
	return out
}

// aliases lists every path by which a command could reach what lies at path, and path itself. What
// is mounted out of sight, since another mount lies over it, is left out.
func aliases(path string) ([]string, error) {
	all, err := readMounts()
	if err != nil {
		return nil, err
	}
	var out []string
	for i, at := range showing(path, all) {
		if _, err := os.Lstat(at); i == 0 || err == nil {
			out = append(out, at)
		}
	}
	return out, nil
}

// veiled lists where file systems are mounted that show folders from elsewhere and do not tell
// which, other than the one on which path lies.
func veiled(path string) []string {
	all, err := readMounts()
	if err != nil {
		return nil // whoever looks for aliases reports it
	}
	own, _ := placeOf(path, all)
	var out []string
	for _, m := range all {
		switch m.kind {
		case "fuse.bindfs", "fuse.fuse-overlayfs", "fuse.mergerfs", "fuse.unionfs", "fuse.unionfs-fuse", "aufs", "unionfs", "ecryptfs":
			if m.device != own.device && !slices.Contains(out, m.point) {
				out = append(out, m.point)
			}
		}
	}
	return out
}
