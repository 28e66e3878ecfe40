//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"agent/db"
	"agent/db/backup"
	"agent/db/dbtest"
	"agent/db/keep"
)

// backups is what a backup of a large store takes, beside reading and writing as many bytes.
func backups(ctx context.Context, b *bench) (rows []row, err error) {
	size := 1 << 30
	if b.quick {
		size = 32 << 20
	}
	home, err := b.folder("state")
	if err != nil {
		return nil, err
	}
	s, err := db.Open(ctx, home, db.Options{NoBallast: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := fill(ctx, s, size); err != nil {
		return nil, err
	}
	var made, plainly []time.Duration
	for i := range 3 {
		file := filepath.Join(b.dir, fmt.Sprintf("backup%d", i))
		began := time.Now()
		_, n, err := backup.Make(ctx, s, file, backup.Options{Now: began})
		made = append(made, time.Since(began))
		if err != nil {
			return nil, err
		}
		began = time.Now()
		if err := readAndWrite(filepath.Join(home, db.FileName), file+".plain", n); err != nil {
			return nil, err
		}
		plainly = append(plainly, time.Since(began))
		if err := errors.Join(os.Remove(file), os.Remove(file+".plain")); err != nil {
			return nil, err
		}
	}
	took := median(made, time.Millisecond)
	what := fmt.Sprintf("a backup of %d MiB beside reading, writing and syncing as many bytes", size>>20)
	return []row{
		cost(what, took/median(plainly, time.Millisecond), "times", 1.5, "1.5 times is the limit"),
		plain("that backup", took, "ms"),
	}, nil
}

// fill keeps so many bytes that cannot be made smaller.
func fill(ctx context.Context, s *db.Store, size int) error {
	contents, err := s.Contents()
	if err != nil {
		return err
	}
	const each, atOnce = 200 << 10, 64
	h, err := s.Create(ctx, db.ThreadRef{ID: "t-bench000", Folder: "/w", New: true}, dbtest.Started("r-bench000", "t-bench000"))
	if err != nil {
		return err
	}
	for turn := 1; size > 0; turn++ {
		var rows []keep.Row
		for range atOnce {
			content := make([]byte, each)
			rand.Read(content) // never fails: crypto/rand ends the process instead
			row, err := contents.StageDense(ctx, content)
			if err != nil {
				return err
			}
			rows, size = append(rows, row), size-each
		}
		begun, settled := dbtest.Turn(turn, fmt.Sprintf("c-%08d", turn), "done")
		if h, err = s.Append(ctx, h, append(begun, settled...), db.AppendOptions{Kept: rows}); err != nil {
			return err
		}
	}
	return nil
}

// readAndWrite is the least that a copy takes.
func readAndWrite(from, to string, n int64) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() // it was only read from
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	// Through the process, as the backup's bytes go, and not by the kernel's own copy.
	_, err = io.Copy(struct{ io.Writer }{out}, io.LimitReader(struct{ io.Reader }{in}, n))
	return errors.Join(err, out.Sync(), out.Close())
}
