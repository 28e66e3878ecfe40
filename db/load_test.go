package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"modernc.org/sqlite"

	"agent/db/dbtest"
	"agent/db/sqlitefile"
	"agent/recovery/journal"
)

// tamper changes a closed database behind its back.
func tamper(t *testing.T, dir, statement string, args ...any) {
	t.Helper()
	if err := sqlitefile.UseOFDLocks(); err != nil {
		t.Fatal(err)
	}
	c, err := sqlite.NewConnector("file:" + filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(c)
	pool.SetMaxOpenConns(1)
	if _, err := pool.Exec("PRAGMA ignore_check_constraints = 1; PRAGMA writable_schema = 1"); err != nil {
		t.Fatal(err)
	}
	r, err := pool.Exec(statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		t.Fatal("nothing was changed", err)
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
}

// JRN-12, behaviour 9: whatever is changed in a journal, its first changed fact is named, nothing
// after it is handed out, and nothing is repaired.
// EX-73, CF-30.
// EN-23.
func TestLoadFindsWhatWasChanged(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 5<<10) // 80 KiB, in blobs
	huge := strings.Repeat("fedcba9876543210", 40<<10) // 640 KiB, in a file
	cases := []struct {
		name  string
		spoil func(t *testing.T, dir string)
		seq   int64
	}{
		{"a bit of a body", func(t *testing.T, dir string) {
			tamper(t, dir, "UPDATE journal SET body = replace(body, 'one', 'onf') WHERE id & 16777215 = 6")
		}, 6},
		{"a turn", func(t *testing.T, dir string) {
			tamper(t, dir, "UPDATE journal SET turn = turn + 1 WHERE id & 16777215 = 5")
		}, 5},
		{"a time", func(t *testing.T, dir string) {
			tamper(t, dir, "UPDATE journal SET time = time + 1 WHERE id & 16777215 = 1")
		}, 1},
		{"a kind", func(t *testing.T, dir string) { tamper(t, dir, "UPDATE journal SET kind = 4 WHERE id & 16777215 = 3") }, 3},
		{"a digest", func(t *testing.T, dir string) {
			tamper(t, dir, "UPDATE journal SET digest = zeroblob(16) WHERE id & 16777215 = 7")
		}, 7},
		{"a row is gone", func(t *testing.T, dir string) { tamper(t, dir, "DELETE FROM journal WHERE id & 16777215 = 4") }, 4},
		{"the first row is gone", func(t *testing.T, dir string) { tamper(t, dir, "DELETE FROM journal WHERE id & 16777215 = 1") }, 1},
		{"the last row is gone", func(t *testing.T, dir string) {
			tamper(t, dir, "DELETE FROM journal WHERE id = (SELECT max(id) FROM journal)")
		}, 15},
		{"two rows are swapped", func(t *testing.T, dir string) {
			tamper(t, dir, "UPDATE journal SET id = CASE id & 16777215 WHEN 4 THEN id + 100 ELSE id - 1 END WHERE id & 16777215 IN (4, 5)")
		}, 4},
		{"a large body", func(t *testing.T, dir string) {
			tamper(t, dir, "UPDATE blobs SET data = zeroblob(length(data)) WHERE size < 200000")
		}, 10},
		{"a large body is gone", func(t *testing.T, dir string) { tamper(t, dir, "DELETE FROM blobs WHERE size < 200000") }, 10},
		{"a huge body", func(t *testing.T, dir string) {
			path := dbtest.BodyFile(t, dir)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			data[len(data)/2] ^= 1
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}, 14},
		{"a huge body is gone", func(t *testing.T, dir string) {
			if err := os.Remove(dbtest.BodyFile(t, dir)); err != nil {
				t.Fatal(err)
			}
		}, 14},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := stateDir(t)
			s, err := Open(context.Background(), dir, Options{NoBallast: true})
			if err != nil {
				t.Fatal(err)
			}
			h := startRun(t, s, "r-tampered")
			for n, content := range []string{"one", large, huge} {
				a, b := turnFacts(n+1, fmt.Sprintf("c-%08d", n), content)
				h = appendAll(t, s, h, a, AppendOptions{})
				h = appendAll(t, s, h, b[:len(b)-1], AppendOptions{})
				if n < 2 {
					h.Turns = n + 1
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			c.spoil(t, dir)
			s = openStore(t, dir)
			var got int64
			err = nil
			for e, loading := range s.Load(context.Background(), h.Run, 0) {
				if loading != nil {
					err = loading
					break
				}
				got = e.Seq
			}
			var corrupt *CorruptError
			if _, headErr := s.Head(context.Background(), h.Run); headErr != nil && err == nil {
				err = headErr
			}
			if !errors.As(err, &corrupt) || corrupt.Run != "r-tampered" || corrupt.Seq != c.seq {
				t.Fatalf("wanted fact %d, got %v after %d facts", c.seq, err, got)
			}
			if got >= c.seq {
				t.Errorf("fact %d was handed out", got)
			}
			if !strings.Contains(err.Error(), s.file.Path()) || !strings.Contains(err.Error(), "salvage") {
				t.Errorf("path or remedy is missing: %v", err)
			}
		})
	}
}

// A reading can begin in the middle, end early, and be stopped.
func TestLoadPart(t *testing.T) {
	s := openStore(t, stateDir(t))
	h := startRun(t, s, "r-partpart")
	for n := 1; n <= 400; n++ {
		a, b := turnFacts(n, fmt.Sprintf("c-%08d", n), "out")
		h = appendAll(t, s, h, append(a, b...), AppendOptions{})
	}
	want := h.Seq
	for _, from := range []int64{1, 511, 512, 513, want - 1, want} {
		seq := from
		for e, err := range s.Load(context.Background(), h.Run, from) {
			if err != nil || e.Seq != seq+1 {
				t.Fatal(from, e.Seq, err)
			}
			seq = e.Seq
		}
		if seq != want {
			t.Errorf("from %d the reading ended at %d", from, seq)
		}
	}
	n := 0
	for range s.Load(context.Background(), h.Run, 0) {
		if n++; n == 700 {
			break
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var last error
	for e, err := range s.Load(ctx, h.Run, 0) {
		if e.Seq == 10 {
			cancel()
		}
		last = err
	}
	cancel()
	if last != nil && !errors.Is(last, context.Canceled) {
		t.Errorf("a stopped reading says %v", last)
	}
	for _, err := range s.Load(context.Background(), "r-nowhere0", 0) {
		if !errors.As(err, new(*UnknownIDError)) {
			t.Error(err)
		}
	}
}

// A fact of a newer version or kind is refused by name and not guessed at. Who only shows the
// journal gets it without its body.
// EX-55.
// GIT-15, EN-63.
func TestFactsOfANewerBinary(t *testing.T) {
	for name, newer := range map[string]func(*fact){
		"version": func(f *fact) { f.row.V = journal.Version + 1 },
		"kind":    func(f *fact) { f.row.Kind = 99 },
	} {
		t.Run(name, func(t *testing.T) {
			dir := stateDir(t)
			s, err := Open(context.Background(), dir, Options{NoBallast: true})
			if err != nil {
				t.Fatal(err)
			}
			startRun(t, s, "r-newernew")
			facts, err := s.prepare(Head{No: 1, Run: "r-newernew"}, events(createdFact("r-newernew", "t-newernew")))
			if err != nil {
				t.Fatal(err)
			}
			f := facts[0]
			newer(&f)
			f.chain(1, nil)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			tamper(t, dir, "UPDATE journal SET v = ?1, digest = ?2, time = ?3, body = ?4, kind = ?5 WHERE id & 16777215 = 1",
				f.row.V, f.row.Digest, f.row.Time, f.row.Body, f.row.Kind)
			s = openStore(t, dir)
			for _, err := range s.Load(context.Background(), "r-newernew", 0) {
				if err == nil || errors.As(err, new(*CorruptError)) || !strings.Contains(err.Error(), "binary") {
					t.Fatalf("%v", err)
				}
				break
			}
			page, err := Page(context.Background(), s, "r-newernew", 0, 1, 1)
			if err != nil || len(page) != 1 || page[0].Body != nil || page[0].Seq != 1 || string(page[0].Digest) != string(f.row.Digest) {
				t.Errorf("%+v, %v", page, err)
			}
		})
	}
}

// A page ends at its number of facts or once it has its size, and holds at least one fact.
func TestPages(t *testing.T) {
	s := openStore(t, stateDir(t))
	h := startRun(t, s, "r-pagepage")
	for n := 1; n <= 20; n++ {
		a, b := turnFacts(n, fmt.Sprintf("c-%08d", n), strings.Repeat("x", 1000))
		h = appendAll(t, s, appendAll(t, s, h, a, AppendOptions{}), b, AppendOptions{})
	}
	all := loadAll(t, s, h.Run)
	for _, c := range []struct{ after, rows, size, want int }{
		{0, 1000, 1 << 30, len(all)}, {0, 40, 1 << 30, 40}, {len(all) - 2, 40, 1 << 30, 2}, {3, 7, 1, 1}, {0, 0, 1, 0}, {len(all), 9, 9, 0},
	} {
		page, err := Page(t.Context(), s, h.Run, int64(c.after), c.rows, c.size)
		if err != nil || len(page) != c.want {
			t.Errorf("%+v: %d facts, %v", c, len(page), err)
			continue
		}
		for i, row := range page {
			if !reflect.DeepEqual(row.Event, all[c.after+i]) {
				t.Errorf("%+v: fact %d is %+v", c, i, row.Event)
			}
			if digest, found, err := DigestAt(t.Context(), s, h.Run, row.Seq); err != nil || !found || string(digest) != string(row.Digest) {
				t.Errorf("the digest of fact %d: %x, %t, %v", row.Seq, digest, found, err)
			}
		}
	}
	if digest, found, err := DigestAt(t.Context(), s, h.Run, h.Seq+1); err != nil || found {
		t.Errorf("behind the last fact: %x, %v", digest, err)
	}
}

// Bodies are read into the same room, one after the other: what was handed out does not change when
// more is read.
func TestLoadKeepsWhatItHandedOut(t *testing.T) {
	s := openStore(t, stateDir(t))
	h := startRun(t, s, "r-room0000")
	var want []journal.Event
	for n := 1; n <= 40; n++ {
		a, b := turnFacts(n, fmt.Sprintf("c-%08d", n), strings.Repeat(strconv.Itoa(n), n))
		answer := a[0].Body.(journal.ModelAnswered)
		answer.Calls[0].Args = json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))
		answer.Blocks = []journal.Block{{Kind: journal.BlockText, Text: fmt.Sprint("turn ", n), Opaque: json.RawMessage(fmt.Sprintf(`{"wire":{"%d":[]}}`, n))}}
		a[0].Body = answer
		settled := b[0].Body.(journal.CallSettled)
		settled.Result.Data = json.RawMessage(fmt.Sprintf(`{"said":"\u00e4 %d"}`, n)) // in no plain spelling
		b[0].Body = settled
		all := append(append(a, b...), inTurn(n, journal.RunNoted{Text: fmt.Sprint("note ", n)})...)
		h = appendAll(t, s, h, all, AppendOptions{})
		want = append(want, all...)
	}
	got := loadAll(t, s, "r-room0000")[3:]
	for i := range want {
		if !reflect.DeepEqual(got[i].Body, want[i].Body) {
			t.Fatalf("fact %d is read as %+v, and was written as %+v", got[i].Seq, got[i].Body, want[i].Body)
		}
	}
}

// A stretch of a journal is read into what an earlier one was read into: a long journal gives back
// what was written, fact by fact, with short bodies, long ones and such as lie elsewhere.
func TestLongJournalGivesBackWhatWasWritten(t *testing.T) {
	s := openStore(t, stateDir(t))
	h := startRun(t, s, "r-longlong")
	note := func(seq int64) string {
		size := 40
		switch {
		case seq%701 == 0:
			size = 70 << 10
		case seq%7 == 0:
			size = 3 << 10
		}
		return strings.Repeat(strconv.FormatInt(seq, 10)+" ", size/8)
	}
	const last = 7 * chunk
	for seq := h.Seq + 1; seq <= last; {
		var batch []journal.Event
		for ; seq <= last && len(batch) < 500; seq++ {
			batch = append(batch, journal.Event{Turn: 1, Body: journal.RunNoted{Text: note(seq)}})
		}
		h = appendAll(t, s, h, batch, AppendOptions{})
	}
	var all []journal.Event
	for e, err := range s.Load(context.Background(), h.Run, 3) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	if len(all) != last-3 {
		t.Fatalf("%d facts came, want %d", len(all), last-3)
	}
	for i, e := range all {
		if seq := int64(i + 4); e.Seq != seq || e.Turn != 1 || !reflect.DeepEqual(e.Body, journal.RunNoted{Text: note(seq)}) {
			t.Fatalf("fact %d is %+v", seq, e)
		}
	}
}

// The tables refuse a value of another type than its column's, so one comes from a damaged file:
// its fact is not taken for whole.
func TestValuesOfAnotherType(t *testing.T) {
	whole := []driver.Value{int64(1), int64(0), int64(1), int64(1), int64(5), "{}", nil, []byte("digest")}
	for column, other := range [][]driver.Value{{"1"}, {nil, "x"}, {nil, "x"}, {1.5}, {[]byte{0}}, {int64(7), []byte("{}")}, {"zz", int64(7)}, {nil, "digest"}} {
		for _, v := range append(other, whole[column]) {
			values, p := slices.Clone(whole), part{}
			values[column] = v
			if p.add(values); p.rows[0].foreign == (v == nil && column == 6 || fmt.Sprintf("%T", v) == fmt.Sprintf("%T", whole[column])) {
				t.Errorf("column %d with %#v: foreign %t", column, v, p.rows[0].foreign)
			}
		}
	}
}
