package main

import (
	"slices"
	"strings"
	"testing"
)

func TestAFleetMayImportWhatItsRulesName(t *testing.T) {
	code, said := check(t, map[string]string{
		"host/fleet/go.mod":                        "module agent/fleet\n",
		"host/fleet/custody/workflow.go":           importing("custody", "net/url", "time", "go.temporal.io/sdk/workflow"),
		"host/fleet/custody/workflow_test.go":      importing("custody_test", "os", "agent/fleet/custody", "agent/fleet/codec", "go.temporal.io/sdk/testsuite"),
		"host/fleet/seal/entry.go":                 importing("seal", "crypto/rand", "os", "agent/host/pack", "agent/host/witness/line"),
		"host/fleet/log/postgres.go":               importing("log", "github.com/jackc/pgx/v5/pgxpool"),
		"host/fleet/log/log_test.go":               importing("log_test", "agent/fleet/log", "agent/fleet/log/fake"),
		"host/fleet/log/replay/pack.go":            importing("replay", "agent/fleet/log", "agent/fleet/seal", "agent/host/pack"),
		"host/fleet/worker/run.go":                 importing("worker", "os/exec", "time", "agent/fleet/client", "agent/fleet/custody", "agent/fleet/witness", "go.temporal.io/sdk/worker"),
		"host/fleet/worker/gate.go":                "package worker\n\nfunc f(c chan int) {\n\tgo g()\n\tselect {\n\tcase <-c:\n\t}\n}\n",
		"host/fleet/cmd/agent-fleet/main.go":       importing("main", "agent/fleet/worker", "github.com/urfave/cli/v3"),
		"host/fleet/lab/lab.go":                    importing("lab", "os/exec", "testing"),
		"host/fleet/lab/server/main.go":            importing("main", "go.temporal.io/server/temporal"),
		"host/fleet/custody/testdata/odd/story.go": "not Go at all",
	})
	if code != 0 {
		t.Errorf("exit code %d for a fleet within the rules:\n%s", code, said)
	}
}

func TestEveryRuleOfAFleetFires(t *testing.T) {
	for _, tt := range []struct{ file, target, want string }{
		{"host/fleet/custody/a.go", "agent/fleet/client", "host/fleet/custody may import nothing of this module"},
		{"host/fleet/custody/a.go", "agent/fleet/codec", "nobody who does is known"}, // its tests may
		{"host/fleet/custody/a_test.go", "agent/fleet/worker", "nobody who does is known"},
		{"host/fleet/custody/a.go", "go.temporal.io/sdk/activity", "of other modules: where a run is follows from what the engine replays"},
		{"host/fleet/custody/a.go", "os", "the world, time and chance are arguments here"},
		{"host/fleet/custody/a.go", "net", "the world, time and chance are arguments here"},
		{"host/fleet/custody/a.go", "sync", "the world, time and chance are arguments here"},
		{"host/fleet/custody/a.go", "crypto/rand", "the world, time and chance are arguments here"},
		{"host/fleet/model/a.go", "math/rand/v2", "the world, time and chance are arguments here"},
		{"host/fleet/model/a.go", "agent/fleet/log", "the model shows every order of events by itself"},
		{"host/fleet/seal/a.go", "agent/fleet/log", "where it is kept does not matter"},
		{"host/fleet/seal/a.go", "agent/host/moves", "may import only host/pack, host/witness/line"},
		{"host/fleet/codec/a.go", "agent/fleet/seal", "what the engine stores is sealed whatever it says"},
		{"host/fleet/codec/a.go", "go.temporal.io/sdk/client", "what the engine stores is sealed whatever it says"},
		{"host/fleet/log/a.go", "agent/fleet/seal", "what they say is sealed"},
		{"host/fleet/log/a.go", "agent/fleet/log/fake", "what they say is sealed"}, // its tests may
		{"host/fleet/log/a.go", "github.com/nats-io/nats.go", "may import only github.com/jackc/pgx/v5/..., github.com/minio/minio-go/v7/... of other modules"},
		{"host/fleet/log/fake/a.go", "agent/fleet/seal", "a log for tests is a log"},
		{"host/fleet/log/logtest/a.go", "agent/fleet/log/pgtest", "is tried on a log alone"},
		{"host/fleet/log/pgtest/a.go", "agent/fleet/log", "whatever is stored in it"},
		{"host/fleet/log/replay/a.go", "agent/fleet/witness", "who drives the run next"}, // its tests may
		{"host/fleet/log/replay/a.go", "agent/db/moves", "who drives the run next"},
		{"host/fleet/log/replay/replaytest/a.go", "agent/fleet/log", "records for tests are records"},
		{"host/fleet/witness/a.go", "agent/fleet/worker", "it knows neither the engine nor who started a driver"},
		{"host/fleet/witness/a.go", "go.temporal.io/sdk/client", "may import nothing of other modules"},
		{"host/fleet/client/a.go", "agent/fleet/log", "it opens no log and drives nothing"},
		{"host/fleet/client/a.go", "agent/fleet/worker", "it opens no log and drives nothing"},
		{"host/fleet/client/a.go", "github.com/urfave/cli/v3", "it opens no log and drives nothing"},
		{"host/fleet/worker/a.go", "agent/fleet/cmd/agent-fleet", "what a person does is known to the front door"},
		{"host/fleet/worker/a.go", "agent/host", "what a person does is known to the front door"},
		{"host/fleet/cmd/agent-fleet/a.go", "go.temporal.io/sdk/client", "the engine it reaches by client and worker"},
		{"host/fleet/cmd/agent-fleet/a.go", "agent/host/pack", "a front door turns flags into calls of rooms"},
		{"host/fleet/cmd/agent-fleet/a_test.go", "agent/host/command", "a front door turns flags into calls of rooms"},
		{"host/fleet/cmd/fleet-figures/a.go", "agent/fleet/worker", "by what its rooms show"},
		{"host/fleet/lab/a.go", "agent/fleet/client", "it sees from outside alone"},
		{"host/fleet/lab/a_test.go", "agent/fleet/custody", "it sees from outside alone"},
		{"host/fleet/lab/server/a.go", "agent/fleet/custody", "knows nothing of a fleet"},
		{"host/fleet/lab/s3/a.go", "agent/fleet/log", "the bucket is another program's"}, // its tests may
		{"host/fleet/new/a.go", "agent/host/pack", "host/fleet/new has no rule of its own"},
		{"host/fleet/new/a.go", "go.temporal.io/sdk/client", "is a decision for each"},
		{"host/fleet/a.go", "agent/db", "is a decision for each"},
		{"host/command/a.go", "agent/fleet/client", "may import only host/..., recovery/... without host/fleet/..."},
		{"host/app/a.go", "agent/fleet/client", "host/app may import only"},
	} {
		t.Run(tt.file+" imports "+strings.ReplaceAll(tt.target, "/", "."), func(t *testing.T) {
			refuses(t, tt.file, importing("a", tt.target), tt.want)
		})
	}
}

// Nobody imports a front door, and of the main module there is what a pack and a witness's line are
// and nothing else.
func TestTheRulesOfAFleetNameRooms(t *testing.T) {
	for _, r := range fleet() {
		for _, target := range slices.Concat(r.allow, r.tests) {
			if strings.HasPrefix(target, fleetDir+"/") && !strings.Contains(target, "/cmd/") && !strings.HasPrefix(target, fleetDir+"/lab") {
				continue
			}
			if target != "host/pack" && target != "host/witness/line" && target != "host/optionlines" {
				t.Errorf("%s may import %s", r.dir, target)
			}
		}
	}
}

func TestAWorkflowStartsNothingByItself(t *testing.T) {
	for _, text := range []string{"go f()", "select {}", "var c chan int", "var _ = time.Now()", "time.Sleep(1)"} {
		want := "runs beside what the engine replays"
		if strings.Contains(text, "time.") {
			want = "reads the clock"
		}
		refuses(t, "host/fleet/custody/a.go", "package custody\nimport \"time\"\nvar t time.Time\nfunc f() {\n"+text+"\n}\n", want)
	}
}

// The refused forms bind modules within this one as well.
func TestNestedModulesAreBound(t *testing.T) {
	for file, module := range map[string]string{"host/fleet/lab/a.go": "host/fleet/lab", "host/fleet/seal/a.go": "host/fleet", "scripts/page/a.go": "scripts/page"} {
		for text, want := range map[string]string{"package host\n\n// FIXME\n": `"FIXME": finish it`, "package host\n\nfunc init() {}\n": "func init", "package host\n\nvar n int\n\nfunc f() { n++ }\n": "package state"} {
			code, said := check(t, map[string]string{module + "/go.mod": "module nested\n", file: text})
			if code != 1 || !strings.Contains(said, file+":") || !strings.Contains(said, want) {
				t.Errorf("exit code %d, said:\n%swant %q about %s", code, said, want, file)
			}
		}
	}
}
