package host

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"agent/db"
	"agent/recovery"
	"agent/tools/runner"
)

// story folds a run that asked for one call and waits for a permission.
func story(t *testing.T) (*recovery.State, db.RunRow, []db.CallRow) {
	t.Helper()
	bodies := []recovery.Body{
		recovery.RunCreated{
			Run: "r-1", Thread: "t-1", Prompt: "do it", Folder: "/w", Model: "m", Mode: recovery.ModeAsk, Limits: recovery.Limits{MaxTurns: 9},
		},
		recovery.RunClaimed{Epoch: 1, PID: 7},
		recovery.ModelRequested{},
		recovery.ModelAnswered{Stop: recovery.AnswerCalls, Calls: []recovery.Proposal{{
			ID: "c-1", Tool: "shell", Args: []byte(`{}`), Fingerprint: "f", Effect: recovery.EffectWriteExternal, Decision: recovery.DecisionAllow,
		}}},
		recovery.CallStarted{Place: recovery.Place{Turn: 1, Attempt: 1}},
	}
	s := &recovery.State{}
	for i, b := range bodies {
		turn := 0
		if i > 1 {
			turn = 1
		}
		if err := s.Apply(recovery.Event{Seq: int64(i + 1), Turn: turn, Time: time.Unix(int64(i), 0), Body: b}); err != nil {
			t.Fatal(err)
		}
	}
	row := db.RunRow{
		ID: "r-1", Thread: "t-1", Folder: "/w", Prompt: "do", Model: "m", Mode: recovery.ModeAsk, MaxTurns: 9,
		Status: recovery.StatusRunning, LastSeq: 5, Epoch: 1, Turns: 1, Calls: 1,
	}
	return s, row, []db.CallRow{{ID: "c-1", Phase: recovery.PhaseStarted}}
}

// Every column that a list is made of is compared with the journal.
func TestRowsAgainstJournal(t *testing.T) {
	s, row, calls := story(t)
	if diff := append(compareRun(row, s), compareCalls(calls, s)...); len(diff) > 0 {
		t.Fatalf("a row like its journal differs: %q", diff)
	}
	for want, change := range map[string]func(*db.RunRow){
		"thread":  func(r *db.RunRow) { r.Thread = "t-2" },
		"folder":  func(r *db.RunRow) { r.Folder = "/" },
		"model":   func(r *db.RunRow) { r.Model = "x" },
		"mode":    func(r *db.RunRow) { r.Mode = recovery.ModeYolo },
		"limit":   func(r *db.RunRow) { r.MaxTurns = 0 },
		"prompt":  func(r *db.RunRow) { r.Prompt = "undo" },
		"status":  func(r *db.RunRow) { r.Status = recovery.StatusCompleted },
		"fact":    func(r *db.RunRow) { r.LastSeq = 4 },
		"epoch":   func(r *db.RunRow) { r.Epoch = 2 },
		"turns":   func(r *db.RunRow) { r.Turns = 2 },
		"calls":   func(r *db.RunRow) { r.Calls = 0 },
		"unknown": func(r *db.RunRow) { r.Unknown = 1 },
		"request": func(r *db.RunRow) { r.Pending = &db.PendingRow{ID: "p-1"} },
	} {
		changed := row
		change(&changed)
		diff := compareRun(changed, s)
		if len(diff) != 1 || !strings.Contains(diff[0], want) {
			t.Errorf("%s: %q", want, diff)
		}
	}
	started, proposed, other := calls[0], calls[0], calls[0]
	proposed.Phase, other.ID = recovery.PhaseProposed, "c-2"
	for want, rows := range map[string][]db.CallRow{
		"c-2 is in no turn": {started, other},
		"c-1 is proposed":   {proposed},
		"c-1 has 0 rows":    {},
		"c-1 has 2 rows":    {started, started},
	} {
		if diff := compareCalls(rows, s); len(diff) != 1 || !strings.Contains(diff[0], want) {
			t.Errorf("%s: %q", want, diff)
		}
	}
}

// The folder of a call is read back to the call that it was made for.
func TestCallFolder(t *testing.T) {
	id := runner.Identity{Run: "r-7k2m9qx4", Turn: 12, Index: 3, Attempt: 2}
	run, place, ok := parseCallFolder(id.Folder("/state/calls"))
	if !ok || run != id.Run || place != (recovery.Place{Turn: 12, Index: 3, Attempt: 2}) {
		t.Errorf("read %q %+v %t", run, place, ok)
	}
	for _, other := range []string{"/state/calls/r-1/x", "/state/calls/r-1/1-2", "/state/calls/r-1/a-b-c"} {
		if _, _, ok := parseCallFolder(other); ok {
			t.Errorf("%s is taken for a call's folder", other)
		}
	}
}

// An absent state folder is no fault, and a file in its place, or in it for others to read, is one.
func TestExamineFolder(t *testing.T) {
	bad := func(home string) (areas []string) {
		for _, f := range ExamineFolder(home) {
			if f.Level == LevelBad {
				areas = append(areas, f.Area)
			}
		}
		return areas
	}
	home := filepath.Join(t.TempDir(), "state")
	if got := bad(home); len(got) > 0 {
		t.Errorf("an absent folder: bad %q", got)
	}
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "key"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := bad(home); len(got) > 0 {
		t.Errorf("a closed folder: bad %q", got)
	}
	if got := bad(filepath.Join(home, "key")); len(got) != 1 || got[0] != areaFolder {
		t.Errorf("a file in its place: bad %q", got)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.Chmod(filepath.Join(home, "key"), 0o640); err != nil {
		t.Fatal(err)
	}
	if got := bad(home); len(got) != 1 || got[0] != areaModes {
		t.Errorf("a file that others can read: bad %q", got)
	}
}
