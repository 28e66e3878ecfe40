package terminal

import (
	"fmt"
	"strings"
	"testing"

	"agent/host/flow/table"
	"agent/recovery/journal"
)

func made(path, phase, item string, bytes int64, more func(*table.Artifact)) table.Artifact {
	a := table.Artifact{Path: path, Phase: phase, Item: item, Digest: "8f2c91d0aaaa", Bytes: bytes, State: journal.ArtifactIntact}
	if more != nil {
		more(&a)
	}
	return a
}

// A flow at three widths: a narrow terminal has what was made below its phase.
func TestFlow(t *testing.T) {
	v := &table.Table{
		Phases: []table.Phase{
			{Name: "scout", Status: table.Done, Attempts: 1, Try: 1, Tries: 2, Run: "r-9d3k0000", DurationMS: 41_000, Cost: 20_000},
			{Name: "plan", Status: table.Done, Attempts: 2, Try: 1, Tries: 2, Run: "r-x1vv0000", DurationMS: 188_000, Cost: 430_000},
			{Name: "build", Status: table.Running, Attempts: 2, Try: 2, Tries: 3, Run: "r-4fqa0000", DurationMS: 420_000, Cost: 5_000,
				Reason: "check `go test ./...` exit 1\nFAIL of two tests and a long text after it, which no narrow terminal can show"},
			{Name: "review", Status: table.NotYet},
			{Name: "publish", Status: table.Waiting, Tries: 1, Request: "p-c32a5jbe"},
		},
		Artifacts: []table.Artifact{
			made("docs/flow/scout.md", "scout", "", 4200, func(a *table.Artifact) { a.PutBack = true }),
			made("docs/flow/plan.md", "plan", "", 6200, func(a *table.Artifact) { a.Edited = true }),
			made("docs/flow/steps.md", "plan", "", 120, func(a *table.Artifact) { a.State = journal.ArtifactCut }),
			made("SPEC.md", "", "", 900, nil), made("NOTES.md", "", "", 900, func(a *table.Artifact) { a.Edited = true }),
		},
	}
	narrow := "PHASE    STATUS   TRY  RUN         TIME  COST\n" +
		"scout    done     1    r-9d3k0000  41s   $0.02\n" +
		"    docs/flow/scout.md 4.1 KiB 8f2c91d0, put back\n" +
		"plan     done     2    r-x1vv0000  3m8s  $0.43\n" +
		"    docs/flow/plan.md 6.1 KiB 8f2c91d0, yours\n" +
		"    docs/flow/steps.md 120 B 8f2c91d0, cut\n" +
		"build    running  2/3  r-4fqa0000  7m    <$0.01\n" +
		"    check `go test ./...` exit 1 FAIL of two tests and a long text after it, wh…\n" +
		"review   not yet\n" +
		"publish  waiting\n" +
		"    ? agent answer p-c32a5jbe\n" +
		"(read)\n" +
		"    NOTES.md 900 B 8f2c91d0, yours\n"
	wide := "PHASE    STATUS   TRY  RUN         TIME  COST    ARTIFACTS\n" +
		"scout    done     1    r-9d3k0000  41s   $0.02   docs/flow/scout.md 4.1 KiB 8f2c91d0, put back\n" +
		"plan     done     2    r-x1vv0000  3m8s  $0.43   docs/flow/plan.md 6.1 KiB 8f2c91d0, yours\n" +
		"                                                 docs/flow/steps.md 120 B 8f2c91d0, cut\n" +
		"build    running  2/3  r-4fqa0000  7m    <$0.01\n" +
		"    check `go test ./...` exit 1 FAIL of two tests and a long text after it, which no narrow terminal can show\n" +
		"review   not yet\n" +
		"publish  waiting\n" +
		"    ? agent answer p-c32a5jbe\n" +
		"(read)\n" +
		"    NOTES.md 900 B 8f2c91d0, yours\n"
	for width, want := range map[int]string{80: narrow, 120: wide, 0: wide} {
		var b strings.Builder
		if writeFlow(&b, v, width); b.String() != want {
			t.Errorf("%d cells: got\n%s\nwant\n%s", width, b.String(), want)
		}
		for line := range strings.Lines(b.String()) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); width > 0 && n > width {
				t.Errorf("%d cells: a line of %d:\n%s", width, n, line)
			}
		}
	}
}

// Forty branches are one row with counts, and a row for each that somebody may want to look at.
func TestFlowOfManyBranches(t *testing.T) {
	p := table.Phase{Name: "read", Each: "audit/packages.json", Status: table.Running, Attempts: 36, Tries: 2, DurationMS: 720_000, Cost: 3_200_000, Counts: map[table.Status]int{}}
	v := &table.Table{}
	for i := range 40 {
		x := table.Phase{Name: "read", Item: fmt.Sprintf("agent.host.package%02d", i), Status: table.Done, Attempts: 1, Try: 1, Tries: 2, Run: fmt.Sprintf("r-%08d", i), DurationMS: 20_000, Cost: 80_000}
		switch {
		case i == 3:
			x.Status, x.Reason = table.Failed, "audit/agent.host.package03.md has no line ## Findings"
		case i == 7:
			x.Status, x.Request = table.Waiting, "p-c32a5jbe"
		case i >= 30 && i < 34:
			x.Status = table.Running
		case i >= 34:
			x = table.Phase{Name: "read", Item: x.Item, Status: table.NotYet}
		}
		if x.Status == table.Done {
			v.Artifacts = append(v.Artifacts, made("audit/"+x.Item+".md", "read", x.Item, 2048, func(a *table.Artifact) { a.Edited = i == 9 }))
		}
		p.Counts[x.Status]++
		p.Branches = append(p.Branches, x)
	}
	v.Phases = []table.Phase{p, {Name: "merge", Status: table.NotYet}}
	narrow := "PHASE                   STATUS   TRY  RUN         TIME  COST\n" +
		"read                    running       40 items    12m   $3.20\n" +
		"    28 done, 4 running, 1 waiting, 1 failed, 6 not yet; 28 files, 56.0 KiB\n" +
		"└ agent.host.package03  failed   1/2  r-00000003  20s   $0.08\n" +
		"    audit/agent.host.package03.md has no line ## Findings\n" +
		"└ agent.host.package07  waiting  1/2  r-00000007  20s   $0.08\n" +
		"    ? agent answer p-c32a5jbe\n" +
		"└ agent.host.package09  done     1    r-00000009  20s   $0.08\n" +
		"    audit/agent.host.package09.md 2.0 KiB 8f2c91d0, yours\n" +
		"└ agent.host.package30  running  1/2  r-00000030  20s   $0.08\n" +
		"└ agent.host.package31  running  1/2  r-00000031  20s   $0.08\n" +
		"└ agent.host.package32  running  1/2  r-00000032  20s   $0.08\n" +
		"└ agent.host.package33  running  1/2  r-00000033  20s   $0.08\n" +
		"merge                   not yet\n"
	var b strings.Builder
	if writeFlow(&b, v, 80); b.String() != narrow {
		t.Errorf("got\n%s\nwant\n%s", b.String(), narrow)
	}
	for i := range v.Phases[0].Branches {
		v.Phases[0].Branches[i].Status = table.Interrupted
	}
	b.Reset()
	if writeFlow(&b, v, 120); !strings.Contains(b.String(), "\n└ and 28 more\n") {
		t.Errorf("forty that are interrupted:\n%s", b.String())
	}
}
