package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// homes are the state folders of a worker. There is one, and one more for each run that came back
// after it had gone on elsewhere: its old copy stays as it is, and nothing is ever merged.
type homes struct {
	first Agent

	mu   sync.Mutex
	eyes map[string]*eye // by the folder
	ctx  context.Context // of the eyes
}

// again is where the state folder of a run is that came back; it need not be there.
func (h *homes) again(run string, n int) string {
	return filepath.Join(h.first.Home, "fleet", "again", fmt.Sprintf("%s.%d", run, n))
}

// of is the agent whose state folder a run is in, or would be.
func (h *homes) of(run string) Agent {
	a := h.first
	for n := 1; ; n++ {
		folder := h.again(run, n)
		if _, err := os.Stat(folder); err != nil {
			return a
		}
		a.Home = folder
	}
}

// renew makes another state folder for a run.
func (h *homes) renew(run string) (Agent, error) {
	a := h.first
	for n := 1; ; n++ {
		a.Home = h.again(run, n)
		if _, err := os.Stat(a.Home); errors.Is(err, fs.ErrNotExist) {
			return a, os.MkdirAll(a.Home, 0o700)
		}
	}
}

// all are the agents of all state folders.
func (h *homes) all() []Agent {
	out := []Agent{h.first}
	entries, _ := os.ReadDir(filepath.Join(h.first.Home, "fleet", "again")) // usually absent
	seen := map[string]bool{}
	for _, e := range entries {
		run, _, _ := strings.Cut(e.Name(), ".")
		if !seen[run] {
			seen[run] = true
			out = append(out, h.of(run))
		}
	}
	return out
}

// eye is what looks at the runs of a state folder.
func (h *homes) eye(a Agent) *eye {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.eyes[a.Home]
	if e == nil {
		e = newEye(a)
		h.eyes[a.Home] = e
		go e.watch(h.ctx)
	}
	return e
}

// taken is what is kept of a run that was taken in from the log: up to which place.
type taken struct {
	Place int64 `json:"place"`
}

func takenFile(a Agent, run string) string { return filepath.Join(a.Home, "fleet", run+".json") }

// takenAt is up to which place of the log a run was taken in; 0 for one that began here.
func takenAt(a Agent, run string) (int64, error) {
	b, err := os.ReadFile(takenFile(a, run))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var t taken
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	if err != nil {
		return 0, fmt.Errorf("read from where run %s was taken in: %w", run, err)
	}
	return t.Place, nil
}

// keepTaken notes that a run was taken in.
func keepTaken(a Agent, run string, place int64) error {
	path := takenFile(a, run)
	b, err := json.Marshal(taken{place})
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path+".new", b, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("note from where run %s was taken in: %w", run, err)
	}
	return nil
}
