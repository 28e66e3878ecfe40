//go:build linux

package journal

import (
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// Artifact is a version of a file, as a fact names it.
type Artifact struct{ Path, SHA, Copy string }

// Part is what the facts about phases say: that a part of one begins, or how it ended.
type Part struct {
	Phase, Part, Run, Why, Outcome string
	Attempt                        int
	Item                           *struct{ Name string }
	In, Out                        []Artifact
}

// Part reads a fact about a phase.
func (f Fact) Part() (p Part, err error) {
	if err := json.Unmarshal(f.Body, &p); err != nil {
		return p, fmt.Errorf("fact %d (kind %d) is not JSON: %v", f.Seq, f.Kind, err)
	}
	return p, nil
}

// findCopies looks for the bytes of each artifact that a fact says were copied.
func findCopies(c *sql.DB, r *Record, state string) error {
	var tables int
	if err := c.QueryRow(`SELECT count(*) FROM sqlite_master WHERE name = 'kept'`).Scan(&tables); err != nil || tables == 0 {
		return err // an older record has none
	}
	kept := map[string]bool{}
	err := Each(c, `SELECT id, data IS NOT NULL FROM kept`, func(rows *sql.Rows) error {
		var id []byte
		var there bool
		err := rows.Scan(&id, &there)
		name := hex.EncodeToString(id)
		if !there {
			info, err := os.Stat(filepath.Join(state, "keep", name[:2], name))
			there = err == nil && info.Size() > 0
		}
		kept[name] = there
		return err
	})
	if err != nil {
		return err
	}
	for _, no := range slices.Sorted(maps.Keys(r.Facts)) {
		for _, f := range r.Facts[no] {
			if f.Kind != PhaseEnded {
				continue
			}
			p, err := f.Part()
			if err != nil {
				return err
			}
			for _, a := range p.Out {
				if a.Copy != "" && !kept[a.Copy] {
					r.Missing = append(r.Missing, fmt.Sprintf("run number %d: the copy of %s that fact %d names", no, a.Path, f.Seq))
				}
			}
		}
	}
	return nil
}
