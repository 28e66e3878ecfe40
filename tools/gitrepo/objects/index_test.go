package objects

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"agent/scripts/testkit/seed"
)

// An index finds what a map would find, whatever the order in which its file has the paths.
func TestIndexFinds(t *testing.T) {
	for seed := range seed.Numbers(t, 50) {
		r := rand.New(rand.NewPCG(seed, 3))
		names := []string{"d/a", "d/b", "d.x", "d-x/a", "e", "f/g/h"}
		some := func() (ix index, all map[string]bool) {
			all = map[string]bool{}
			for _, name := range names {
				if r.IntN(2) == 0 {
					ix.list = append(ix.list, record{name: "top/" + name, id: name, mode: ModeFile})
					all[name] = true
				}
			}
			ix.list = append(ix.list, record{name: "top/z", id: "two", flag: 2 << 12}, record{name: "top/z", id: "three", flag: 3 << 12}, record{name: "other"})
			all["z"] = true
			if r.IntN(2) == 0 {
				r.Shuffle(len(ix.list)-3, func(a, b int) { ix.list[a], ix.list[b] = ix.list[b], ix.list[a] })
			}
			return ix, all
		}
		raw, all := some()
		ix := raw.below("top")
		if got := maps.Collect(ix.All()); ix.Len() != len(all) || !maps.EqualFunc(got, all, func(Indexed, bool) bool { return true }) {
			t.Fatalf("seed %d: %v, wanted %v", seed, got, all)
		}
		find := ix.Finder()
		for range 20 {
			name := append(names, "z", "other", "top/z", "d", "")[r.IntN(len(names)+5)]
			e, ok := find(name)
			if ok != all[name] || ix.Has(name) != ok || ok && name != "z" && e.Blob != name || name == "z" && e.Blob != "two" {
				t.Fatalf("seed %d: %q: %v %+v", seed, name, ok, e)
			}
			below := slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(p string) bool { return strings.HasPrefix(p, name+"/") })
			if ix.Below(name) != below {
				t.Fatalf("seed %d: below %q: %v", seed, name, !below)
			}
		}
		raw, was := some()
		added := raw.below("top")
		var want []string
		for name := range all {
			if !was[name] {
				want = append(want, name)
			}
		}
		slices.Sort(want)
		if got := ix.Since(added); !slices.Equal(got, want) {
			t.Fatalf("seed %d: added %v, wanted %v", seed, got, want)
		}
	}
}
