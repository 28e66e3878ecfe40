package main

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// check runs both checks over a tree made of the given files and returns what they say.
func check(t *testing.T, files map[string]string) (code int, said string) {
	t.Helper()
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	var stdout, stderr strings.Builder
	code = run(tree, nil, &stdout, &stderr)
	return code, stdout.String() + stderr.String()
}

// importing is a Go file with these imports.
func importing(pkg string, targets ...string) string {
	text := "package " + pkg + "\n"
	for _, target := range targets {
		text += fmt.Sprintf("import _ %q\n", target)
	}
	return text
}

func TestEveryLayerMayImportWhatItsRuleNames(t *testing.T) {
	code, said := check(t, map[string]string{
		"main.go":                      importing("main", "os", "agent/host/command"),
		"main_test.go":                 importing("main", "agent/db", "database/sql", "modernc.org/sqlite"),
		"host/command/run.go":          importing("command", "agent/host", "agent/host/app", "agent/host/terminal", "agent/recovery", "agent/host/model/runbook"),
		"host/command/run_test.go":     importing("command", "agent/db/dbsqlc", "database/sql"),
		"host/view/run.go":             importing("view", "time", "agent/host", "agent/db", "agent/recovery", "agent/host/stream"),
		"host/app/folder.go":           importing("app", "agent/host", "agent/host/view", "agent/db", "agent/tools/mcp", "agent/host/model/transport"),
		"host/terminal/screen.go":      importing("terminal", "os", "agent/host/view", "agent/recovery/journal", "agent/host/stream"),
		"host/drive.go":                importing("host", "time", "agent/recovery", "agent/recovery/fault", "agent/db", "agent/tools", "agent/tools/runner", "agent/host/model", "agent/host/stream"),
		"host/drive_test.go":           importing("host_test", "agent/host", "github.com/google/go-cmp/cmp"),
		"host/serve/wait_test.go":      importing("serve", "agent/scripts/testkit"),
		"host/serve/serve.go":          importing("serve", "net/http", "agent/host", "agent/host/watch"),
		"host/flow/flow.go":            importing("flow", "agent/host/drive"),
		"host/gitlink/gitlink.go":      importing("gitlink", "agent/host", "agent/tools/sandbox"),
		"host/model/model.go":          importing("model", "context", "agent/recovery/journal"),
		"host/model/runbook/book.go":   importing("runbook", "agent/host/model", "agent/recovery/journal"),
		"host/stream/live.go":          importing("stream", "os", "agent/recovery/journal", "github.com/fsnotify/fsnotify"),
		"db/open.go":                   importing("db", "database/sql", "modernc.org/sqlite", "agent/recovery", "agent/recovery/fault", "agent/db/dbsqlc", "agent/db/redact"),
		"db/dbsqlc/db.go":              importing("dbsqlc", "database/sql"),
		"tools/runner/runner.go":       importing("runner", "os/exec", "agent/recovery", "agent/recovery/fault", "agent/tools/ofd"),
		"recovery/fold.go":             importing("recovery", "fmt", "time", "encoding/json"),
		"recovery/fold_test.go":        importing("recovery", "os", "time", "pgregory.net/rapid"),
		"recovery/fault/fault.go":      importing("fault", "os", "syscall"),
		"scripts/crashlab/judge/j.go":  importing("judge", "fmt", "time", "agent/scripts/crashlab/journal"),
		"scripts/bench/main.go":        importing("main", "agent/db/dbsqlc", "database/sql"),
		"tools/testdata/odd/common.go": "not Go at all",
	})
	if code != 0 {
		t.Errorf("exit code %d for a tree within the rules:\n%s", code, said)
	}
}

func TestEveryImportRuleFires(t *testing.T) {
	tests := []struct{ file, target, want string }{
		{"scripts/crashlab/judge/check.go", "os", "imports os"},
		{"scripts/crashlab/judge/check.go", "database/sql", "SQLite is reached only through db"},
		{"scripts/crashlab/judge/check.go", "agent/scripts/crashlab/world", "the judge decides from the record"},
		{"scripts/crashlab/story/story.go", "agent/scripts/crashlab/plan", "a story is data"},
		{"scripts/crashlab/world/world.go", "agent/scripts/crashlab/trial", "a world starts and kills processes"},
		{"scripts/crashlab/lab/lab.go", "agent/scripts/crashlab/fault/boot", "the lab knows no kind of fault"},
		{"scripts/crashlab/fault/boot/boot.go", "agent/scripts/crashlab/fault/power", "know nothing of each other"},
		{"scripts/crashlab/journal/journal.go", "agent/recovery", "read by SQL alone"},
		{"main.go", "agent/host", "main may import only host/command"},
		{"main.go", "database/sql", "SQLite is reached only through db"},
		{"host/command/run.go", "agent/db", "neither the store nor tools"},
		{"host/serve/wait.go", "agent/scripts/testkit", "imports scripts/testkit"},
		{"host/serve/wait_test.go", "agent/scripts/testkits", "imports scripts/testkits"},
		{"host/command/run.go", "agent/db/redact", "neither the store nor tools"},
		{"host/command/run.go", "agent/tools", "neither the store nor tools"},
		{"host/command/run.go", "agent/tools/runner", "neither the store nor tools"},
		{"host/command/run.go", "agent/scripts/imports", "may import only host/..., recovery/..."},
		{"host/command/run.go", "modernc.org/sqlite", "SQLite is reached only through db"},
		{"host/view/run.go", "agent/host/command", "it opens nothing"},
		{"host/view/run.go", "agent/tools/runner", "it opens nothing"},
		{"host/view/run_test.go", "database/sql", "SQLite is reached only through db"},
		{"host/view/run.go", "agent/host/terminal", "it opens nothing"},
		{"host/terminal/screen.go", "agent/db", "shows what it is given"},
		{"host/app/folder.go", "agent/host/command", "which front door that is"},
		{"host/app/folder.go", "agent/host/terminal", "which front door that is"},
		{"host/app/folder.go", "agent/db/dbsqlc", "which front door that is"},
		{"host/tty/tty.go", "agent/host", "what the kernel says"},
		{"host/terminal/screen.go", "agent/host", "shows what it is given"},
		{"host/terminal/screen_test.go", "agent/host/command", "shows what it is given"},
		{"host/drive.go", "agent/host/view", "host may import only"},
		{"host/drive.go", "agent/host/terminal", "host may import only"},
		{"host/drive.go", "agent/host/command", "host may import only"},
		{"host/drive.go", "agent/host/model/runbook", "host may import only"},
		{"host/drive.go", "agent/db/dbsqlc", "host may import only"},
		{"host/drive.go", "database/sql/driver", "SQLite is reached only through db"},
		{"host/drive_test.go", "database/sql", "SQLite is reached only through db"},
		{"host/drive_test.go", "agent/host/command", "host may import only"},
		{"host/lock/lock.go", "agent/host", "host/lock has no rule of its own"},
		{"host/serve/serve.go", "agent/host/command", "a server shows what watch and view give it"},
		{"host/flow/flow.go", "agent/host/serve", "a flow is carried out by runs below it"},
		{"host/gitlink/gitlink.go", "agent/host/flow", "gitlink stands on host"},
		{"host/model/model.go", "agent/tools", "it knows no run, no tool"},
		{"host/model/runbook/book.go", "agent/db", "it knows no run, no tool"},
		{"host/stream/live.go", "agent/db", "observers read"},
		{"host/stream/live.go", "example.org/queue", "standard library and fsnotify"},
		{"db/open.go", "agent/tools/ofd", "it knows neither tools"},
		{"db/open_test.go", "agent/host", "it knows neither tools"},
		{"db/dbsqlc/db.go", "agent/recovery", "generated code is a leaf"},
		{"db/redact/redact.go", "agent/db", "redaction works on values"},
		{"db/redact/redact.go", "database/sql", "SQLite is reached only through db"},
		{"tools/tool.go", "agent/host", "a tool acts and reports"},
		{"tools/runner/runner.go", "agent/db", "tools/runner has no rule of its own"},
		{"recovery/fold.go", "agent/recovery/fault", "recovery may import only recovery/... without recovery/fault"},
		{"recovery/fold.go", "agent/tools", "recovery decides from its arguments"},
		{"recovery/fold_test.go", "agent/tools", "recovery decides from its arguments"},
		{"recovery/fault/fault.go", "agent/recovery", "fault points are a leaf"},
		{"recovery/fold.go", "github.com/google/go-cmp/cmp", "standard library only"},
		{"recovery/workspace/relate/relate.go", "github.com/rogpeppe/go-internal/diff", "standard library only"},
		{"recovery/fold.go", "agent", "imports the main package"},
		{"queue/queue.go", "fmt", "no rule says what queue may import"},
		{"queue/deep/queue.go", "fmt", "no rule says what queue/deep may import"},
	}
	for _, pkg := range []string{"os", "os/exec", "net", "net/http", "database/sql", "context", "log", "log/slog",
		"math/rand", "math/rand/v2", "crypto/rand", "syscall"} {
		tests = append(tests, struct{ file, target, want string }{"recovery/fold.go", pkg, "imports " + pkg + ":"})
	}
	for _, tt := range tests {
		t.Run(tt.file+" imports "+strings.ReplaceAll(tt.target, "/", "."), func(t *testing.T) {
			refuses(t, tt.file, importing(path.Base(path.Dir("x/"+tt.file)), tt.target), tt.want)
		})
	}
}

// refuses asserts that a tree of this one file is refused, with the words that give the reason.
func refuses(t *testing.T, file, text, want string) {
	t.Helper()
	code, said := check(t, map[string]string{file: text})
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if !strings.Contains(said, file+":") || !strings.Contains(said, want) {
		t.Errorf("said:\n%swant %q in a line about %s", said, want, file)
	}
}

func TestEveryRuleGivesAReasonAndALimit(t *testing.T) {
	for _, r := range slices.Concat(layers(), crashlab(), fleet()) {
		if r.permits("no/such/package") {
			t.Errorf("the rule of %s permits anything", r.dir)
		}
		if r.why == "" {
			t.Errorf("the rule of %s gives no reason", r.dir)
		}
	}
}

func TestRecoveryReadsNoClock(t *testing.T) {
	for _, use := range []string{"Now()", "Since(t0)", "Until(t0)", "After(1)", "AfterFunc(1, nil)", "Sleep(1)", "Tick(1)", "NewTimer(1)", "NewTicker(1)"} {
		t.Run(use, func(t *testing.T) {
			refuses(t, "recovery/fold.go", "package recovery\nimport \"time\"\nvar t0 time.Time\nfunc f() { time."+use+" }\n", "recovery/fold.go:4: reads the clock")
			refuses(t, "recovery/sub/a.go", "package sub\nimport clock \"time\"\nvar t0 clock.Time\nfunc f() { clock."+use+" }\n", "reads the clock")
		})
	}
	refuses(t, "recovery/fold.go", "package recovery\nimport . \"time\"\n", "reads the clock")
	const pure = "package recovery\nimport \"time\"\nfunc f(now, then time.Time) time.Duration { return now.Sub(then) + time.Second }\n"
	if code, said := check(t, map[string]string{"recovery/fold.go": pure, "recovery/fault/f.go": "package fault\nimport \"time\"\nfunc f() { time.Sleep(1) }\n"}); code != 0 {
		t.Errorf("exit code %d for time as a value:\n%s", code, said)
	}
}
