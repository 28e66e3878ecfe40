// Package lastlog reads from the log of a state folder how far its runs had come.
//
// The log is a file of JSON lines. Those about a run have run, time (RFC 3339), and either seq, the
// number of a fact, or, where msg is "turn", turn, the number of a turn that was settled. A line is
// written after the commit of what it names and is not synced: the log may be older than the
// database, and never newer.
package lastlog

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Last is how far the log says that a run had come.
type Last struct {
	At   time.Time // of the last line about it
	Seq  int64     // the highest fact; 0 for none
	Turn int       // the last turn that was settled; 0 for none
}

// Ahead says what the log knows of a run and a database does not, which has that many facts and
// turns of it; "" for nothing. Without the run in the database, seq is 0.
func (l Last) Ahead(seq int64, turns int) string {
	at := l.At.Local().Format(time.DateTime)
	switch {
	case seq == 0:
		return fmt.Sprintf("the log names it on %s, and it is not in the database", at)
	case seq < l.Seq:
		return fmt.Sprintf("the log names its fact %d on %s, and the database has %d facts of it", l.Seq, at, seq)
	case turns < l.Turn:
		return fmt.Sprintf("the log names its turn %d on %s, and the database has %d turns of it", l.Turn, at, turns)
	}
	return ""
}

// Read reads the log of the state folder dir, by run. What was written up to since is left out.
func Read(dir string, since time.Time) (map[string]Last, error) {
	last := map[string]Last{}
	for _, name := range []string{"agent.log.1", "agent.log"} {
		if err := read(filepath.Join(dir, "log", name), since, last); err != nil {
			return nil, err
		}
	}
	return last, nil
}

func read(path string, since time.Time, last map[string]Last) error {
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
		var l struct {
			Time time.Time `json:"time"`
			Msg  string    `json:"msg"`
			Run  string    `json:"run"`
			Seq  int64     `json:"seq"`
			Turn int       `json:"turn"`
		}
		if json.Unmarshal(lines.Bytes(), &l) != nil || l.Run == "" || !l.Time.After(since) {
			continue // a torn line, or one about something else
		}
		if l.Seq > 0 {
			l.Turn = 0 // a request may belong to a turn that has no answer yet
		} else if l.Msg != "turn" {
			continue
		}
		before := last[l.Run]
		last[l.Run] = Last{At: l.Time, Seq: max(before.Seq, l.Seq), Turn: max(before.Turn, l.Turn)}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the log: %v", err)
	}
	return nil
}
