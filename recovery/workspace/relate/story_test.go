package relate

import (
	"reflect"
	"testing"

	"agent/recovery/journal"
)

// first is a commit of one run, with two files; second, of another run, goes on from there.
func first() Linked {
	return Linked{Checkpoint: "k-1", ID: "c1", Repo: "here", Tree: "t1", Base: "t0", Parents: []string{"c0"}, Patch: "p1",
		Identity: Identity{"a", 1, "first"}, ChangeIDs: []string{"I1"}, Changes: []Change{{"a", "a0", "a1"}, {"b", "", "b1"}},
		Shares: []Share{{"r-1", at(1), []string{"a", "b"}}}}
}

func second() Linked {
	return Linked{Checkpoint: "k-2", ID: "c2", Repo: "here", Tree: "t2", Base: "t1", Parents: []string{"c1"}, Patch: "p2",
		Identity: Identity{"a", 2, "second"}, Changes: []Change{{"a", "a1", "a2"}}, Shares: []Share{{"r-2", at(2), []string{"a"}}}}
}

func third(changes []Change) Linked {
	return Linked{Checkpoint: "k-3", ID: "c3", Repo: "here", Tree: "t3", Patch: "p3", Changes: changes, Shares: []Share{{"r-3", at(3), pathsOf(changes)}}}
}

func pathsOf(changes []Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, c.Path)
	}
	return out
}

func at(turn int) journal.Place { return journal.Place{Turn: turn} }

func known() Known { return Known{Linked: []Linked{first(), second()}} }

// found is a commit that has nothing to do with anything.
func found(change func(c *Commit)) Commit {
	c := Commit{ID: "new", Repo: "here", Tree: "t9", Base: "t8", Parents: []string{"c8"}, Patch: "p9", Identity: Identity{"a", 9, "new"},
		Changes: []Change{{"x", "x0", "x9"}}, Verb: "commit"}
	change(&c)
	return c
}

type story struct {
	name   string
	commit func(c *Commit)
	known  func(k *Known)
	want   Verdict
}

var (
	share1 = Share{"r-1", at(1), []string{"a", "b"}}
	share2 = Share{"r-2", at(2), []string{"a"}}
	window = []Window{{Run: "r-3", Place: at(3)}}
)

func TestRows(t *testing.T) {
	for _, s := range append(rowStories(), proofStories()...) {
		t.Run(s.name, func(t *testing.T) {
			k := known()
			if s.known != nil {
				s.known(&k)
			}
			if s.want.Trailer == "" {
				s.want.Trailer = TrailerNone
			}
			if got := Relate(found(s.commit), k); !reflect.DeepEqual(got, s.want) {
				t.Errorf("got  %+v\nwant %+v", got, s.want)
			}
		})
	}
}

func rowStories() []story {
	return []story{
		{"same, in another clone", func(c *Commit) { c.ID, c.Repo, c.Verb = "c2", "there", "" }, nil,
			Verdict{Relation: Same, Proof: ByTree, Checkpoint: "k-2", Of: "c2", Shares: []Share{share2}, Files: Files{1, 1}}},
		{"a merge in a window", func(c *Commit) {
			c.Parents, c.Changes, c.During, c.Verb = []string{"c1", "c2"}, nil, window, "commit (merge)"
		}, nil, Verdict{Relation: None}},
		{"made in a window", func(c *Commit) {
			c.During, c.Lines = window, map[string][]Part{"x": {{"r-3", at(3), 2}}}
		}, nil, Verdict{Relation: Made, Proof: ByWindow, New: true, Shares: []Share{{"r-3", at(3), []string{"x"}}}}},
		{"made in a window, nobody compared", func(c *Commit) { c.During = window }, nil,
			Verdict{Relation: Made, Proof: ByWindow, New: true, Shares: []Share{{"r-3", at(3), nil}}}},
		{"made in a window by another's call", func(c *Commit) {
			c.During = []Window{{"r-3", at(3), false}, {"r-4", at(1), true}}
		}, nil, Verdict{Relation: Made, Proof: ByWindow, New: true, Shares: []Share{{"r-4", at(1), nil}}}},
		{"two runs in one", func(c *Commit) {
			c.During, c.Lines = window, map[string][]Part{"x": {{"r-4", at(7), 2}, {"r-3", at(3), 1}, {"r-3", at(2), 1}}}
		}, nil, Verdict{Relation: Made, Proof: ByWindow, New: true, Shares: []Share{{"r-3", at(3), []string{"x"}}, {"r-4", at(7), []string{"x"}}}}},
		{"a person's in a window", func(c *Commit) { c.During, c.Lines = window, map[string][]Part{"x": nil} }, nil, Verdict{Relation: None}},
		{"a person's, committed by a call", func(c *Commit) {
			c.During, c.Lines = []Window{{"r-3", at(3), true}}, map[string][]Part{"x": nil}
		}, nil, Verdict{Relation: Made, Proof: ByWindow, New: true, Shares: []Share{{"r-3", at(3), nil}}}},
		{"the id of the hook", func(c *Commit) { c.During, c.Trailers = window, []string{"k-9"} }, nil,
			Verdict{Relation: Made, Proof: ByWindow, Checkpoint: "k-9", New: true, Shares: []Share{{"r-3", at(3), nil}}, Trailer: TrailerOurs}},
		{"an id of another store", func(c *Commit) { c.During, c.Trailers = window, []string{"k-9"} }, func(k *Known) { k.Elsewhere = []string{"k-9"} },
			Verdict{Relation: Made, Proof: ByWindow, New: true, Shares: []Share{{"r-3", at(3), nil}}, Trailer: TrailerForeign}},
		{"an id that another commit has", func(c *Commit) { c.During, c.Trailers = window, []string{"k-1"} }, nil,
			Verdict{Relation: Made, Proof: ByWindow, New: true, Shares: []Share{{"r-3", at(3), nil}}, Claims: []string{"k-1"}, Trailer: TrailerForeign}},
		{"amended in a window", func(c *Commit) {
			c.Verb, c.Of, c.During, c.Changes = "commit (amend)", "c2", window, []Change{{"a", "a1", "a2"}, {"x", "x0", "x9"}}
			c.Lines = map[string][]Part{"x": {{"r-3", at(3), 1}}}
		}, nil, Verdict{Relation: Amended, Proof: ByReflog, Checkpoint: "k-2", Of: "c2", Shares: []Share{share2, {"r-3", at(3), []string{"x"}}}, Files: Files{1, 1}}},
		{"amended, and nothing of it left", func(c *Commit) { c.Verb, c.Of, c.Trailers = "commit (amend)", "c2", []string{"k-2"} }, nil,
			Verdict{Relation: None, Claims: []string{"k-2"}, Trailer: TrailerForeign}},
		{"made by a person", func(c *Commit) { c.Lines = map[string][]Part{"x": {{"r-3", at(3), 1}}} }, nil,
			Verdict{Relation: Made, Proof: ByBlobs, New: true, Shares: []Share{{"r-3", at(3), []string{"x"}}}}},
		{"the same lines from elsewhere", func(c *Commit) { c.Verb, c.Lines = "pull", map[string][]Part{"x": {{"r-3", at(3), 1}}} }, nil, Verdict{Relation: None}},
		{"no reflog, and a trailer", func(c *Commit) {
			c.Verb, c.Blind, c.Lines, c.Trailers = "", true, map[string][]Part{"x": {{"r-3", at(3), 1}}}, []string{"k-9"}
		}, nil, Verdict{Relation: Made, Proof: ByBlobs, Checkpoint: "k-9", New: true, Shares: []Share{{"r-3", at(3), []string{"x"}}}, Trailer: TrailerOurs}},
		{"no reflog, and no trailer", func(c *Commit) { c.Verb, c.Blind, c.Lines = "", true, map[string][]Part{"x": {{"r-3", at(3), 1}}} }, nil, Verdict{Relation: None}},
		{"nothing", func(*Commit) {}, nil, Verdict{Relation: None}},
	}
}

func proofStories() []story {
	one := []Share{share1}
	half := []Share{{"r-1", at(1), []string{"b"}}}
	b := []Change{{"b", "", "b1"}, {"x", "x0", "x9"}}
	return []story{
		{"trailer and content", func(c *Commit) { c.Verb, c.Trailers, c.Changes = "rebase (pick)", []string{"k-1"}, b }, nil,
			Verdict{Relation: Rebased, Proof: ByTrailer, Checkpoint: "k-1", Of: "c1", Shares: half, Files: Files{1, 2}, Trailer: TrailerOurs}},
		{"trailer and lines", func(c *Commit) {
			c.Verb, c.Trailers, c.Changes, c.Held = "cherry-pick", []string{"k-1"}, []Change{{"a", "q", "q1"}}, []Held{{"c1", "a", 1}}
		}, nil, Verdict{Relation: Picked, Proof: ByTrailer, Checkpoint: "k-1", Of: "c1", Shares: []Share{{"r-1", at(1), []string{"a"}}}, Files: Files{1, 2}, Trailer: TrailerOurs}},
		{"trailer alone", func(c *Commit) { c.Trailers = []string{"k-1"} }, nil, Verdict{Relation: None, Claims: []string{"k-1"}, Trailer: TrailerForeign}},
		{"trailer and content in another repository", func(c *Commit) { c.Repo, c.Trailers, c.Changes = "there", []string{"k-1"}, b }, nil,
			Verdict{Relation: None, Claims: []string{"k-1"}, Trailer: TrailerForeign}},
		{"trailer of another store", func(c *Commit) { c.Trailers = []string{"k-9"} }, nil, Verdict{Relation: None, Trailer: TrailerForeign}},
		{"trailer, and it stands on that", func(c *Commit) { c.Trailers, c.Changes, c.Behind = []string{"k-1"}, b, []string{"c1"} }, nil,
			Verdict{Relation: None, Claims: []string{"k-1"}, Trailer: TrailerForeign}},
		{"trailer and an empty file", func(c *Commit) { c.Trailers, c.Changes = []string{"k-1"}, []Change{{"b", "b0", ""}} }, func(k *Known) { k.Linked[0].Changes[1].After = "" },
			Verdict{Relation: None, Claims: []string{"k-1"}, Trailer: TrailerForeign}},
		{"trailer, and what a person had in it", func(c *Commit) { c.Trailers, c.Changes = []string{"k-1"}, b }, func(k *Known) { k.Linked[0].Shares[0].Paths = []string{"a"} },
			Verdict{Relation: None, Claims: []string{"k-1"}, Trailer: TrailerForeign}},
		{"patch", func(c *Commit) { c.Verb, c.Patch = "rebase (pick)", "p1" }, nil,
			Verdict{Relation: Rebased, Proof: ByPatch, Checkpoint: "k-1", Of: "c1", Shares: one, Files: Files{2, 2}}},
		{"patch, and a forged id", func(c *Commit) { c.Verb, c.Patch, c.Trailers = "cherry-pick", "p1", []string{"k-2"} }, nil,
			Verdict{Relation: Picked, Proof: ByPatch, Checkpoint: "k-1", Of: "c1", Shares: one, Files: Files{2, 2}, Claims: []string{"k-2"}, Trailer: TrailerForeign}},
		{"patch in another repository", func(c *Commit) { c.Repo, c.Patch = "there", "p1" }, nil, Verdict{Relation: None}},
		{"written anew by hand", func(c *Commit) { c.Patch, c.Behind = "p1", []string{"c1"} }, nil, Verdict{Relation: None}},
		{"a revert of a revert", func(c *Commit) { c.Verb, c.Reverts, c.Patch, c.Behind = "revert", true, "p1", []string{"c1"} }, nil,
			Verdict{Relation: Picked, Proof: ByPatch, Checkpoint: "k-1", Of: "c1", Shares: one, Files: Files{2, 2}}},
		{"a revert, with the blobs of before", func(c *Commit) {
			c.Verb, c.Reverts, c.Tree, c.Base, c.Changes, c.Trailers = "revert", true, "t1", "t2", []Change{{"a", "a2", "a1"}}, []string{"k-1"}
		}, nil, Verdict{Relation: None, Claims: []string{"k-1"}, Trailer: TrailerForeign}},
		{"a range by its patch", func(c *Commit) { c.Patch, c.Changes = "p12", []Change{{"a", "q", "q2"}, {"b", "", "q3"}} },
			func(k *Known) { k.Ranges = []Range{{"here", []string{"c1", "c2"}, "", "", "p12"}} },
			Verdict{Relation: Squashed, Proof: ByPatch, Checkpoint: "k-2", Also: []string{"k-1"}, Of: "c2", Shares: []Share{share1, share2}, Files: Files{2, 2}}},
		{"a range by its trees", func(c *Commit) { c.Tree, c.Base, c.Changes = "t2", "t0", []Change{{"a", "a0", "a2"}, {"b", "", "b1"}} },
			func(k *Known) { k.Ranges = []Range{{"here", []string{"c1", "c2"}, "t2", "t0", ""}} },
			Verdict{Relation: Squashed, Proof: ByTree, Checkpoint: "k-2", Also: []string{"k-1"}, Of: "c2", Shares: []Share{share1, share2}, Files: Files{2, 2}}},
		{"paths over linked commits", func(c *Commit) { c.Changes = []Change{{"a", "a0", "a2"}, {"b", "", "b1"}} }, nil,
			Verdict{Relation: Squashed, Proof: ByBlobs, Checkpoint: "k-2", Also: []string{"k-1"}, Of: "c2", Shares: []Share{share1, share2}, Files: Files{2, 2}}},
		{"paths over what was taken back again", func(c *Commit) { c.Changes = []Change{{"a", "a0", "a2"}, {"b", "", "b1"}} }, func(k *Known) {
			k.Linked = append(k.Linked, third([]Change{{"a", "a2", "a1"}}))
		}, Verdict{Relation: Squashed, Proof: ByBlobs, Checkpoint: "k-2", Also: []string{"k-1"}, Of: "c2", Shares: []Share{share1, share2}, Files: Files{2, 2}}},
		{"paths that two went, of which the newest counts", func(c *Commit) { c.Changes = first().Changes }, func(k *Known) {
			k.Linked = append(k.Linked, third(first().Changes))
		}, Verdict{Relation: Rewritten, Proof: ByBlobs, Checkpoint: "k-3", Of: "c3", Shares: []Share{{"r-3", at(3), []string{"a", "b"}}}, Files: Files{2, 2}}},
		{"paths that two went, one of which is named", func(c *Commit) { c.Changes, c.Mentions = first().Changes, []string{"k-1"} }, func(k *Known) {
			k.Linked = append(k.Linked, third(first().Changes))
		}, Verdict{Relation: Rewritten, Proof: ByBlobs, Checkpoint: "k-1", Of: "c1", Shares: one, Files: Files{2, 2}}},
		{"a range, one of which the trailer names", func(c *Commit) {
			c.Patch, c.Changes, c.Trailers = "p12", []Change{{"a", "q", "a2"}, {"b", "", "q3"}}, []string{"k-2"}
		}, func(k *Known) { k.Ranges = []Range{{"here", []string{"c1", "c2"}, "", "", "p12"}} },
			Verdict{Relation: Squashed, Proof: ByTrailer, Checkpoint: "k-2", Also: []string{"k-1"}, Of: "c2", Shares: []Share{share1, share2}, Files: Files{2, 2}, Trailer: TrailerOurs}},
		{"the tree of a range, from another one", func(c *Commit) { c.Tree = "t2" },
			func(k *Known) { k.Ranges = []Range{{"here", []string{"c1", "c2"}, "t2", "t0", ""}} }, Verdict{Relation: None}},
		{"one is named, another is in it whole", func(c *Commit) {
			c.Mentions, c.Changes = []string{"k-1"}, []Change{{"a", "a1", "a2"}, {"b", "", "b1"}, {"x", "x0", "x9"}}
		}, nil, Verdict{Relation: Squashed, Proof: ByBlobs, Checkpoint: "k-2", Also: []string{"k-1"}, Of: "c2",
			Shares: []Share{{"r-1", at(1), []string{"b"}}, share2}, Files: Files{2, 2}}},
		{"the same trees by another author", func(c *Commit) { c.Verb, c.Patch, c.Tree, c.Base = "", "p1", "t1", "t0" },
			func(k *Known) { k.Linked[0].Replaced = true }, Verdict{Relation: Rewritten, Proof: ByPatch, Checkpoint: "k-1", Of: "c1", Shares: one, Files: Files{2, 2}}},
		{"a squash in a window that names them", func(c *Commit) {
			c.During, c.Mentions, c.Changes = window, []string{"k-1", "k-2"}, []Change{{"a", "a0", "a2"}, {"b", "", "b1"}}
		}, nil, Verdict{Relation: Squashed, Proof: ByBlobs, Checkpoint: "k-2", Also: []string{"k-1"}, Of: "c2", Shares: []Share{share1, share2}, Files: Files{2, 2}}},
		{"the same done again in a window", func(c *Commit) { c.During, c.Patch, c.Changes = window, "p2", second().Changes },
			func(k *Known) { k.Ranges = []Range{{"here", []string{"c2"}, "t2", "t1", "p2"}} },
			Verdict{Relation: Made, Proof: ByWindow, New: true, Shares: []Share{{"r-3", at(3), nil}}}},
		{"selected by a mention", func(c *Commit) { c.Verb, c.Mentions, c.Changes = "", []string{"k-1"}, b }, nil,
			Verdict{Relation: Rewritten, Proof: ByBlobs, Checkpoint: "k-1", Of: "c1", Shares: half, Files: Files{1, 2}}},
		{"selected by a change id", func(c *Commit) { c.Verb, c.ChangeIDs, c.Changes = "", []string{"I1"}, b }, nil,
			Verdict{Relation: Rewritten, Proof: ByBlobs, Checkpoint: "k-1", Of: "c1", Shares: half, Files: Files{1, 2}}},
		{"selected by author, time and subject", func(c *Commit) { c.Verb, c.Identity, c.Changes = "", first().Identity, b }, nil,
			Verdict{Relation: Rewritten, Proof: ByBlobs, Checkpoint: "k-1", Of: "c1", Shares: half, Files: Files{1, 2}}},
		{"selected, and nothing of it", func(c *Commit) { c.Verb, c.Identity = "", first().Identity }, nil, Verdict{Relation: None}},
		{"one blob, and nothing selects", func(c *Commit) { c.Verb, c.Changes = "", b }, nil, Verdict{Relation: None}},
		{"a squash with a title, by its lines", func(c *Commit) {
			c.Changes, c.Lines, c.Held = []Change{{"a", "q", "q1"}}, map[string][]Part{"a": {{"r-1", at(1), 1}}}, []Held{{"c1", "a", 1}}
		}, nil, Verdict{Relation: Rewritten, Proof: ByBlobs, Checkpoint: "k-1", Of: "c1", Shares: []Share{{"r-1", at(1), []string{"a"}}}, Files: Files{1, 2}}},
	}
}

// Only what may be meant is looked into line by line.
func TestWants(t *testing.T) {
	for name, c := range map[string]struct {
		commit func(c *Commit)
		want   []Want
	}{
		"nothing selects": {func(c *Commit) { c.Changes = []Change{{"a", "q", "q1"}} }, nil},
		"a trailer":       {func(c *Commit) { c.Changes, c.Trailers = []Change{{"a", "q", "q1"}}, []string{"k-2"} }, []Want{{"c2", "a", "a1", "a2", "q", "q1"}}},
		"the same blob":   {func(c *Commit) { c.Changes, c.Trailers = []Change{{"a", "q", "a2"}}, []string{"k-2"} }, nil},
		"an amend":        {func(c *Commit) { c.Changes, c.Of = []Change{{"a", "q", "q1"}}, "c2" }, []Want{{"c2", "a", "a1", "a2", "q", "q1"}}},
		"lines of its run": {func(c *Commit) {
			c.Changes, c.Lines = []Change{{"a", "q", "q1"}}, map[string][]Part{"a": {{"r-2", at(2), 1}}}
		}, []Want{{"c2", "a", "a1", "a2", "q", "q1"}}},
		"it stands on that": {func(c *Commit) {
			c.Changes, c.Trailers, c.Behind = []Change{{"a", "q", "q1"}}, []string{"k-2"}, []string{"c2"}
		}, nil},
		"a merge": {func(c *Commit) { c.Parents, c.Trailers = []string{"1", "2"}, []string{"k-2"} }, nil},
	} {
		if got := Wants(found(c.commit), known()); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
