//go:build linux

package judge

import (
	"slices"
	"testing"

	"agent/scripts/crashlab/journal"
)

// heard is the log of a whole run: its claim, the start of its call, another claim, its end.
func heard(r *journal.Record) []Entry {
	var out []Entry
	at := 0
	for _, until := range []int{2, 5, 7, 11} {
		e := Entry{Seen: map[string]int{}}
		if at >= 5 {
			e.Seen["mark-1-a"] = 1
		}
		for _, x := range r.Facts[3][at:until] {
			e.Facts = append(e.Facts, Logged{"r-1", x.Turn, x.Kind, x.Version, x.Time, x.Hash})
		}
		at = until
		out = append(out, e)
	}
	return out
}

// A log that is the beginning of the journal is as it should be, and so is one that another host
// goes on with; each way in which it is not is found as what it is.
func TestCompareLogs(t *testing.T) {
	saw := map[string]int{"mark-1-a": 1}
	other := Entry{By: "h-11", Facts: []Logged{{Run: "r-1", Kind: journal.Claimed}}}
	for _, c := range []struct {
		name   string
		change func(log []Entry) []Entry
		want   string
		heard  string
	}{
		{"whole", func(log []Entry) []Entry { return log }, "", ""},
		{"a beginning", func(log []Entry) []Entry { return log[:2] }, "", Unheard},
		{"another host goes on", func(log []Entry) []Entry { return append(log[:2], other, other) }, "", Unheard},
		{"an effect of before is counted by the entries behind it", func(log []Entry) []Entry { log[2].Seen = log[3].Seen; return log }, "", ""},
		{"the start is not there", func(log []Entry) []Entry { return log[:1] }, Unwitnessed, Unheard},
		{"nothing is there", func([]Entry) []Entry { return nil }, Unwitnessed, Unheard},
		{"the effect was there before the start", func(log []Entry) []Entry { log[1].Seen = saw; return log }, Unwitnessed, ""},
		{"an entry is missing", func(log []Entry) []Entry { return slices.Delete(log, 1, 2) }, Unwitnessed + ", " + Forked, Unheard},
		{"an entry stands there twice", func(log []Entry) []Entry { return slices.Insert(log, 1, log[0]) }, Forked, ""},
		{"a fact is another", func(log []Entry) []Entry { log[3].Facts[0].Hash = []byte("x"); return log }, Forked, ""},
		{"a fact has another time", func(log []Entry) []Entry { log[1].Facts[0].Time++; return log }, Unwitnessed + ", " + Forked, ""},
		{"a fact too many", func(log []Entry) []Entry { log[3].Facts = append(log[3].Facts, log[3].Facts[0]); return log }, Forked, ""},
		{"of a run that there is not", func(log []Entry) []Entry { log[3].Facts[0].Run = "r-2"; return log }, Forked, Unheard},
		{"something follows on another host", func(log []Entry) []Entry { return slices.Insert(log, 3, other) }, Forked, ""},
	} {
		r := write(whole())
		all, f := Check(r, func(string) bool { return false })
		if len(f) > 0 {
			t.Fatal(f)
		}
		entries := c.change(heard(r))
		if got := kinds(CompareLogs(r, all, [][]Entry{entries}, saw)); got != c.want {
			t.Errorf("%s: found %q, want %q", c.name, got, c.want)
		}
		if got := kinds(CompareHeard(r, [][]Entry{entries})); got != c.heard {
			t.Errorf("%s: of what it should have heard, found %q, want %q", c.name, got, c.heard)
		}
	}
}

// A call that is started again has each of its starts in the log before it acts; an effect that two
// calls ask for may be the other one's.
func TestStartsOfOneEffect(t *testing.T) {
	again := []row{
		{journal.Judged, 1, `{"turn":1,"index":0,"attempt":1,"verdict":"run","reason":"it never began"}`}, {journal.Started, 1, `{"turn":1,"index":0,"attempt":2}`},
	}
	r := write(with(6, again...)[:9])
	r.Runs[0].Status = "running"
	all, f := Check(r, func(string) bool { return true })
	if len(f) > 0 {
		t.Fatal(f)
	}
	entries := heard(write(whole()))[:3]
	last := Entry{Seen: map[string]int{"mark-1-a": 1}}
	for _, x := range r.Facts[3][7:] {
		last.Facts = append(last.Facts, Logged{"r-1", x.Turn, x.Kind, x.Version, x.Time, x.Hash})
	}
	entries[2].Seen = nil
	if got := kinds(CompareLogs(r, all, [][]Entry{append(entries, last)}, last.Seen)); got != Unwitnessed {
		t.Errorf("an effect before the second start: found %q", got)
	}
	last.Seen = nil
	if got := kinds(CompareLogs(r, all, [][]Entry{append(entries, last)}, map[string]int{"mark-1-a": 1})); got != "" {
		t.Errorf("an effect behind the second start: found %q", got)
	}
	first, second := *all[0].Calls[0], *all[0].Calls[0]
	second.Index = 1
	h := *all[0]
	h.Calls = []*Call{&first, &second}
	l := log{record: r, started: map[string]*Call{}}
	start := journal.Fact{Kind: journal.Started, Body: []byte(`{"turn":1,"index":0}`)}
	f = l.begins([]*History{&h}, start, "r-1", 1, nil)
	start.Body = []byte(`{"turn":1,"index":1}`)
	if f = append(f, l.begins([]*History{&h}, start, "r-1", 2, map[string]int{"mark-1-a": 1})...); len(f) > 0 {
		t.Errorf("an effect that two calls ask for: %v", f)
	}
}

// A run says that it was left because of its log, or because another host has it, only where that
// is so.
func TestCompareCauses(t *testing.T) {
	for _, c := range []struct {
		cause         string
		moved, silent bool
		want          string
	}{
		{"crash", false, false, ""}, {Moved, true, false, ""}, {Moved, false, true, Differs}, {NoLog, false, true, ""}, {NoLog, true, false, Differs},
	} {
		rows := whole()
		rows[5].body = `{"cause":"` + c.cause + `"}`
		if got := kinds(CompareCauses(write(rows), c.moved, c.silent)); got != c.want {
			t.Errorf("%+v: found %q", c, got)
		}
	}
}
