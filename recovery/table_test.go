package recovery

import (
	"agent/recovery/journal"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// update rewrites golden files and the diagram in doc.go: go test ./recovery -update
func update() bool { return flag.Lookup("update").Value.String() == "true" }

func TestMain(m *testing.M) {
	flag.Bool("update", false, "rewrite golden files and the diagram in the package comment")
	flag.Parse()
	os.Exit(m.Run())
}

// The diagram in the package comment is the table's.
func TestDiagramIsCurrent(t *testing.T) {
	const from, to = "\n//\t(none) ", "package recovery\n"
	b, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	for line := range strings.Lines(Diagram()) {
		want.WriteString("//\t" + line)
	}
	begin, end := strings.Index(string(b), from)+1, strings.LastIndex(string(b), to)
	if begin <= 0 || end < begin {
		t.Fatal("doc.go has no place for the diagram")
	}
	if string(b[begin:end]) == want.String() {
		return
	}
	if !update() {
		t.Fatalf("the diagram in doc.go is not the table's; go test ./recovery -update writes:\n%s", want.String())
	}
	if err := os.WriteFile("doc.go", slices.Concat(b[:begin], []byte(want.String()+to)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// RUN-05: every pair of status and fact is answered; what is refused is refused with both named;
// final is final.
// GIT-13, EN-12.
func TestEveryPairIsAnswered(t *testing.T) {
	known := map[Status]bool{}
	for _, s := range Statuses() {
		known[s] = true
	}
	for _, from := range append([]Status{StatusNone}, Statuses()...) {
		for _, k := range journal.Kinds() {
			for _, asked := range []bool{false, true} {
				to := transition(from, k, asked)
				if to != refused && !known[to] {
					t.Errorf("%q on %s leads to %q, which is no status", from, k, to)
				}
				after := k == journal.KindCallResolved || k == journal.KindCommitSeen
				if from.Terminal() && to != refused && (!after || to != from) {
					t.Errorf("%q is final, and %s leads to %q", from, k, to)
				}
			}
			if transition(from, k, false) == refused {
				refusedByName(t, from, k)
			}
		}
	}
	for from := range table {
		if from != StatusNone && !known[from] {
			t.Errorf("the table has a row for %q, which is no status", from)
		}
		for k := range table[from] {
			if !slices.Contains(journal.Kinds(), k) {
				t.Errorf("the table answers %s, which is no kind of fact", k)
			}
		}
	}
}

func refusedByName(t *testing.T, from Status, k journal.Kind) {
	t.Helper()
	body, err := journal.Decode(k, journal.Version, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	s := &State{Status: from}
	err = s.Apply(journal.Event{Seq: 1, Body: body})
	if err == nil || !strings.Contains(err.Error(), string(k)) || !strings.Contains(err.Error(), fmt.Sprintf("%q", from)) {
		t.Errorf("%s in a run that is %q: %v; want an error that names both", k, from, err)
	}
	if s.Status != from {
		t.Errorf("%s was refused and still led from %q to %q", k, from, s.Status)
	}
}
