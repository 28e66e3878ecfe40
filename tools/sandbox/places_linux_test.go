//go:build !portable

package sandbox

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"agent/scripts/testkit/seed"
)

// table is a mountinfo of lines "device root point [kind options]".
func table(t *testing.T, lines ...string) []mounted {
	t.Helper()
	var b strings.Builder
	for _, line := range lines {
		f := append(strings.Fields(line), "ext4", "rw")
		b.WriteString("21 26 " + f[0] + " " + f[1] + " " + f[2] + " rw,relatime shared:1 - " + f[3] + " /dev/x " + f[4] + "\n")
	}
	all := parseMounts(b.String())
	if len(all) != len(lines) {
		t.Fatalf("%d mounts of %d lines", len(all), len(lines))
	}
	return all
}

// Every mount that shows the state folder is found: the same file system once more, whole or in
// part, a subvolume of btrfs, the layers of an overlay below it, and an overlay above it.
func TestShowing(t *testing.T) {
	const state = "/home/u/.local/state/agent"
	for name, c := range map[string]struct {
		mounts []string
		want   []string
	}{
		"no other":              {[]string{"8:1 / /", "0:5 / /proc proc rw"}, nil},
		"the whole file system": {[]string{"8:1 / /", "8:1 / /mnt/all"}, []string{"/mnt/all" + state}},
		"the home":              {[]string{"8:1 / /", "8:1 /home /srv/h"}, []string{"/srv/h/u/.local/state/agent"}},
		"the folder":            {[]string{"8:1 / /", "8:1 /home/u/.local/state/agent /x"}, []string{"/x"}},
		"a part of it":          {[]string{"8:1 / /", "8:1 /home/u/.local/state/agent/blobs /x", "8:1 /home/u/.local/state/agent/key /y"}, []string{"/x", "/y"}},
		"a neighbour":           {[]string{"8:1 / /", "8:1 /home/u/.local/state/agent2 /x", "8:1 /home/v /y"}, nil},
		"another file system":   {[]string{"8:1 / /", "8:2 / /home", "8:1 / /mnt/root", "8:2 / /mnt/home"}, []string{"/mnt/home/u/.local/state/agent"}},
		"a name with a blank":   {[]string{"8:1 / /", `8:1 /home /a\040b`}, []string{"/a b/u/.local/state/agent"}},
		"a subvolume of btrfs":  {[]string{"0:30 /@ / btrfs", "0:30 /@home /home btrfs", "0:30 / /mnt/top btrfs"}, []string{"/mnt/top/@home/u/.local/state/agent"}},
		"covered by another":    {[]string{"8:1 / /", "8:1 / /mnt/a", "8:3 / /mnt/a"}, nil},
		"a layer below": {[]string{"0:40 / / overlay lowerdir=/ro:/ro2,upperdir=/rw/up,workdir=/rw/w", "8:1 / /rw", "8:2 / /ro", "8:1 /up /again"},
			[]string{"/rw/up" + state, "/again" + state, "/ro" + state}},
		"an overlay above": {[]string{"8:1 / /", "0:41 / /merged overlay lowerdir=/home:/opt,upperdir=/srv/up,workdir=/srv/w", "0:41 /u /m2"},
			[]string{"/merged/u/.local/state/agent", "/m2/.local/state/agent"}},
		"an overlay of a part": {[]string{"8:1 / /", "0:41 / /merged overlay lowerdir=/opt,upperdir=/home/u/.local/state/agent/blobs"}, []string{"/merged"}},
		"layers out of sight": {[]string{"0:40 / / overlay lowerdir=/var/l/A:/var/l/B,upperdir=/var/d", "0:41 / /x overlay lowerdir=/var/l/A,upperdir=/var/e"},
			nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := showing(state, table(t, c.mounts...))
			if got[0] != state {
				t.Fatalf("the first is %s", got[0])
			}
			slices.Sort(c.want)
			rest := got[1:]
			slices.Sort(rest)
			if !slices.Equal(rest, c.want) {
				t.Errorf("got  %q\nwant %q", rest, c.want)
			}
		})
	}
}

// A colon in the name of a layer splits nothing, and two colons begin the layers that hold data.
func TestOverlayLayers(t *testing.T) {
	for options, want := range map[string][]string{
		"rw,lowerdir=/a:/b,upperdir=/c,workdir=/d": {"/a", "/b", "/c"},
		`rw,lowerdir=/a\134:x:/b`:                  {"/a:x", "/b"},
		"rw,lowerdir+=/a,lowerdir+=/b,datadir+=/c": {},
		"rw,lowerdir=/a::/b":                       {"/a", "/b"},
	} {
		got := overlayLayers(options)
		if len(want) == 0 {
			want = []string{"/a", "/b", "/c"}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", options, got)
		}
	}
}

// Whatever the mounts and layers are, the search ends.
func TestShowingEnds(t *testing.T) {
	path := rapid.SampledFrom([]string{"/", "/a", "/b", "/a/a", "/a/b", "/b/a", "/a/a/a"})
	seed.Rapid(t)
	rapid.Check(t, func(r *rapid.T) {
		var all []mounted
		for range rapid.IntRange(1, 8).Draw(r, "mounts") {
			all = append(all, mounted{
				device: rapid.SampledFrom([]string{"1", "2", "3"}).Draw(r, "device"), root: path.Draw(r, "root"), point: path.Draw(r, "point"),
				layers: rapid.SliceOfN(path, 0, 3).Draw(r, "layers"),
			})
		}
		showing(path.Draw(r, "path"), all)
	})
}
