//go:build linux

// Command copies measures what a backup of a large store takes, beside a plain copy in one run:
//
//	go run ./scripts/bench/copies            of a gigabyte
//	go run ./scripts/bench/copies -quick     of little: does it run
//
// Nothing is asserted. Each time is the least of three.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"agent/db"
	"agent/db/backup"
	"agent/db/dbtest"
	"agent/db/keep"
)

func main() {
	quick := flag.Bool("quick", false, "a small store")
	flag.Parse()
	size := 1 << 30
	if *quick {
		size = 32 << 20
	}
	if err := run(context.Background(), size, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run measures in a folder of its own.
func run(ctx context.Context, size int, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "agent-bench-copies-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	home := filepath.Join(dir, "state")
	s, err := db.Open(ctx, home, db.Options{NoBallast: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := fill(ctx, s, size); err != nil {
		return err
	}
	made, plainly := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for i := range 3 {
		file := filepath.Join(dir, fmt.Sprintf("backup%d", i))
		began := time.Now()
		_, n, err := backup.Make(ctx, s, file, backup.Options{Now: began})
		if err != nil {
			return err
		}
		made, began = min(made, time.Since(began)), time.Now()
		if err := readAndWrite(filepath.Join(home, db.FileName), file+".plain", n); err != nil {
			return err
		}
		plainly = min(plainly, time.Since(began))
		if err := errors.Join(os.Remove(file), os.Remove(file+".plain")); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(out, "a backup of %d MiB: %d ms, %.2f times reading, writing and syncing as many bytes  limit 1.5\n",
		size>>20, made.Milliseconds(), float64(made)/float64(plainly))
	return err
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
