package workspace

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"agent/recovery/journal"
	"agent/scripts/testkit/seed"
	"agent/tools/scan"
)

// aManifest is what a look could have seen.
func aManifest(r *rand.Rand) (all map[string]seen, left map[string]journal.LeftReason, at int64) {
	all, left, at = map[string]seen{}, map[string]journal.LeftReason{}, r.Int64()
	name := func() string {
		var parts []string
		for range 1 + r.IntN(3) {
			parts = append(parts, []string{"a", "b c", "caf\xe9", "new\nline", "long"}[r.IntN(5)])
		}
		return strings.Join(parts, "/")
	}
	for range r.IntN(30) {
		v := &journal.FileVersion{Kind: kinds[r.IntN(4)], Mode: r.Uint32N(0o10000), Size: r.Int64N(1 << 40)}
		s := seen{stat: scan.Entry{Kind: v.Kind, Mode: v.Mode, Size: v.Size, Inode: r.Uint64(), Mtime: r.Int64() - r.Int64(), Ctime: r.Int64(), Links: 1}, v: v, young: r.IntN(2) == 0}
		switch r.IntN(5) {
		case 0:
			v.Kept = strings.Repeat("0a", 16)
		case 1:
			v.Git = strings.Repeat("0b", 20)
		case 2:
			v.Link = "to\n"
		case 3:
			v.Lost, v.Stamp, s.stat.Out = journal.LeftTooLarge, "1-2", journal.LeftTooLarge
		case 4:
			s = seen{young: s.young}
		}
		all[name()] = s
	}
	for range r.IntN(5) {
		left[name()] = journal.LeftReasons()[r.IntN(7)]
	}
	return all, left, at
}

func TestManifest(t *testing.T) {
	for i := range seed.Numbers(t, 2000) {
		all, left, at := aManifest(rand.New(rand.NewPCG(i, 1)))
		gotAll, gotLeft, gotAt, err := decode(encode(sortedNames(all), all, left, at))
		if err != nil || !reflect.DeepEqual(gotAll, all) || !maps.Equal(gotLeft, left) || gotAt != at {
			t.Fatalf("%d: %v\n got %+v %v %d\nwant %+v %v %d", i, err, gotAll, gotLeft, gotAt, all, left, at)
		}
		data := encode(sortedNames(all), all, left, at)
		if same, err := Renamed(data, func(name string) string { return name }); err != nil || !bytes.Equal(same, data) {
			t.Fatalf("%d: with the same names it is another manifest: %v", i, err)
		}
	}
}

// A manifest that is damaged is refused, and is never more than what it is made from.
func FuzzManifest(f *testing.F) {
	for i := range uint64(2) {
		all, left, at := aManifest(rand.New(rand.NewPCG(i, 1)))
		f.Add(encode(sortedNames(all), all, left, at))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		all, left, at, err := decode(data)
		if err != nil {
			return
		}
		if len(all)+len(left) > len(data) {
			t.Fatalf("%d paths of %d bytes", len(all)+len(left), len(data))
		}
		again, leftAgain, atAgain, err := decode(encode(sortedNames(all), all, left, at))
		if err != nil || !reflect.DeepEqual(again, all) || !maps.Equal(leftAgain, left) || atAgain != at {
			t.Fatal(err)
		}
	})
}
