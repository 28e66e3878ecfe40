//go:build linux

package power

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"agent/scripts/crashlab/judge"
	"agent/scripts/crashlab/lab"
	"agent/scripts/crashlab/machine"
)

// control cuts the power of a disk that ignores fsync: what was shown must then be found lost, or
// the database broken.
func (p *recording) control(ctx context.Context) error {
	points := p.cutPoints()
	var f judge.Findings
	kind := judge.Lost
	for i := range 8 {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c := points[len(points)/2+i*len(points)/16]
		c.model, c.seed = "nosync", uint64(i)
		dir, err := p.makeState(c)
		if err != nil {
			return err
		}
		own, err := p.judge(c, dir)
		if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
			return err
		}
		f = append(f, own...)
	}
	if !slices.ContainsFunc(f, func(x judge.Finding) bool { return x.Kind == judge.Lost }) {
		kind = judge.Broken
	}
	p.lab.Control("the power of a disk that ignores fsync is cut ("+p.shape+")", kind, f)
	return nil
}

// acked is a row whose commit had returned when so many operations had happened.
type acked struct{ row, at int }

const controlRows = 40

// controls let a small writer lose rows on purpose: with synchronous=NORMAL a commit returns before
// its row is durable. With FULL, which the product uses, none may be lost.
func controls(ctx context.Context, l *lab.Lab, exe string) error {
	for _, level := range []string{"NORMAL", "FULL"} {
		f, n, err := lossOf(ctx, l, exe, level)
		if err != nil {
			return fmt.Errorf("the control with synchronous=%s: %w", level, err)
		}
		l.Report.AddFigure("cuts of sync "+level, n)
		if level == "NORMAL" {
			l.Control("a writer with synchronous=NORMAL loses rows that were acknowledged", judge.Lost, f)
			continue
		}
		if len(f) > 0 {
			key := "power/controls"
			l.Report.AddFailure(lab.Failure{Key: key, Repeat: "go run ./scripts/crashlab -faults -only " + key, Findings: f})
			continue
		}
		l.Report.Controls = append(l.Report.Controls, "a writer with synchronous=FULL loses none")
	}
	return nil
}

// lossOf writes rows, and says in how many states which are gone.
func lossOf(ctx context.Context, l *lab.Lab, exe, level string) (f judge.Findings, states int, err error) {
	top := filepath.Join(l.Dir, "rows-"+level)
	back, at := filepath.Join(top, "back"), filepath.Join(top, "mount")
	if err := errors.Join(os.MkdirAll(back, 0o700), os.Mkdir(at, 0o700)); err != nil {
		return nil, 0, err
	}
	d, err := machine.StartDisk(exe, back, at)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, d.Close(), os.RemoveAll(top)) }()
	rows, err := writeRows(d, filepath.Join(at, "rows.db"), level)
	if err != nil {
		return nil, 0, err
	}
	last, err := d.Index()
	if err != nil {
		return nil, 0, err
	}
	step := max(1, last/12)
	if !l.Short {
		step = max(1, last/200)
	}
	for n := step; n <= last; n += step {
		for i, model := range models() {
			if ctx.Err() != nil {
				return nil, 0, context.Cause(ctx)
			}
			into := filepath.Join(top, fmt.Sprintf("state-%d-%d", n, i))
			if err := d.MakeState(machine.State{At: n, Model: model, Seed: l.Report.Seed, Into: into}); err != nil {
				return nil, 0, err
			}
			what := rowsGone(filepath.Join(into, "rows.db"), rows, n)
			if what != "" {
				f.Add(judge.Lost, "after operation %d, %s: %s", n, model, what)
			}
			states++
			if err := os.RemoveAll(into); err != nil {
				return nil, 0, err
			}
		}
	}
	return f, states, nil
}

// writeRows commits one row after the other, with checkpoints in between.
func writeRows(d *machine.Disk, path, level string) (rows []acked, err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=wal_autocheckpoint(15)&_pragma=synchronous("+level+")")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.Exec(`CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT NOT NULL)`); err != nil {
		return nil, err
	}
	for i := 1; i <= controlRows; i++ {
		if _, err := db.Exec(`INSERT INTO t VALUES (?, hex(randomblob(1500)))`, i); err != nil {
			return nil, err
		}
		n, err := d.Index()
		if err != nil {
			return nil, err
		}
		rows = append(rows, acked{i, n})
	}
	return rows, nil
}

// rowsGone says which rows that were acknowledged a database lacks; "" for none.
func rowsGone(path string, rows []acked, at int) string {
	want := 0
	for _, r := range rows {
		if r.at <= at {
			want = r.row
		}
	}
	if _, err := os.Stat(path); err != nil {
		if want == 0 {
			return ""
		}
		return fmt.Sprintf("there is no database, and row %d was acknowledged", want)
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=synchronous(OFF)")
	if err != nil {
		return err.Error()
	}
	var answer string
	var has int
	if err = db.QueryRow(`PRAGMA quick_check`).Scan(&answer); err == nil && answer != "ok" {
		err = errors.New(answer)
	}
	if err == nil {
		var tables int
		if err = db.QueryRow(`SELECT count(*) FROM sqlite_master WHERE name = 't'`).Scan(&tables); err == nil && tables > 0 {
			err = db.QueryRow(`SELECT count(*) FROM t WHERE id <= ?`, want).Scan(&has)
		}
	}
	if err := errors.Join(err, db.Close()); err != nil {
		return err.Error()
	}
	if has < want {
		return fmt.Sprintf("%d of %d rows that were acknowledged", has, want)
	}
	return ""
}
