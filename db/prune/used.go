package prune

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"

	"agent/db"
	"agent/db/dbsqlc"
	"agent/db/keep"
)

// used is what the facts of all runs name.
type used struct {
	s      *db.Store
	named  func(manifest []byte) ([]string, error)
	kept   *keep.Contents
	find   *regexp.Regexp
	names  map[string]bool // of contents, in hexadecimal
	bodies map[string]bool // hashes, likewise
	env    map[string]bool
	here   map[string]string // names of contents in this store by those that another one gave
	upto   map[int64]int64   // the last fact that was read of each run that goes on
	newest int64             // number of the newest run that was read
}

// page is how many facts are read at once.
const page = 200

// mentions finds what a fact names: no other member of one is called so (host/workspace, room.go).
func mentions() *regexp.Regexp {
	return regexp.MustCompile(`"(kept|copy|manifest|blob|env)":"([0-9A-Za-z_-]{10,64})"`)
}

// errEnough says that there was no time to read all.
var errEnough = errors.New("there is no time left")

// readUsed reads the facts of all runs once.
func readUsed(ctx context.Context, s *db.Store, hands Hands) (*used, error) {
	kept, err := s.Contents()
	if err != nil {
		return nil, err
	}
	u := &used{
		s: s, named: hands.Named, kept: kept, find: mentions(),
		names: map[string]bool{}, bodies: map[string]bool{}, env: map[string]bool{}, here: map[string]string{}, upto: map[int64]int64{},
	}
	var rows []dbsqlc.PrunableRunsRow
	err = db.Read(ctx, s, "list runs", func(q *dbsqlc.Queries) error {
		names, err := q.AllKeptNames(ctx)
		for _, n := range names {
			u.here[hex.EncodeToString(n.Name)] = hex.EncodeToString(n.ID)
		}
		if err == nil {
			rows, err = q.PrunableRuns(ctx)
		}
		return err
	})
	for i, r := range rows {
		if err != nil {
			break
		}
		if hands.Enough() {
			return nil, errEnough
		}
		if i%100 == 99 {
			hands.Show(fmt.Sprintf("looked at what %d of %d runs need", i+1, len(rows)))
		}
		if r.EndedAt == nil {
			u.upto[r.No] = r.LastSeq
		}
		u.newest = r.No
		err = u.run(ctx, r.No, 0, r.LastSeq)
	}
	return u, err
}

// run reads the facts of a run after one of them.
func (u *used) run(ctx context.Context, no, after, upto int64) error {
	for at := db.FactID(no, after); ; {
		var rows []dbsqlc.NamingFactsRow
		err := db.Read(ctx, u.s, "see what is needed", func(q *dbsqlc.Queries) (err error) {
			rows, err = q.NamingFacts(ctx, at, db.FactID(no, upto), page)
			return err
		})
		if err != nil {
			return err
		}
		for _, f := range rows {
			if err := u.fact(ctx, f); err != nil {
				return fmt.Errorf("see what fact %d of run number %d needs: %w", f.ID&db.MaxSeq, no, err)
			}
			at = f.ID
		}
		if len(rows) < page {
			return nil
		}
	}
}

func (u *used) fact(ctx context.Context, f dbsqlc.NamingFactsRow) error {
	var text []byte
	if f.Body != nil {
		text = []byte(*f.Body)
	} else {
		u.bodies[hex.EncodeToString(f.BodyHash)] = true
		err := db.Read(ctx, u.s, "read a body", func(q *dbsqlc.Queries) error {
			b, err := q.GetBlob(ctx, f.BodyHash)
			if err == nil {
				text, err = u.s.Bodies().Open(b.Hash, b.Size, b.Encoding, b.Data)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, m := range u.find.FindAllSubmatch(text, -1) {
		name := string(m[2])
		switch string(m[1]) {
		case "blob":
			u.bodies[name] = true
		case "env":
			u.env[name] = true
		case "manifest":
			if err := u.manifest(ctx, name); err != nil {
				return err
			}
		}
		u.names[name] = true
		if here := u.here[name]; here != "" {
			u.names[here] = true
		}
	}
	return nil
}

// manifest takes in what a list of files names. Of one that is gone nothing is left to name.
func (u *used) manifest(ctx context.Context, name string) error {
	if u.names[name] {
		return nil
	}
	content, err := u.kept.Get(ctx, name)
	if errors.As(err, new(*keep.LostError)) {
		return nil
	}
	if err != nil {
		return err
	}
	list, err := u.named(content)
	for _, n := range list {
		u.names[n] = true
	}
	return err
}

// catchUp reads what runs have added since.
func (u *used) catchUp(ctx context.Context) error {
	moving, err := u.moving()
	if err != nil {
		return err
	}
	var rows []dbsqlc.MovingRunsRow
	err = db.Read(ctx, u.s, "see which runs go on", func(q *dbsqlc.Queries) (err error) {
		rows, err = q.MovingRuns(ctx, u.newest, moving)
		return err
	})
	for _, r := range rows {
		if err != nil {
			break
		}
		if err = u.run(ctx, r.No, u.upto[r.No], r.LastSeq); err == nil {
			u.upto[r.No] = r.LastSeq
		}
	}
	for _, r := range rows {
		u.newest = max(u.newest, r.No)
	}
	return err
}

func (u *used) moving() (string, error) {
	var list []int64
	for no := range u.upto {
		list = append(list, no)
	}
	return numbers(list)
}

// stands says, in a transaction, whether a run has added nothing since that names anything.
func (u *used) stands(q *dbsqlc.Queries, moving string) (bool, error) {
	ctx := context.Background()
	rows, err := q.MovingRuns(ctx, u.newest, moving)
	for _, r := range rows {
		if err != nil {
			return false, err
		}
		if r.LastSeq == u.upto[r.No] {
			continue
		}
		var naming []dbsqlc.NamingFactsRow
		naming, err = q.NamingFacts(ctx, db.FactID(r.No, u.upto[r.No]), db.FactID(r.No, r.LastSeq), 1)
		if len(naming) > 0 {
			return false, err
		}
	}
	return err == nil, err
}
