package runner_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"agent/tools/runner"
)

// FuzzRecords: whatever lies in a call's folder, it is taken for the end of a call only if it names
// that call, and for a call that never began only if nothing of a beginning is there. What is
// unknown always names the call whose processes are looked for. Looking changes nothing.
func FuzzRecords(f *testing.F) {
	id := runner.Identity{Run: "r-7k2m9qx4", Turn: 2, Index: 1, Attempt: 1, Fingerprint: "hmac-sha256:v1:00"}
	const named = `{"run":"r-7k2m9qx4","turn":2,"index":1,"attempt":1,"fingerprint":"hmac-sha256:v1:00"`
	const lock, began, exit = named + `,"version":1}` + "\n", named + `,"boot":"b","space":"s","runner":{"pid":4194303,"start":1},"at":"2026-01-02T03:04:05Z"}`,
		named + `,"status":0,"cause":"exited","output":3,"kept":3,"digest":"d","started":"2026-01-02T03:04:05Z","ended":"2026-01-02T03:04:06Z"}`
	other := strings.NewReplacer(`"attempt":1`, `"attempt":2`)
	for _, s := range []struct {
		there             uint8
		lock, began, exit string
	}{
		{7, lock, began, exit}, {3, lock, began, ""}, {1, lock, "", ""}, {0, "", "", ""}, {5, lock, "", exit}, {6, "", began, exit}, {1, lock + `{"refused":"the disk is full"}`, "", ""},
		{7, lock, began, exit[:40]}, {7, lock, other.Replace(began), ""}, {7, lock, began, other.Replace(exit)}, {7, other.Replace(lock), began, exit}, {3, lock, "", ""}, {5, lock, "", ""}, {3, lock, "null", ""},
		{5, lock, "", "null"}, {5, lock, "", exit + exit}, {1, strings.Replace(lock, `"run"`, `"RUN"`, 1), "", ""}, {7, lock, strings.Repeat(" ", 5000) + began, ""}, {1, "\x00\x00", "", ""},
		{3, lock, strings.Replace(began, `"boot":"b"`, `"boot":""`, 1), ""}, {3, lock, strings.Replace(began, "4194303", "-1", 1), ""}, {1, strings.TrimSuffix(lock, "\n"), "", ""},
	} {
		f.Add(s.there, []byte(s.lock), []byte(s.began), []byte(s.exit))
	}
	folder := f.TempDir()
	f.Fuzz(func(t *testing.T, there uint8, lock, began, exit []byte) {
		all := map[string][]byte{}
		for i, data := range [][]byte{lock, began, exit} {
			name := filepath.Join(folder, []string{"lock", "began", "exit"}[i])
			if there&(1<<i) == 0 {
				if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
				continue
			}
			all[filepath.Base(name)] = data
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := runner.Inspect(folder, id)
		again, err2 := runner.Inspect(folder, id)
		if err != nil || err2 != nil || s.Why == "" || s.State != again.State || s.Why != again.Why || !reflect.DeepEqual(s.Exit, again.Exit) {
			t.Fatalf("%+v, %v; then %+v, %v", s, err, again, err2)
		}
		_, hasBegan := all["began"]
		_, hasExit := all["exit"]
		locked := names(strings.SplitN(string(lock), "\n", 2)[0], id) && there&1 != 0
		switch s.State {
		case runner.Ended:
			if !locked || !hasExit || !names(string(exit), id) || s.Exit == nil || s.Exit.Identity != id {
				t.Errorf("it is taken for the end: %+v", s)
			}
		case runner.NeverStarted:
			if !locked || hasBegan || hasExit {
				t.Errorf("it is taken for never started: %+v", s)
			}
		case runner.Unknown:
			if !locked || !hasBegan && !hasExit || s.Began == nil || s.Began.Identity != id {
				t.Errorf("it is taken for unknown: %+v", s)
			}
		case runner.NoEvidence:
			if locked && !(hasExit && readable(exit) && !names(string(exit), id)) && !(hasBegan && readable(began) && !names(string(began), id)) {
				t.Errorf("it is taken for no evidence: %+v", s)
			}
		default:
			t.Errorf("nothing holds the lock: %+v", s)
		}
		for name, data := range all {
			if now, err := os.ReadFile(filepath.Join(folder, name)); err != nil || string(now) != string(data) {
				t.Errorf("%s was changed: %v", name, err)
			}
		}
	})
}

// names says whether a record is about the attempt, read member by member.
func names(record string, id runner.Identity) bool {
	var m struct {
		Run         *string
		Turn        *int
		Index       *int
		Attempt     *int
		Fingerprint *string
	}
	return len(record) <= 4096 && json.Unmarshal([]byte(record), &m) == nil && m.Run != nil && m.Turn != nil && m.Index != nil && m.Attempt != nil && m.Fingerprint != nil &&
		*m.Run == id.Run && *m.Turn == id.Turn && *m.Index == id.Index && *m.Attempt == id.Attempt && *m.Fingerprint == id.Fingerprint
}

// readable says whether a record is a JSON object of a size that a record may have.
func readable(record []byte) bool { return len(record) <= 4096 && json.Valid(record) }
