package relate

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"agent/scripts/testkit/seed"
)

// draws makes what is known, and commits, out of a few paths, blobs, ids and verbs, so that much of
// it meets.
type draws struct{ *rapid.T }

func (d draws) pick(label string, list ...string) string {
	return rapid.SampledFrom(list).Draw(d.T, label)
}

func (d draws) some(label string, list ...string) []string {
	var out []string
	for _, s := range list {
		if rapid.Bool().Draw(d.T, label) {
			out = append(out, s)
		}
	}
	return out
}

func checkpoints() []string { return []string{"k-1", "k-2", "k-3"} }

func (d draws) identity() Identity {
	return Identity{d.pick("author", "a", "b"), int64(rapid.IntRange(0, 2).Draw(d.T, "time")), d.pick("subject", "", "s", "t")}
}

func (d draws) changes(blobs string) []Change {
	var out []Change
	for _, p := range d.some("path", "a", "b", "c") {
		before, after := d.pick("before", "", "0", "1", "2"), d.pick("after", "", "0", "1", "2", "3")
		if blobs != "" {
			after = blobs + after // of nobody's but this commit
		}
		if before != after {
			out = append(out, Change{p, before, after})
		}
	}
	return out
}

func (d draws) known() Known {
	var k Known
	for i := range rapid.IntRange(1, 5).Draw(d.T, "linked") {
		l := Linked{Checkpoint: d.pick("checkpoint", checkpoints()...), ID: fmt.Sprintf("c%d", i), Repo: d.pick("repo", "here", "here", "there"),
			Tree: d.pick("tree", "t1", "t2"), Base: "t0", Patch: d.pick("patch", "", "p1", "p2"), Identity: d.identity(),
			ChangeIDs: d.some("change id", "I1", "I2"), Changes: d.changes(""), Replaced: rapid.Bool().Draw(d.T, "replaced")}
		for _, c := range l.Changes {
			if rapid.Bool().Draw(d.T, "share") {
				l.Shares = joined(l.Shares, []Share{{d.pick("run", "r-1", "r-2"), at(i), []string{c.Path}}})
			}
		}
		k.Linked = append(k.Linked, l)
	}
	if rapid.Bool().Draw(d.T, "range") {
		k.Ranges = []Range{{"here", d.some("of range", "c0", "c1", "c2", "c3"), "t1", "t0", d.pick("range patch", "p1", "p2")}}
	}
	k.Elsewhere = d.some("elsewhere", "k-3", "k-4")
	return k
}

func (d draws) commit(blobs string) Commit {
	c := Commit{ID: "new", Repo: "here", Tree: d.pick("tree", "t1", "t2", "t3"), Base: d.pick("base", "t0", "t4"), Parents: []string{"c9"},
		Patch: d.pick("patch", "", "p1", "p2", "p3"), Identity: d.identity(), ChangeIDs: d.some("change id", "I1", "I2"),
		Trailers: d.some("trailer", "k-1", "k-2", "k-4"), Mentions: d.some("mention", "k-3", "k-5"), Reverts: rapid.Bool().Draw(d.T, "reverts"),
		Changes: d.changes(blobs), Of: d.pick("of", "", "c0", "c1"), Behind: d.some("behind", "c0", "c1", "c2"),
		Blind: rapid.IntRange(0, 4).Draw(d.T, "blind") == 0,
		Verb:  d.pick("verb", "", "commit", "commit", "commit (amend)", "rebase (pick)", "cherry-pick", "revert", "pull", "filter-branch")}
	if rapid.Bool().Draw(d.T, "in a window") {
		c.During = []Window{{"r-3", at(9), false}}
	}
	c.Lines = map[string][]Part{}
	for _, ch := range c.Changes {
		c.Lines[ch.Path] = nil
	}
	return c
}

// lines gives runs lines in the commit.
func (d draws) lines(c *Commit) {
	for _, ch := range c.Changes {
		if rapid.Bool().Draw(d.T, "lines") {
			c.Lines[ch.Path] = []Part{{d.pick("run", "r-1", "r-3"), at(1), 1}}
		}
		if rapid.Bool().Draw(d.T, "held") {
			c.Held = append(c.Held, Held{d.pick("holds", "c0", "c1", "c2"), ch.Path, 1})
		}
	}
}

// A commit of which all is somebody else's is never linked, whatever its message says (C5) and
// whenever it was made: no blob of it was in a linked commit, no line is a run's, and it replaced
// none.
// EN-34.
func TestForeignIsNeverLinked(t *testing.T) {
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		d := draws{t}
		k, c := d.known(), d.commit("foreign ")
		c.Patch, c.Tree, c.Of = "of its own", "of its own", d.pick("of", "", "c9")
		if len(c.Changes) == 0 {
			c.Changes, c.Lines = []Change{{"a", "0", "foreign"}}, map[string][]Part{"a": nil}
		}
		v := Relate(c, k)
		if v.Relation != None || v.Checkpoint != "" || v.Shares != nil || v.New || v.Trailer == TrailerOurs {
			t.Fatalf("%+v is linked: %+v", c, v)
		}
		for _, id := range append(c.Trailers, c.Mentions...) {
			linked := slices.ContainsFunc(k.Linked, func(l Linked) bool { return l.Checkpoint == id })
			if slices.Contains(v.Claims, id) != linked {
				t.Fatalf("claims %v, of %v", v.Claims, id)
			}
		}
	})
}

// Whatever ids a message has, a commit belongs only to checkpoints of which it would have content
// under any ids: a forged id adds none.
// C5, EN-33.
func TestForgedIdAddsNothing(t *testing.T) {
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		d := draws{t}
		k, c := d.known(), d.commit("")
		d.lines(&c)
		v := Relate(c, k)
		if v.Relation == None || v.New {
			return
		}
		m := newMatch(c, k)
		for _, id := range append(v.Also, v.Checkpoint) {
			proved := func(i int) bool {
				l := k.Linked[i]
				return l.ID == c.ID || m.near(i) && (len(m.proved(i)) > 0 || l.ID == c.Of || len(m.inRange()) > 0) ||
					l.Repo == c.Repo && c.Patch != "" && l.Patch == c.Patch
			}
			ok := false
			for i, l := range k.Linked {
				ok = ok || l.Checkpoint == id && proved(i)
			}
			if !ok {
				t.Fatalf("%s without a proof: %+v of %+v in %+v", id, v, c, k)
			}
		}
	})
}

// Which ids checkpoints have changes nothing; nor does asking again, nor the order of the changes.
func TestRelabelled(t *testing.T) {
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		d := draws{t}
		k, c := d.known(), d.commit("")
		d.lines(&c)
		v := Relate(c, k)
		if again := Relate(c, k); !reflect.DeepEqual(again, v) {
			t.Fatalf("%+v, and again %+v", v, again)
		}
		turned := c
		turned.Changes = slices.Clone(c.Changes)
		slices.Reverse(turned.Changes)
		if other := Relate(turned, k); !reflect.DeepEqual(other, v) {
			t.Fatalf("%+v, and with the changes the other way round %+v", v, other)
		}
		names := map[string]string{"": "", "k-1": "k-9", "k-2": "k-7", "k-3": "k-8", "k-4": "k-1", "k-5": "k-2"}
		other := k
		other.Linked = slices.Clone(k.Linked)
		for i, l := range k.Linked {
			other.Linked[i].Checkpoint = names[l.Checkpoint]
		}
		other.Elsewhere = renamed(k.Elsewhere, names)
		c.Trailers, c.Mentions = renamed(c.Trailers, names), renamed(c.Mentions, names)
		v.Checkpoint, v.Also, v.Claims = names[v.Checkpoint], renamed(v.Also, names), renamed(v.Claims, names)
		if got := Relate(c, other); !reflect.DeepEqual(got, v) {
			t.Fatalf("%+v, and with other ids %+v", v, got)
		}
	})
}

func renamed(list []string, names map[string]string) []string {
	var out []string
	for _, s := range list {
		out = append(out, names[s])
	}
	return out
}

// An id is minted for one commit alone: no verdict is new with an id that a linked commit has, and
// a merge has none at all.
// C1, EN-02.
func TestOneIdOneCommit(t *testing.T) {
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		d := draws{t}
		k, c := d.known(), d.commit("")
		d.lines(&c)
		if v := Relate(c, k); v.New && (slices.ContainsFunc(k.Linked, func(l Linked) bool { return l.Checkpoint == v.Checkpoint }) ||
			slices.Contains(k.Elsewhere, v.Checkpoint) || len(v.Also) > 0 || len(v.Shares) == 0) {
			t.Fatalf("%+v", v)
		}
		c.Parents = []string{"c0", "c1"}
		if v := Relate(c, k); v.Relation != None {
			t.Fatalf("a merge is %+v", v)
		}
	})
}

// Of which Nothing says that no run has a share in it, none has, whatever it stands on and whatever
// ranges there are.
func TestNothingIsNothing(t *testing.T) {
	said := 0
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		d := draws{t}
		k, c := d.known(), d.commit("")
		c.ID, c.Of = d.pick("id", "new", "new", "new", "c0"), d.pick("of", "", "", "c0")
		c.Patch = d.pick("patch", "", "p1", "p3")
		if rapid.Bool().Draw(t, "elsewhere") {
			c.Lines = map[string][]Part{}
			for i := range c.Changes {
				c.Changes[i].Path += "2"
				c.Lines[c.Changes[i].Path] = nil
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "with lines") == 0 {
			d.lines(&c)
		}
		for i := range k.Linked {
			switch l := &k.Linked[i]; rapid.IntRange(0, 4).Draw(t, "relation") {
			case 0:
				l.Shares = append(l.Shares, Share{Run: "r-4", Place: at(i)})
			case 1:
				l.Shares = append(l.Shares, Share{"r-5", at(i), []string{d.pick("of git no more", "a", "a2")}})
			case 2:
				l.Relation = Made
			}
		}
		if !Nothing(c, k) {
			return
		}
		said++
		if v := Relate(c, k); len(v.Shares) > 0 {
			t.Fatalf("%+v of %+v in %+v", v, c, k)
		}
	})
	if said == 0 {
		t.Error("it never said so")
	}
}
