package db

import (
	"fmt"
	"strings"
	"testing"

	"agent/db/sqlitefile"
	"agent/recovery/journal"
)

// line is the one row of a query, its columns side by side.
func line(t *testing.T, s *Store, query string) string {
	t.Helper()
	rows, err := sqlitefile.Records(t.Context(), s.file.Readers(), query)
	if err != nil || len(rows) != 1 {
		t.Fatalf("%s: %d rows, %v", query, len(rows), err)
	}
	var parts []string
	for _, c := range rows[0].Columns() {
		parts = append(parts, fmt.Sprintf("%s=%v", c, rows[0][c]))
	}
	return strings.Join(parts, " ")
}

// Anybody who can read SQLite can read what an agent did: the view calls has a call's arguments and
// its result beside its fingerprint, and a pointer where the fact is too large for its row; the
// view facts names the kinds.
func TestAnybodyCanReadTheRecord(t *testing.T) {
	s := openStore(t, stateDir(t))
	h := startRun(t, s, "r-readable")
	a, b := turnFacts(1, "c-00000001", "three files")
	h = appendAll(t, s, h, append(a, b...), AppendOptions{})
	a, b = turnFacts(2, "c-00000002", strings.Repeat("large body ", 5000))
	appendAll(t, s, h, append(a, b...), AppendOptions{})
	proposal := a[0].Body.(journal.ModelAnswered).Calls[0]
	got := line(t, s, "SELECT run, tool, args, fingerprint, outcome, result FROM calls WHERE id = 'c-00000001'")
	if !strings.HasPrefix(got, `args={"command":`) || !strings.Contains(got, "outcome=ok result=three files run=r-readable tool=shell") ||
		!strings.Contains(got, "fingerprint=hmac-sha256:v1:") {
		t.Error(got)
	}
	hash := line(t, s, "SELECT 'blob:' || lower(hex(hash)) AS result FROM blobs")
	if got := line(t, s, "SELECT result FROM calls WHERE id = 'c-00000002'"); got != hash {
		t.Errorf("%s, want %s", got, hash)
	}
	if got := line(t, s, "SELECT args FROM calls WHERE id = 'c-00000002'"); got != "args="+string(proposal.Args) {
		t.Errorf("%s and not %s", got, proposal.Args)
	}
	if got := line(t, s, "SELECT kind, turn FROM facts WHERE run = 'r-readable' AND seq = 1"); got != "kind=run.created turn=0" {
		t.Error(got)
	}
}

// Arguments that are nested deeper than SQLite reads, or a damaged fact, keep nobody from reading
// the other calls.
func TestOneFactDoesNotHideTheOthers(t *testing.T) {
	s := openStore(t, stateDir(t))
	h := startRun(t, s, "r-readable")
	for i, id := range []string{"c-00000001", "c-00000002"} {
		a, b := turnFacts(i+1, id, "three files")
		if i == 0 {
			answer := a[0].Body.(journal.ModelAnswered)
			answer.Calls[0].Args = []byte(`{"command":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`)
		}
		h = appendAll(t, s, h, append(a, b...), AppendOptions{})
	}
	if got := line(t, s, "SELECT count(args) AS args, count(result) AS results FROM calls"); got != "args=2 results=2" {
		t.Error(got)
	}
	if got := line(t, s, "SELECT length(args) > 10000 AS whole, result FROM calls WHERE turn = 1"); got != "result=three files whole=1" {
		t.Error(got)
	}
}

// The view facts names every kind as the program does.
func TestFactsNameTheirKinds(t *testing.T) {
	s := openStore(t, stateDir(t))
	startRun(t, s, "r-readable")
	view := line(t, s, "SELECT sql FROM sqlite_schema WHERE name = 'facts'")
	for n, kind := range kindNames {
		if when := fmt.Sprintf("WHEN %d THEN '%s'", n, kind); kind != "" && !strings.Contains(view, when) {
			t.Errorf("the view facts lacks %s", when)
		}
	}
}
