package backup_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agent/db"
	"agent/db/backup"
	"agent/db/dbtest"
	"agent/db/keep"
)

func openStore(t *testing.T, dir string) *db.Store {
	t.Helper()
	s, err := db.Open(context.Background(), dir, db.Options{NoBallast: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// begin records a run, with a content in a file.
func begin(t *testing.T, s *db.Store, run string, content []byte) db.Head {
	t.Helper()
	ctx := context.Background()
	keeper, err := s.Contents()
	if err != nil {
		t.Fatal(err)
	}
	row, err := keeper.Stage(ctx, content)
	if err != nil {
		t.Fatal(err)
	}
	facts := dbtest.Child("r-"+run, "t-"+run, nil)
	h, err := s.Create(ctx, db.ThreadRef{ID: "t-" + run, Folder: "/w", New: true}, facts)
	if err != nil {
		t.Fatal(err)
	}
	begun, settled := dbtest.Turn(1, "c-00000001", "done")
	if h, err = s.Append(ctx, h, append(begun, settled...), db.AppendOptions{Kept: []keep.Row{row}}); err != nil {
		t.Fatal(err)
	}
	return h
}

func noise(n int) []byte {
	b := make([]byte, 0, n)
	for i := uint64(1); len(b) < n; i = i*6364136223846793005 + 1442695040888963407 {
		b = append(b, byte(i>>56))
	}
	return b
}

// What a backup gives back is the store of one moment, whole, with what lies beside it, although
// others write while it is made.
func TestWhileOthersWrite(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "state")
	s := openStore(t, dir)
	content := noise(1 << 20) // in a file
	h := begin(t, s, "one00000", content)
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		for turn := 2; err == nil; turn++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			begun, settled := dbtest.Turn(turn, fmt.Sprintf("c-%08d", turn), "done")
			h, err = s.Append(ctx, h, append(begun, settled...), db.AppendOptions{})
		}
		done <- err
	}()
	_, private, to := keys(t)
	file := filepath.Join(t.TempDir(), "backup")
	m, size, err := backup.Make(ctx, s, file, backup.Options{To: &to, Now: time.Now()})
	close(stop)
	if err := errors.Join(err, <-done); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Size() != size || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %+v, %v", info, err)
	}
	if len(m.Runs) != 1 || m.Files != 1 || m.Missing != 0 {
		t.Errorf("the manifest says %+v", m)
	}
	back := t.TempDir()
	o, err := backup.WithPrivate(private)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Unpack(ctx, file, back, &o); err != nil {
		t.Fatal(err)
	}
	r := openStore(t, back)
	if r.Behind() == nil || !r.Behind().Copied {
		t.Errorf("what was unpacked may drive before anybody decided: %v", r.Behind())
	}
	if err := r.QuickCheck(ctx); err != nil {
		t.Error(err)
	}
	head, err := r.Head(ctx, "r-one00000")
	if err != nil || head.Seq != m.Runs[0].Facts {
		t.Errorf("it has %d facts, the manifest says %d (%v)", head.Seq, m.Runs[0].Facts, err)
	}
	keeper, err := r.Contents()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := keeper.Get(ctx, keeper.Name(content)); err != nil || !bytes.Equal(got, content) {
		t.Errorf("the content is %d bytes, %v", len(got), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".agent-*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func keys(t *testing.T) (public, private string, to backup.Recipient) {
	t.Helper()
	public, private, err := backup.NewKeys()
	if err == nil {
		to, err = backup.ToPublic(public)
	}
	if err != nil {
		t.Fatal(err)
	}
	return public, private, to
}

// Several backups may be made at once, each under a name of its own; of one name there is one.
func TestSeveralAtOnce(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, filepath.Join(t.TempDir(), "state"))
	begin(t, s, "one00000", []byte("small"))
	file := filepath.Join(t.TempDir(), "backup")
	errs := make([]error, 4)
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() { _, _, errs[i] = backup.Make(ctx, s, file, backup.Options{Now: time.Now()}) })
	}
	wait.Wait()
	made := 0
	for _, err := range errs {
		switch {
		case err == nil:
			made++
		case !errors.Is(err, fs.ErrExist):
			t.Error(err)
		}
	}
	if made != 1 {
		t.Errorf("%d made the file", made)
	}
}

// Whatever byte is changed or cut off: it is refused, and nothing of it is used.
func TestDamage(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, filepath.Join(t.TempDir(), "state"))
	begin(t, s, "one00000", []byte("small"))
	file := filepath.Join(t.TempDir(), "backup")
	if _, _, err := backup.Make(ctx, s, file, backup.Options{Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	try := func(name string, b []byte) {
		at := filepath.Join(t.TempDir(), "bad")
		if err := os.WriteFile(at, b, 0o600); err != nil {
			t.Fatal(err)
		}
		var refused *backup.RefusedError
		if _, err := backup.Unpack(ctx, at, t.TempDir(), nil); !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for i := 7; i < len(whole)-1; i += len(whole) / 40 {
		b := bytes.Clone(whole)
		b[i] ^= 0x20
		if at := len(whole) - i; at < 256 && (b[i] == ' ' || whole[i] == ' ') {
			continue // of blanks at the end one more or less says nothing
		}
		try(fmt.Sprintf("byte %d", i), b)
		try(fmt.Sprintf("cut at %d", i), whole[:i])
	}
	try("empty", nil)
	try("more", append(bytes.Clone(whole), 0))
}

// A backup that somebody made by hand writes nothing outside of its folder.
func TestHostilePaths(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, filepath.Join(t.TempDir(), "state"))
	for _, path := range []string{"../out", "/out", "blobs/../../out", "agent.db", "key", "calls", "locks/store", "blobs//x", "calls/./x"} {
		file := filepath.Join(t.TempDir(), "backup")
		if _, _, err := backup.Make(ctx, s, file, backup.Options{Now: time.Now()}); err != nil {
			t.Fatal(err)
		}
		reseal(t, file, func(conn *sql.Conn) error {
			_, err := conn.ExecContext(ctx, "INSERT INTO backup_files (path, size, at) VALUES (?, 0, 0)", path)
			return err
		})
		dir := filepath.Join(t.TempDir(), "state")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		var refused *backup.RefusedError
		if _, err := backup.Unpack(ctx, file, dir, nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), "no place in a state folder") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A backup that names files which it does not have, or the same bytes more often than it has them,
// is refused: a small one fills no disk.
func TestHostileSizes(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, filepath.Join(t.TempDir(), "state"))
	for _, rows := range []string{
		"('blobs/a', 1, 0)", "('blobs/a', -1, 0)", "('blobs/a', 0, 1)", "('blobs/a', 0, -1)", "('blobs/a', 9223372036854775807, 0)",
		"('blobs/a', 2, 9223372036854775807)",
	} {
		file := filepath.Join(t.TempDir(), "backup")
		if _, _, err := backup.Make(ctx, s, file, backup.Options{Now: time.Now()}); err != nil {
			t.Fatal(err)
		}
		reseal(t, file, func(conn *sql.Conn) error {
			_, err := conn.ExecContext(ctx, "INSERT INTO backup_files (path, size, at) VALUES "+rows)
			return err
		})
		var refused *backup.RefusedError
		if _, err := backup.Unpack(ctx, file, t.TempDir(), nil); !errors.As(err, &refused) || !strings.Contains(err.Error(), "does not have the file") {
			t.Errorf("%s: %v", rows, err)
		}
	}
	file := filepath.Join(t.TempDir(), "backup")
	begin(t, s, "one00000", noise(1<<20)) // in a file
	if _, _, err := backup.Make(ctx, s, file, backup.Options{Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := backup.EditForTest(file, func(conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, "INSERT INTO backup_files (path, size, at) SELECT 'blobs/again', size, at FROM backup_files UNION SELECT 'blobs/more', size, at FROM backup_files")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	_, err := backup.Unpack(ctx, file, t.TempDir(), nil)
	if err == nil || !strings.Contains(err.Error(), "does not have the file") {
		t.Errorf("the same bytes twice: %v", err)
	}
}

// reseal changes what is in a backup as somebody does who has no key.
func reseal(t *testing.T, file string, do func(conn *sql.Conn) error) {
	t.Helper()
	if err := backup.EditForTest(file, do); err != nil {
		t.Fatal(err)
	}
}

// Somebody without the key who changes a backup is found by who has it.
func TestTampered(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "state")
	s := openStore(t, dir)
	begin(t, s, "one00000", []byte("small"))
	_, private, to := keys(t)
	file := filepath.Join(t.TempDir(), "backup")
	if _, _, err := backup.Make(ctx, s, file, backup.Options{To: &to, Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	reseal(t, file, func(conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, "UPDATE runs SET status = 'queued'")
		return err
	})
	o, err := backup.WithPrivate(private)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Unpack(ctx, file, t.TempDir(), &o); err == nil || !strings.Contains(err.Error(), "somebody without its key changed it") {
		t.Errorf("with the key: %v", err)
	}
}

// The backup of a large store has larger pages, and what is made of it has those of a store again.
func TestLargePages(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, filepath.Join(t.TempDir(), "state"))
	begin(t, s, "one00000", []byte("small"))
	keeper, err := s.Contents()
	if err != nil {
		t.Fatal(err)
	}
	content := noise(200 << 10)
	for i := range 330 { // 66 MB
		content[0], content[1] = byte(i), byte(i>>8)
		row, err := keeper.StageDense(ctx, content)
		if err == nil {
			err = db.Keep(ctx, s, []keep.Row{row})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	_, private, to := keys(t)
	file, back := filepath.Join(t.TempDir(), "backup"), t.TempDir()
	if _, _, err := backup.Make(ctx, s, file, backup.Options{To: &to, Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	o, err := backup.WithPrivate(private)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := backup.Unpack(ctx, file, back, &o); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{file: "\x00\x01", filepath.Join(back, db.FileName): "\x10\x00"} {
		b, err := os.ReadFile(path)
		if err != nil || string(b[16:18]) != want { // the size of a page (SQLite's file format, 1.3)
			t.Errorf("%s: %x, %v", path, b[16:18], err)
		}
	}
	r := openStore(t, back)
	if err := r.QuickCheck(ctx); err != nil {
		t.Error(err)
	}
	kept, err := r.Contents()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := kept.Get(ctx, kept.Name(content)); err != nil || !bytes.Equal(got, content) {
		t.Errorf("the last content is %d bytes, %v", len(got), err)
	}
}
