package db

import (
	"context"
	"database/sql"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"agent/db/blob"
	"agent/db/sqlitefile"
	"agent/recovery"
	"agent/recovery/journal"
)

// Every state stands once in Go and once in SQL; here both are compared.
func TestStatesAgree(t *testing.T) {
	list := func(from any) []string {
		words := strings.Fields(strings.Trim(fmt.Sprint(from), "[]"))
		slices.Sort(words)
		return words
	}
	// Words that no program knows yet are there from the start: to add one, its table would have to
	// be made anew.
	want := map[string][]string{
		"runs_status":     list(recovery.Statuses()),
		"calls_effect":    list([]journal.Effect{journal.EffectRead, journal.EffectWriteLocal, journal.EffectWriteExternal}),
		"calls_phase":     list([]journal.Phase{journal.PhaseProposed, journal.PhaseStarted, journal.PhaseSettled}),
		"calls_outcome":   list([]journal.Outcome{journal.OutcomeOK, journal.OutcomeError, journal.OutcomeUnknown, journal.OutcomeSkipped, journal.OutcomeDenied}),
		"calls_applied":   list([]journal.Applied{journal.AppliedNo, journal.AppliedYes, journal.AppliedUnknown}),
		"calls_resolved":  list([]journal.Word{journal.WordHappened, journal.WordRun, journal.WordLeave}),
		"requests_kind":   list([]journal.RequestKind{journal.RequestAskUser, journal.RequestConfirm, journal.RequestPermission, journal.RequestTwin, journal.RequestMaxTurns, journal.RequestMaxTokens, journal.RequestMaxCost, journal.RequestElicit, "phase", "copy", "plan"}),
		"requests_status": list(RequestStatuses()),
		"inbox_kind":      list(append(MessageKinds(), "commit")),
		"custody_word":    {Copy, Moved},
		"blobs_encoding":  list([]string{blob.Plain, blob.Deflate, blob.InFile}),
	}
	got := map[string][]string{}
	named := regexp.MustCompile(`CONSTRAINT (\w+) CHECK \((\w+ = '\w*'(?: OR \w+ = '\w*')*)\)`)
	for _, text := range schemaTexts(t) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			for _, w := range regexp.MustCompile(`'(\w*)'`).FindAllStringSubmatch(m[2], -1) {
				if w[1] != "" {
					got[m[1]] = append(got[m[1]], w[1])
				}
			}
			slices.Sort(got[m[1]])
		}
	}
	for name, words := range want {
		if !slices.Equal(got[name], words) {
			t.Errorf("%s: SQL knows %q, Go knows %q", name, got[name], words)
		}
	}
	if len(got) != len(want) {
		t.Errorf("SQL has %d lists of states, this test knows %d", len(got), len(want))
	}
}

func schemaTexts(t *testing.T) []string {
	t.Helper()
	s := openStore(t, stateDir(t))
	rows, err := s.file.Readers().Query("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		out = append(out, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// Every table is STRICT and every check has a name. Those that SQLite makes for its search index
// are its own.
func TestTablesAreStrict(t *testing.T) {
	for _, text := range schemaTexts(t) {
		if strings.HasPrefix(text, "CREATE TABLE") && !strings.Contains(text, "sqlite_sequence") && !strings.Contains(text, "'search_") && !strings.Contains(text, ") STRICT") {
			t.Errorf("not STRICT: %s", text)
		}
		if n, named := strings.Count(text, "CHECK ("), strings.Count(text, "CONSTRAINT "); n != named {
			t.Errorf("%d checks and %d names in: %s", n, named, text)
		}
	}
}

// A kind without a number could not be written; two kinds with one number could not be told apart.
func TestKindsHaveNumbers(t *testing.T) {
	seen := map[int64]journal.Kind{}
	for _, k := range journal.Kinds() {
		n, err := numberOf(k)
		if err != nil {
			t.Error(err)
			continue
		}
		if other, twice := seen[n]; twice {
			t.Errorf("%s and %s have the number %d", k, other, n)
		}
		seen[n] = k
		if back, err := KindOf(n); err != nil || back != k {
			t.Errorf("%d is %s, and back %s (%v)", n, k, back, err)
		}
	}
	// What is on disks already. A line may be added and never changed.
	for n, k := range []string{1: "run.created", 2: "run.claimed", 3: "run.interrupted", 4: "run.noted", 5: "run.stopping", 6: "run.completed",
		7: "run.failed", 8: "run.cancelled", 9: "model.requested", 10: "model.answered", 11: "call.judged", 12: "call.started",
		13: "call.settled", 14: "call.resolved", 15: "approval.voided", 16: "request.opened", 17: "request.answered", 18: "request.closed",
		19: "turn.settled", 22: "message.added", 28: "run.parked", 29: "files.base", 30: "files.changed", 31: "commit.seen", 32: "run.restored",
		33: "run.exported", 34: "workspace.behind"} {
		if k != "" && string(kindNames[n]) != k {
			t.Errorf("number %d was %s and is %s", n, k, kindNames[n])
		}
	}
	if _, err := KindOf(int64(len(kindNames))); err == nil {
		t.Error("a number beyond the last one has a kind")
	}
}

func TestMigrationsAreCounted(t *testing.T) {
	list, err := sqlitefile.Migrations(migrations)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != knownSchema {
		t.Errorf("there are %d migrations and knownSchema is %d", len(list), knownSchema)
	}
	for i, m := range list {
		if got := sqlitefile.LayoutOf(list[:i+1]); i < knownSchema && got != layouts()[i] {
			t.Errorf("%s makes layout %#x and layouts() says %#x: a migration that was released is never edited (add one); before that, put the new number there",
				m.Name, got, layouts()[i])
		}
		for _, gone := range regexp.MustCompile(`DROP \w+ (\w+)`).FindAllStringSubmatch(m.Up, -1) {
			made := regexp.MustCompile(`(CREATE (TABLE|VIEW|(UNIQUE )?INDEX)|RENAME TO) ` + gone[1] + `\b`)
			if behind := strings.SplitN(m.Up, gone[0], 2)[1]; !made.MatchString(behind) {
				t.Errorf("%s drops %s on the way up and does not make it again", m.Name, gone[1])
			}
		}
	}
}

// The generated code of a query can be wrong without an error (parameters that bind nothing, or the
// wrong value), so each is prepared on a real file and looked at.
func TestEveryQueryPrepares(t *testing.T) {
	s := openStore(t, stateDir(t))
	queries := generated(t)
	if len(queries) < 40 {
		t.Fatalf("only %d generated queries were found", len(queries))
	}
	for name, text := range queries {
		st, err := s.file.Readers().PrepareContext(context.Background(), text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		body := text[strings.Index(text, "\n"):]
		if strings.Contains(body, "@") || strings.Contains(body, "sqlc.") || strings.Contains(body, "SLICE:") {
			t.Errorf("%s has a parameter that was not replaced:\n%s", name, text)
		}
		if regexp.MustCompile(`\?([^0-9]|$)`).MatchString(body) {
			t.Errorf("%s has a parameter without a number:\n%s", name, text)
		}
	}
}

func generated(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	files, err := filepath.Glob("dbsqlc/*.sql.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) != 1 {
				return true
			}
			if lit, ok := v.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
				text, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(err)
				}
				out[v.Names[0].Name] = text
			}
			return true
		})
	}
	return out
}

// Beyond ASCII, sqlc counts characters and bytes differently and shifts the parameters.
func TestQueriesAreASCII(t *testing.T) {
	files, err := filepath.Glob("../queries/*.sql")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range data {
			if b > 126 {
				t.Errorf("%s: byte %d is not ASCII", file, i)
				break
			}
		}
	}
}

// A list of ten thousand runs must not be read as a whole to show twenty.
func TestQueriesUseIndexes(t *testing.T) {
	s := openStore(t, stateDir(t))
	queries := generated(t)
	queries["settleCalls"] = "\n" + strings.ReplaceAll(settleCalls(16), "?", "?1")
	queries["settleOne"] = "\n" + strings.ReplaceAll(settleCalls(1), "?", "?1")
	for _, name := range []string{
		"newestRuns", "runsWithStatus", "runsToLookAt", "runsBetween", "runsOfThread", "runsOfFolder", "unfinishedOfThread", "getHead",
		"openRequests", "openRequestsOfRuns", "openCallsOfRuns", "undecidedCallsOfRuns", "doubtsOfThread", "cutCalls", "callsOfRun",
		"startCall", "settleCalls", "settleOne", "advanceRun", "facts",
		"childrenOf", "runsBelow", "countChildren", "movedSince", "undecidedOfFamily", "doubtfulRuns", "lastClaim", "unconsumedRequestOfRun", "requestsBetween", "messages", "checkpoints", "expireRequests",
		"commitsLike", "commitsOfRun", "commitsIn", "commitsBeginning", "runsThatChanged", "foldersBelow", "getMarks",
	} {
		text, ok := queries[name]
		if !ok {
			t.Errorf("there is no query %s", name)
			continue
		}
		for _, step := range plan(t, s.file.Readers(), text) {
			scan := strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "USING") && !strings.Contains(step, "VIRTUAL TABLE") &&
				!strings.Contains(step, "CONSTANT ROW") && !strings.Contains(step, "VALUES CLAUSE") && step != "SCAN v" // the rows that a statement is given
			if scan && name != "newestRuns" { // which walks the table backwards and stops
				t.Errorf("%s reads a whole table: %s", name, step)
			}
			if strings.Contains(step, "TEMP B-TREE") && name == "facts" {
				t.Errorf("%s sorts: %s", name, step)
			}
		}
	}
}

func plan(t *testing.T, db *sql.DB, text string) []string {
	t.Helper()
	var args []any
	for i := range strings.Count(text, "?") {
		args = append(args, strconv.Itoa(i))
	}
	rows, err := db.Query("EXPLAIN QUERY PLAN "+text[strings.Index(text, "\n"):], args[:parameters(text)]...)
	if err != nil {
		t.Fatal(text, err)
	}
	var out []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
			t.Fatal(err)
		}
		out = append(out, detail)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func parameters(text string) int {
	most := 0
	for _, m := range regexp.MustCompile(`\?(\d+)`).FindAllStringSubmatch(text, -1) {
		n, _ := strconv.Atoi(m[1])
		most = max(most, n)
	}
	return most
}
