package custody_test

import (
	"os"
	"path/filepath"
	"testing"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"agent/fleet/codec"
	"agent/fleet/custody"
	"agent/fleet/seal"
)

// histories are those of runs on a server, sealed with the key of the tests. agent-fleet history
// prints one; the tests of package client save theirs with AGENT_FLEET_SAVE_HISTORIES=FOLDER.
func histories(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/histories/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("there is no history to replay: %v", err)
	}
	return files
}

func replayer(t *testing.T, register func(worker.WorkflowReplayer)) worker.WorkflowReplayer {
	t.Helper()
	b, err := os.ReadFile("testdata/histories/key")
	if err != nil {
		t.Fatal(err)
	}
	key, err := seal.ParseKey(string(b))
	if err != nil {
		t.Fatal(err)
	}
	data, failures, err := codec.Converters(key)
	if err != nil {
		t.Fatal(err)
	}
	r, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter: converter.DataConverter(data), FailureConverter: failures,
	})
	if err != nil {
		t.Fatal(err)
	}
	register(r)
	return r
}

// A worker goes on with the custodies that its predecessor began: their histories have to lead the
// new workflow to the same places. A change that fails here needs workflow.GetVersion.
func TestOldHistoriesReplay(t *testing.T) {
	r := replayer(t, func(r worker.WorkflowReplayer) { r.RegisterWorkflow(custody.Custody) })
	for _, file := range histories(t) {
		if err := r.ReplayWorkflowHistoryFromJSONFile(quiet{}, file); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestAnotherWorkflowDoesNotReplay(t *testing.T) {
	other := func(ctx workflow.Context, run custody.Run) (custody.Outcome, error) {
		err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 1}), "Other", run).Get(ctx, nil)
		return custody.Outcome{}, err
	}
	r := replayer(t, func(r worker.WorkflowReplayer) {
		r.RegisterWorkflowWithOptions(other, workflow.RegisterOptions{Name: "Custody"})
	})
	for _, file := range histories(t) {
		if err := r.ReplayWorkflowHistoryFromJSONFile(quiet{}, file); err == nil {
			t.Errorf("%s was replayed by another workflow", file)
		}
	}
}
