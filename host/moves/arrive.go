package moves

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"agent/db"
	"agent/db/keep"
	"agent/db/moves"
	"agent/host/pack"
	"agent/host/workspace"
	"agent/recovery/journal"
)

// arrival is a pack that was read, and of which nothing was taken in yet.
type arrival struct {
	moves.Arrival
	header pack.Header
	about  pack.About
	new    []bool // of its runs: there is something that is not here

	s      *db.Store
	bodies map[string][]byte // by their names
	run    *pack.Run         // whose facts are being read
	facts  []db.Stored
	digest []byte

	contents *keep.Contents
}

// arrive reads a pack to its end, and proves it. What has to be stored before it is taken in is
// left for the second reading.
func arrive(ctx context.Context, s *db.Store, path string, now time.Time) (a *arrival, err error) {
	a = &arrival{s: s, bodies: map[string][]byte{}}
	if a.contents, err = s.Contents(); err != nil {
		return a, err
	}
	a.Brought, a.Named, a.Now, a.Renamed = moves.NewNames(), moves.NewNames(), now, map[string]string{}
	err = each(ctx, s, path, func(r *pack.Reader, one pack.Record) error {
		a.header = r.Header
		return a.take(one)
	})
	if err == nil {
		err = a.endRun()
	}
	if err == nil && (a.about.Thread == "" || len(a.Runs) != a.about.Runs) {
		err = &pack.DamageError{What: "runs of it are missing"}
	}
	if err != nil {
		return a, err
	}
	a.Pack, a.Move, a.From, a.Thread = a.header.ID, a.header.Move && a.header.To != "", a.header.From, a.about.Thread
	if err := a.belongs(ctx); err != nil {
		return a, err
	}
	for _, data := range a.bodies {
		a.Named.AddHidden(data)
	}
	for name := range a.Named.Bodies {
		data, ok := a.bodies[name]
		if !ok {
			return a, &pack.DamageError{What: "an output of it is missing"}
		}
		row, err := db.StageBody(s, data)
		if err != nil {
			return a, err
		}
		a.Bodies = append(a.Bodies, row)
	}
	return a, nil
}

// each reads the records of a pack.
func each(ctx context.Context, s *db.Store, path string, take func(r *pack.Reader, one pack.Record) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // it was only read from
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, &pack.DamageError{What: "it is no file"})
	}
	r, err := pack.NewReader(f)
	if err != nil {
		return err
	}
	key, id, incarnation, err := db.PackKey(ctx, s)
	if err != nil {
		return err
	}
	if err := r.Open(key); errors.Is(err, pack.ErrSealed) {
		return sealed(r.Header.To, pack.NewAddress(id, incarnation, key))
	} else if err != nil {
		return err
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		one, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = take(r, one)
		}
		if err != nil {
			return err
		}
	}
}

// sealed says to whom a pack is sealed that does not open here.
func sealed(to string, here pack.Address) error {
	a, err := pack.ParseAddress(to)
	switch {
	case err != nil:
		return &pack.DamageError{What: "the address in it is none"}
	case a.Store != here.Store:
		return &moves.RefusedError{What: fmt.Sprintf("it is sealed to store %s, and this is %s", a.Store, here.Store)}
	}
	return &moves.RefusedError{What: fmt.Sprintf("it is sealed to this store as it was before it was restored (%d times declared, now %d); whoever made the pack may take the runs back: agent resume --reclaim", a.Incarnation, here.Incarnation)}
}

// take takes in one record.
func (a *arrival) take(one pack.Record) error {
	switch {
	case one.About != nil:
		a.about = *one.About
	case one.Thread != nil:
		return a.thread(one.Thread)
	case one.Kept != nil:
		return a.content(one.Kept)
	case one.Body != nil:
		a.bodies[hex.EncodeToString(pack.Name(one.Body))] = one.Body
	case one.Secret != nil:
		row, err := db.SealSecret(a.s, one.Secret.ID, one.Secret.Rule, one.Secret.Value)
		if err != nil {
			return err
		}
		a.Secrets = append(a.Secrets, row)
		a.Brought.Secrets[one.Secret.ID] = true
	case one.Environ != nil:
		row, err := db.SealEnvironment(a.s, one.Environ.ID, one.Environ.Variables)
		if err != nil {
			return err
		}
		a.Environments = append(a.Environments, row)
		a.Brought.Environments[one.Environ.ID] = true
	case one.Run != nil:
		if err := a.endRun(); err != nil {
			return err
		}
		a.run = one.Run
	case one.Fact != nil:
		return a.fact(one.Fact)
	}
	return nil
}

// content takes note of a content: it is stored when the runs are taken in.
func (a *arrival) content(k *pack.Kept) error {
	data, err := a.renamed(k)
	if err != nil {
		return err
	}
	a.Brought.Kept[k.Name] = true
	if name := a.contents.Name(data); name != k.Name {
		a.Renamed[k.Name] = name
	}
	return nil
}

// renamed is a content as it is kept here: in a list of files the others have the names that they
// have here.
func (a *arrival) renamed(k *pack.Kept) ([]byte, error) {
	if !k.List {
		return k.Data, nil
	}
	data, err := workspace.Renamed(k.Data, func(name string) string { return cmp.Or(a.Renamed[name], name) })
	if err != nil {
		return nil, &pack.DamageError{What: "a list of files in it is none"}
	}
	return data, nil
}

func (a *arrival) thread(t *pack.Thread) error {
	out := moves.ArrivedThread{ThreadRow: db.ThreadRow{ID: t.ID, KeyOf: t.KeyOf, Folder: t.Folder, Created: t.Created}, Source: t.Source}
	if t.Key != nil {
		var err error
		if out.Key, err = db.SealLineageKey(a.s, t.KeyOf, t.Key); err != nil {
			return err
		}
	}
	a.Threads = append(a.Threads, out)
	return nil
}

func (a *arrival) fact(f *pack.Fact) error {
	if a.run == nil {
		return &pack.DamageError{What: "a fact of it is of no run"}
	}
	a.digest = pack.Chain(a.digest, f)
	stored := db.Stored{Turn: f.Turn, Kind: f.Kind, V: f.V, Time: f.Time, Body: []byte(f.Body), Long: f.Hash != nil}
	if f.Hash != nil {
		body, ok := a.bodies[hex.EncodeToString(f.Hash)]
		if !ok {
			return &pack.DamageError{What: "the body of a fact is missing"}
		}
		stored.Body = body
	}
	a.Named.AddHidden(stored.Body)
	a.facts = append(a.facts, stored)
	return nil
}

// endRun proves the facts of a run and takes it in.
func (a *arrival) endRun() error {
	if a.run == nil {
		return nil
	}
	head := a.run
	if int64(len(a.facts)) != head.Facts || !bytes.Equal(a.digest, head.Digest) {
		return &pack.DamageError{What: fmt.Sprintf("the facts of run %s are not those that it was made with", head.ID)}
	}
	run, err := db.NewAdopted(a.s, a.facts)
	var unknown *journal.UnknownFactError
	switch {
	case errors.As(err, &unknown):
		return &moves.RefusedError{What: "a newer agent wrote run " + head.ID + ": " + unknown.Error()}
	case err != nil:
		return &pack.DamageError{What: fmt.Sprintf("no run can have the facts of %s: %v", head.ID, err)}
	case run.Created.Run != head.ID || run.Created.Thread != head.Thread:
		return &pack.DamageError{What: fmt.Sprintf("run %s calls itself %s", head.ID, run.Created.Run)}
	}
	a.Runs = append(a.Runs, run)
	a.run, a.facts, a.digest = nil, nil, nil
	return nil
}
