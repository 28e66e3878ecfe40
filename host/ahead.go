package host

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"agent/db"
	"agent/recovery"
)

// Ahead is something that the state folder knows and its database does not.
type Ahead struct {
	Run  string `json:"run_id"`
	What string `json:"what"`
}

// Ahead lists what shows that the database is older than the folder around it: commands that began and whose start it does not
// have, and facts that the log names. Each was written after the commit that it rests on. What is older than the last decision
// of a person about that is left out.
func (h *Host) Ahead(ctx context.Context) ([]Ahead, error) {
	rows, err := h.Store.Runs(ctx, db.Filter{All: true})
	if err != nil {
		return nil, err
	}
	known := map[string]db.RunRow{}
	for _, r := range rows {
		known[r.ID] = r
	}
	since := h.decided()
	calls, err := h.callsAhead(ctx, known, since)
	if err != nil {
		return nil, err
	}
	logged, err := h.logAhead(known, since)
	return append(calls, logged...), err
}

// decided is when a person last said that the database counts; zero without such a word.
func (h *Host) decided() time.Time {
	m, err := h.Store.Mark()
	if err != nil {
		return time.Time{} // no mark, no decision
	}
	return m.Decided
}

// callsAhead looks into the folders of calls: a runner writes `began` only after the start of its call is durable.
func (h *Host) callsAhead(ctx context.Context, known map[string]db.RunRow, since time.Time) ([]Ahead, error) {
	began, err := filepath.Glob(filepath.Join(h.CallsDir(), "*", "*", "began"))
	if err != nil {
		return nil, fmt.Errorf("list the folders of calls: %v", err)
	}
	var out []Ahead
	for _, path := range began {
		run, p, ok := parseCallFolder(filepath.Dir(path))
		if info, err := os.Stat(path); !ok || err != nil || !info.ModTime().After(since) {
			continue // not ours, gone meanwhile, or decided about
		}
		what := fmt.Sprintf("call %s began on %s, and its run is not in the database", p, timeOfFile(path))
		if _, there := known[run]; there {
			at, err := h.recorded(ctx, run, p)
			if err != nil {
				return nil, err
			}
			if at >= p.Attempt {
				continue
			}
			what = fmt.Sprintf("call %s began (attempt %d) on %s, and its start is not in the database", p, p.Attempt, timeOfFile(path))
		}
		out = append(out, Ahead{run, what})
	}
	return out, nil
}

func timeOfFile(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "an unknown date" // gone meanwhile
	}
	return info.ModTime().Local().Format(time.DateTime)
}

// recorded is the newest attempt of a call that the database knows of; 0 for none.
func (h *Host) recorded(ctx context.Context, run string, p recovery.Place) (int, error) {
	rows, err := h.Store.Calls(ctx, run)
	for _, c := range rows {
		if c.Turn == p.Turn && c.Index == p.Index {
			return c.Attempt, nil
		}
	}
	if errors.As(err, new(*db.CorruptError)) {
		return p.Attempt, nil // reported with its journal
	}
	return 0, err
}

// logged is a line of the log about a fact, or about a turn that was settled.
type logged struct {
	Time time.Time `json:"time"`
	Msg  string    `json:"msg"`
	Run  string    `json:"run"`
	Seq  int64     `json:"seq"`  // 0 where the line is about a whole turn
	Turn int       `json:"turn"` // settled, where it is
}

// logAhead reads the log, which names a fact after its commit.
func (h *Host) logAhead(known map[string]db.RunRow, since time.Time) ([]Ahead, error) {
	last := map[string]logged{}
	for _, name := range []string{"agent.log.1", "agent.log"} {
		if err := readLog(filepath.Join(h.Home, "log", name), since, last); err != nil {
			return nil, err
		}
	}
	var out []Ahead
	for _, l := range slices.SortedFunc(maps.Values(last), func(a, b logged) int { return cmp.Compare(a.Run, b.Run) }) {
		row, there := known[l.Run]
		at := l.Time.Local().Format(time.DateTime)
		switch {
		case !there:
			out = append(out, Ahead{l.Run, fmt.Sprintf("the log names it on %s, and it is not in the database", at)})
		case row.LastSeq < l.Seq:
			out = append(out, Ahead{l.Run, fmt.Sprintf("the log names its fact %d on %s, and the database has %d facts of it", l.Seq, at, row.LastSeq)})
		case row.Turns < l.Turn:
			out = append(out, Ahead{l.Run, fmt.Sprintf("the log names its turn %d on %s, and the database has %d turns of it", l.Turn, at, row.Turns)})
		}
	}
	return out, nil
}

// readLog notes the last fact of each run in one file of the log.
func readLog(path string, since time.Time, last map[string]logged) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the log: %v", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l logged
		if json.Unmarshal(lines.Bytes(), &l) != nil || l.Run == "" || !l.Time.After(since) {
			continue // a torn line, or one about something else
		}
		if l.Seq > 0 {
			l.Turn = 0 // a request may belong to a turn that has no answer yet
		} else if l.Msg != "turn" {
			continue
		}
		before := last[l.Run]
		last[l.Run] = logged{Time: l.Time, Run: l.Run, Seq: max(before.Seq, l.Seq), Turn: max(before.Turn, l.Turn)}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the log: %v", err)
	}
	return nil
}

// RestoreHere records a person's decision that the database counts although it is behind what the folder knows. The runs that
// have not ended are returned: each is interrupted, and nothing that acts starts in it without a yes. A run that a process drives
// refuses it.
func (h *Host) RestoreHere(ctx context.Context, reason string) ([]string, error) {
	rows, err := h.Store.Runs(ctx, db.Filter{All: true})
	if err != nil {
		return nil, err
	}
	var runs []string
	for _, r := range rows {
		if r.Status.Terminal() {
			continue
		}
		lock, err := h.lock(r.ID)
		if err != nil {
			return nil, err
		}
		defer func() { _ = lock.Close() }() // dropping a lock cannot be undone or repeated
		runs = append(runs, r.ID)
	}
	return runs, h.Store.RestoreHere(ctx, runs, reason, h.Who)
}
