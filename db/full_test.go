package db

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"agent/db/dbtest"
	"agent/db/sqlitefile"
	"agent/recovery/journal"
)

// stuff fills a disk to its last byte with one file.
func stuff(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "stuffing"))
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1 << 20, 4096, 512, 1} {
		block := make([]byte, size)
		for err = nil; err == nil; {
			_, err = f.Write(block)
		}
	}
	if err := f.Close(); err != nil {
		t.Log(err) // what did not fit is of no interest
	}
}

// Behaviour 9: with a full disk the ballast lets what runs be recorded, nothing is lost, nothing is
// written twice, and the store says so. It works again once there is room.
func TestFullDisk(t *testing.T) {
	disks := map[string]func(*testing.T) string{
		"tmpfs": func(t *testing.T) string { return smallDisk(t, "64m") },
		"ext4":  func(t *testing.T) string { return smallExt4(t, 64) },
	}
	for name, disk := range disks {
		t.Run(name, func(t *testing.T) {
			ctx := context.Background()
			root := disk(t)
			dir := filepath.Join(root, "state")
			s, err := Open(ctx, dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			h := startRun(t, s, "r-fulldisk")
			asked := ask(t, s, startRun(t, s, "r-fullask0"), "p-fulldisk")
			s.file.WaitBallast()
			if sizeOf(filepath.Join(dir, "ballast")) != sqlitefile.BallastSize {
				t.Fatalf("no ballast: %v", s.Notices())
			}
			stuff(t, root)
			n := 1
			for ; !s.DiskFull() && n < 100000; n++ {
				a, b := turnFacts(n, fmt.Sprintf("c-%08d", n), strings.Repeat("x", 3000))
				h = appendAll(t, s, h, a, AppendOptions{})
				h = appendAll(t, s, h, b, AppendOptions{})
			}
			if !s.DiskFull() {
				t.Fatal("the disk did not become full")
			}
			if sizeOf(filepath.Join(dir, "ballast")) != 0 || len(s.Notices()) == 0 {
				t.Errorf("the ballast is still there, or nothing is said: %v", s.Notices())
			}
			for range 20 { // what was running is recorded to its end
				a, b := turnFacts(n, fmt.Sprintf("c-%08d", n), strings.Repeat("x", 3000))
				h = appendAll(t, s, h, a, AppendOptions{})
				h = appendAll(t, s, h, b, AppendOptions{})
				n++
			}
			if _, err := s.Answer(ctx, "p-fulldisk", json.RawMessage(`"yes"`), "person"); err != nil {
				t.Error(err)
			}
			if got := loadAll(t, s, h.Run); len(got) != int(h.Seq) {
				t.Errorf("%d facts, %d were written", len(got), h.Seq)
			}
			last := exhaust(t, s, h, n)
			if err := s.Close(); err != nil {
				t.Logf("close: %v", err)
			}
			if err := os.Remove(filepath.Join(root, "stuffing")); err != nil {
				t.Fatal(err)
			}
			again, err := Open(ctx, dir, Options{FirstAfterCrash: true})
			if err != nil {
				t.Fatal(err)
			}
			got := loadAll(t, again, h.Run)
			if int64(len(got)) < last {
				t.Errorf("%d facts, %d were reported as written", len(got), last)
			}
			if p, err := again.Answered(ctx, asked.Run); err != nil || p == nil || p.Status != RequestResolved {
				t.Errorf("the answer is lost: %+v %v", p, err)
			}
			if h, err = again.Head(ctx, h.Run); err != nil {
				t.Fatal(err)
			}
			appendAll(t, again, h, inTurn(h.Turns, journal.RunNoted{Text: "there is room"}), AppendOptions{})
			if err := again.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// exhaust writes until not even the ballast's room is left: then the store stops, and says that the
// disk is full. It returns the last fact that was reported as written.
func exhaust(t *testing.T, s *Store, h Head, n int) int64 {
	t.Helper()
	for range 100000 {
		a, _ := turnFacts(n, fmt.Sprintf("c-%08d", n), "")
		note := journal.RunNoted{Text: strings.Repeat("x", 30000)}
		a = append(a[:1], inTurn(n, note, note, note, note)...)
		next, err := s.Append(context.Background(), h, a, AppendOptions{})
		if err == nil {
			h, n = next, n+1
			continue
		}
		if !errors.As(err, new(*CommitError)) || !errors.Is(err, ErrDiskFull) {
			t.Errorf("%v", err)
		}
		if _, err := s.Append(context.Background(), h, inTurn(n, journal.RunNoted{Text: "x"}), AppendOptions{}); !errors.As(err, new(*CommitError)) {
			t.Errorf("the store went on: %v", err)
		}
		return h.Seq
	}
	t.Error("the disk has no end")
	return h.Seq
}

// A body that goes to a file meets the full disk before its transaction does.
func TestFullDiskAtABody(t *testing.T) {
	root := smallDisk(t, "64m")
	dir := filepath.Join(root, "state")
	s, err := Open(context.Background(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := startRun(t, s, "r-fullbody")
	s.file.WaitBallast()
	a, b := turnFacts(1, "c-11111111", strings.Repeat("body ", 200<<10))
	h = appendAll(t, s, h, a, AppendOptions{})
	stuff(t, root)
	h = appendAll(t, s, h, b, AppendOptions{})
	if !s.DiskFull() {
		t.Error("nothing is said")
	}
	if got := loadAll(t, s, h.Run); len(got) != int(h.Seq) {
		t.Errorf("%d facts, %d were written", len(got), h.Seq)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A commit may keep a batch although it reports a full disk: tried once more, each kind of write
// finds its own first try and neither repeats it nor takes another's for it.
func TestFullDiskAfterTheCommit(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	h := startRun(t, s, "r-aftercom")
	ask(t, s, startRun(t, s, "r-aftercoa"), "p-aftercom")
	a, b := turnFacts(1, "c-11111111", "out")
	var next, created Head
	for _, write := range []func() error{
		func() (err error) { next, err = s.Append(ctx, h, a, AppendOptions{}); return err },
		func() (err error) {
			created, err = s.Create(ctx, ThreadRef{ID: "t-twicetwi", New: true, Folder: "/"}, events(createdFact("r-twicetwi", "t-twicetwi")))
			return err
		},
		func() error { _, err := s.Answer(ctx, "p-aftercom", json.RawMessage(`"yes"`), "person"); return err },
		func() error { _, err := s.PutInbox(ctx, h.Run, MessageRuling, json.RawMessage(`{}`), ""); return err },
	} {
		if err := commitTwice(t, s, write); err != nil {
			t.Error(err)
		}
	}
	for _, want := range []Head{next, created} {
		if have, err := s.Head(ctx, want.Run); err != nil || fmt.Sprint(have) != fmt.Sprint(want) {
			t.Errorf("%+v and %+v (%v)", have, want, err)
		}
	}
	if got := loadAll(t, s, h.Run); len(got) != int(next.Seq) || next.Seq != h.Seq+int64(len(a)) {
		t.Errorf("%d facts, %d were written", len(got), next.Seq)
	}
	if rows, err := s.Inbox(ctx, h.Run); err != nil || len(rows) != 1 {
		t.Errorf("%+v %v", rows, err)
	}
	// The second try comes upon facts of another process.
	stale := h
	err := commitTwice(t, s, func() error { _, err := s.Append(ctx, stale, b[:1], AppendOptions{}); return err })
	if !errors.Is(err, ErrLostRace) {
		t.Errorf("another writer's facts were taken for ours: %v", err)
	}
}

// commitTwice has a write done as the writer does when a commit reports a full disk: once, and then
// again.
func commitTwice(t *testing.T, s *Store, write func() error) error {
	t.Helper()
	before := s.write
	defer func() { s.write = before }()
	s.write = func(ctx context.Context, do func(t *tx) error) error {
		if err := before(ctx, do); errors.As(err, new(*CommitError)) {
			return err
		}
		return before(ctx, func(t *tx) error {
			t.Again = true
			return do(t)
		})
	}
	return write()
}

// waitFor returns when so many wait to write.
func waitFor(s *Store, n int) {
	for s.file.Waiting() < n {
		runtime.Gosched()
	}
}

// Without room for the ballast the store works and says what that means.
func TestNoRoomForBallast(t *testing.T) {
	root := smallDisk(t, "20m")
	s, err := Open(context.Background(), filepath.Join(root, "state"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	startRun(t, s, "r-noballas")
	s.file.WaitBallast()
	if n := s.Notices(); len(n) != 1 || !strings.Contains(n[0], "ballast") {
		t.Errorf("%q", n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A disk that has room and no inode left is not called read-only: what is missing is said, and
// nothing is lost.
func TestNoInodeLeft(t *testing.T) {
	root := smallDisk(t, "64m,nr_inodes=40")
	dir := filepath.Join(root, "state")
	s, err := Open(context.Background(), dir, Options{NoBallast: true})
	if err != nil {
		t.Fatal(err)
	}
	h := startRun(t, s, "r-noinodes")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var taken []string
	for n := 0; err == nil && n < 100; n++ {
		taken = append(taken, filepath.Join(root, fmt.Sprint(n)))
		err = os.WriteFile(taken[n], nil, 0o600)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the inodes have no end: %v", err)
	}
	before := dbtest.Snapshot(t, dir)
	_, err = Open(context.Background(), dir, Options{NoBallast: true})
	if !errors.Is(err, ErrNoFiles) || errors.Is(err, ErrReadOnly) || !strings.Contains(err.Error(), "no inode") || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v", err)
	}
	if after := dbtest.Snapshot(t, dir); !maps.Equal(before, after) {
		t.Errorf("the folder was changed: %d files, %d before", len(after), len(before))
	}
	readFull(t, dir, h, "no inode is left")
	for _, path := range taken[:len(taken)-1] {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if got := loadAll(t, openStore(t, dir), h.Run); len(got) != int(h.Seq) {
		t.Errorf("%d facts, %d were written", len(got), h.Seq)
	}
}

// A disk that is full when the store is opened costs the ballast too.
func TestFullDiskAtOpen(t *testing.T) {
	root := smallDisk(t, "64m")
	dir := filepath.Join(root, "state")
	s, err := Open(context.Background(), dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	h := startRun(t, s, "r-fullopen")
	s.file.WaitBallast()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	stuff(t, root)
	if s, err = Open(context.Background(), dir, Options{}); err != nil {
		t.Fatal(err)
	}
	if !s.DiskFull() {
		t.Error("nothing is said")
	}
	if got := loadAll(t, s, h.Run); len(got) != int(h.Seq) {
		t.Errorf("%d facts, %d were written", len(got), h.Seq)
	}
	appendAll(t, s, h, inTurn(1, journal.RunNoted{Text: "x"}), AppendOptions{})
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// readFull reads a state folder whose disk takes nothing, and wants to know why.
func readFull(t *testing.T, dir string, h Head, why string) {
	t.Helper()
	s, err := OpenDiskFull(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if n := s.Notices(); len(n) != 1 || !strings.Contains(n[0], why) {
		t.Errorf("%q", n)
	}
	if got := loadAll(t, s, h.Run); len(got) != int(h.Seq) {
		t.Errorf("%d facts, %d were written", len(got), h.Seq)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A log that a crash has left on a disk that is full, or all but full, is read, and who would write
// gets the error that the disk is full: also where the blocks are so small that a page of the
// wal-index has a place in its file and no room (this ext4 has blocks of 1 KiB).
func TestFullDiskAfterACrash(t *testing.T) {
	root := smallExt4(t, 64)
	dir, stuffing := filepath.Join(root, "state"), filepath.Join(root, "stuffing")
	from := stateDir(t)
	h := startRun(t, openStore(t, from), "r-fullcras")
	refused := 0
	for left := int64(0); left <= 40<<10; left += 2 << 10 {
		if err := errors.Join(os.RemoveAll(dir), os.RemoveAll(stuffing), os.CopyFS(dir, os.DirFS(from)), os.Chmod(dir, 0o700)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"ballast", FileName + "-shm"} { // the rest is as kill -9 leaves it, the log with it
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		stuff(t, root)
		if err := os.Truncate(stuffing, sizeOf(stuffing)-left); err != nil {
			t.Fatal(err)
		}
		s, err := Open(context.Background(), dir, Options{Alone: true, FirstAfterCrash: true})
		if err == nil {
			if got := loadAll(t, s, h.Run); len(got) != int(h.Seq) {
				t.Errorf("%d bytes left: %d facts, %d were written", left, len(got), h.Seq)
			}
			if err := s.Close(); err != nil {
				t.Logf("%d bytes left: %v", left, err)
			}
			continue
		}
		refused++
		if !errors.Is(err, ErrDiskFull) {
			t.Errorf("%d bytes left: %v", left, err)
		}
		readFull(t, dir, h, "is full")
	}
	if refused == 0 {
		t.Error("the disk was never too full")
	}
}
