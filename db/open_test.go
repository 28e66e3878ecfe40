package db

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"modernc.org/sqlite"

	"agent/db/dbtest"
	"agent/db/sqlitefile"
	"agent/db/vault"
)

// madeDir is a state folder with one run in it, closed.
func madeDir(t *testing.T) string {
	t.Helper()
	dir := stateDir(t)
	s, err := Open(context.Background(), dir, Options{NoBallast: true})
	if err != nil {
		t.Fatal(err)
	}
	h := startRun(t, s, "r-madeonce")
	for n := 1; n <= 20; n++ {
		a, b := turnFacts(n, "c-"+strings.Repeat(string(rune('a'+n)), 8), strings.Repeat("result ", 200))
		h = appendAll(t, s, h, a, AppendOptions{})
		h = appendAll(t, s, h, b, AppendOptions{})
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Behaviour 9: what is not ours, newer or damaged is named with its path and a remedy, and not one
// byte of the folder changes.
func TestUnusableFilesAreLeftAlone(t *testing.T) {
	put := func(data []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	patch := func(at int, data []byte) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			all, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			copy(all[at:], data)
			put(all)(t, path)
		}
	}
	var foreign *ForeignError
	var newer *NewerError
	var corrupt *CorruptError
	cases := []struct {
		name   string
		spoil  func(*testing.T, string)
		target any
	}{
		{"empty", put(nil), &foreign},
		{"short", put([]byte("SQLite format 3\x00")), &foreign},
		{"text", put([]byte(strings.Repeat("this is a text\n", 1000))), &foreign},
		{"database of another program", otherDatabase, &foreign},
		{"newer", patch(60, binary.BigEndian.AppendUint32(nil, knownSchema+1)), &newer},
		{"another layout", patch(60, binary.BigEndian.AppendUint32(nil, knownSchema)), &foreign},
		{"no format", patch(60, make([]byte, 4)), &corrupt},
		{"first page destroyed", patch(100, bytes.Repeat([]byte{0xa5}, 3000)), &corrupt},
		{"folder", func(t *testing.T, path string) {
			if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o700)); err != nil {
				t.Fatal(err)
			}
		}, &foreign},
		{"symlink", func(t *testing.T, path string) {
			if err := errors.Join(os.Rename(path, path+".real"), os.Symlink(path+".real", path)); err != nil {
				t.Fatal(err)
			}
		}, &foreign},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := madeDir(t)
			path := filepath.Join(dir, FileName)
			c.spoil(t, path)
			before := dbtest.Snapshot(t, dir)
			for _, open := range []func() (*Store, error){
				func() (*Store, error) { return Open(context.Background(), dir, Options{}) },
				func() (*Store, error) {
					return Open(context.Background(), dir, Options{FirstAfterCrash: true})
				},
				func() (*Store, error) { return OpenRead(context.Background(), dir) },
			} {
				s, err := open()
				if err == nil {
					t.Fatal("it was opened", s.Close())
				}
				if !errors.As(err, c.target) {
					t.Errorf("%T: %v", err, err)
				}
				if !strings.Contains(err.Error(), path) {
					t.Errorf("the path is not named: %v", err)
				}
			}
			after := dbtest.Snapshot(t, dir)
			for name, was := range before {
				if after[name] != was {
					t.Errorf("%s was changed", name)
				}
			}
			for name := range after {
				if _, was := before[name]; !was {
					t.Errorf("%s was left", name)
				}
			}
		})
	}
}

func otherDatabase(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	c, err := sqlite.NewConnector("file:" + path + "?_journal_mode=WAL")
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(c)
	if _, err := pool.Exec("CREATE TABLE notes (text TEXT)"); err != nil {
		t.Fatal(err)
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
}

// A database that is damaged further in opens, and says so where it is read; nothing is reset or
// made anew.
func TestCutDatabase(t *testing.T) {
	dir := madeDir(t)
	path := filepath.Join(dir, FileName)
	size := fileSize(t, path)
	if err := os.Truncate(path, size/2); err != nil {
		t.Fatal(err)
	}
	before := dbtest.Snapshot(t, dir)
	s, err := Open(context.Background(), dir, Options{NoBallast: true})
	if err == nil {
		for _, loading := range s.Load(context.Background(), "r-madeonce", 0) {
			err = errors.Join(err, loading)
		}
		err = errors.Join(err, s.Close())
	}
	if !errors.As(err, new(*CorruptError)) {
		t.Errorf("%v", err)
	}
	if after := dbtest.Snapshot(t, dir); after[path] != before[path] {
		t.Error("the file was changed")
	}
}

// A folder in which others may write, or that belongs to someone else, is refused before anything
// is made in it.
func TestUnsafeFolders(t *testing.T) {
	ctx := context.Background()
	open := filepath.Join(t.TempDir(), "open")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o770)); err != nil {
		t.Fatal(err)
	}
	var refused *FolderError
	if _, err := Open(ctx, open, Options{}); !errors.As(err, &refused) || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("%v", err)
	}
	if names, err := os.ReadDir(open); err != nil || len(names) > 0 {
		t.Error(names, err)
	}
	if os.Geteuid() == 0 {
		other := filepath.Join(t.TempDir(), "other")
		if err := errors.Join(os.Mkdir(other, 0o700), os.Chown(other, 65534, 65534)); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(ctx, other, Options{}); !errors.As(err, &refused) {
			t.Errorf("%v", err)
		}
	}
}

// SEC-07: a test cannot reach real state.
// EN-64.
func TestOnlyTemporaryFoldersUnderTest(t *testing.T) {
	root := t.TempDir()
	outside := filepath.Join(root, "home")
	t.Setenv("TMPDIR", filepath.Join(root, "tmp"))
	for _, open := range []func(dir string) (*Store, error){
		func(dir string) (*Store, error) { return Open(context.Background(), dir, Options{}) },
		func(dir string) (*Store, error) { return OpenRead(context.Background(), dir) },
	} {
		if _, err := open(outside); !errors.As(err, new(*FolderError)) {
			t.Errorf("%v", err)
		}
	}
	if _, err := os.Stat(outside); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	inside, err := Open(context.Background(), filepath.Join(root, "tmp", "state"), Options{NoBallast: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := inside.Close(); err != nil {
		t.Error(err)
	}
}

// A key that is gone is said, and no other one is made in its place.
func TestMissingKey(t *testing.T) {
	dir := madeDir(t)
	key := filepath.Join(dir, vault.KeyName)
	data, err := os.ReadFile(key)
	if err != nil || len(data) != vault.KeySize {
		t.Fatal(len(data), err)
	}
	for _, spoil := range []func() error{
		func() error { return os.WriteFile(key, data[:10], 0o600) },
		func() error { return os.Remove(key) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(context.Background(), dir, Options{}); !errors.As(err, new(*CorruptError)) || !strings.Contains(err.Error(), key) {
			t.Errorf("%v", err)
		}
	}
	s, err := OpenRead(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(context.Background(), "r-madeonce"); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(key); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// A key of the right length that is another one is named with the remedy, for writing and for
// reading, and nothing changes: with it no call that was made would be recognised. With the right
// one back everything is there.
func TestWrongKey(t *testing.T) {
	ctx := context.Background()
	dir := madeDir(t)
	key := filepath.Join(dir, vault.KeyName)
	right, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key, bytes.Repeat([]byte{7}, vault.KeySize), 0o600); err != nil {
		t.Fatal(err)
	}
	before := dbtest.Snapshot(t, dir)
	for _, open := range []func() (*Store, error){
		func() (*Store, error) { return Open(ctx, dir, Options{}) },
		func() (*Store, error) { return Open(ctx, dir, Options{FirstAfterCrash: true}) },
		func() (*Store, error) { return OpenRead(ctx, dir) },
		func() (*Store, error) { return OpenDiskFull(ctx, dir) },
	} {
		s, err := open()
		if err == nil {
			t.Fatal("it was opened", s.Close())
		}
		if !errors.As(err, new(*CorruptError)) || !strings.Contains(err.Error(), "read "+key+": ") || !strings.HasSuffix(err.Error(), "put the key back that was made with the database, or restore a backup of the whole folder") {
			t.Errorf("%T: %v", err, err)
		}
	}
	if after := dbtest.Snapshot(t, dir); !maps.Equal(before, after) {
		t.Errorf("the folder was changed: %d files, %d before", len(after), len(before))
	}
	if err := os.WriteFile(key, right, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := loadAll(t, openStore(t, dir), "r-madeonce"); len(got) != 103 {
		t.Errorf("%d facts", len(got))
	}
}

// A database without its check value cannot say whether a key is right.
func TestNoKeyCheck(t *testing.T) {
	dir := madeDir(t)
	path := filepath.Join(dir, FileName)
	c, err := sqlite.NewConnector("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(c)
	if _, err := pool.Exec("DELETE FROM store"); err != nil {
		t.Fatal(err)
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(context.Background(), dir, Options{}); !errors.As(err, new(*CorruptError)) || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
}

// Several first starts at once make one database and one key.
func TestFirstStartsAtOnce(t *testing.T) {
	dir := stateDir(t)
	const n = 8
	stores := make([]*Store, n)
	var wg sync.WaitGroup
	for i := range stores {
		wg.Go(func() {
			var err error
			if stores[i], err = Open(context.Background(), dir, Options{NoBallast: true}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	for i, s := range stores {
		if !bytes.Equal(s.key, stores[0].key) {
			t.Errorf("store %d has another key", i)
		}
		startRun(t, s, "r-first00"+string(rune('a'+i)))
	}
	for _, s := range stores {
		rows, err := s.Runs(context.Background(), Filter{All: true})
		if err != nil || len(rows) != n {
			t.Errorf("%d runs, %v", len(rows), err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v %v", left, err)
	}
}

func TestNoState(t *testing.T) {
	dir := stateDir(t)
	if _, err := OpenRead(context.Background(), dir); !errors.Is(err, ErrNoState) {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading made the folder: %v", err)
	}
}

// Every connection is as the DSN asks, and locks are by open file description.
func TestSettings(t *testing.T) {
	s := openStore(t, stateDir(t))
	startRun(t, s, "r-settings")
	want := map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "busy_timeout": "10",
		"journal_size_limit": strconv.Itoa(8 << 20), "trusted_schema": "0", "query_only": "1"}
	if runtime.GOOS == "darwin" {
		want["fullfsync"], want["checkpoint_fullfsync"] = "1", "1"
	}
	have, err := s.file.Settings(t.Context(), reader(t, s))
	if diff := cmp.Diff(want, have); err != nil || diff != "" {
		t.Errorf("reader: %v (-want +have)\n%s", err, diff)
	}
	delete(want, "query_only")
	if err := s.file.Between(func(on *sqlitefile.Statements) error {
		for pragma, value := range want {
			var have string
			if err := on.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&have); err != nil || have != value {
				t.Errorf("writer: %s is %s and not %s (%v)", pragma, have, value, err)
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	if runtime.GOOS == "linux" && !sqlite.OFDLockingEnabled() {
		t.Error("no locks by open file description")
	}
	if _, err := s.file.Readers().Exec("DELETE FROM journal"); err == nil {
		t.Error("a reader can write")
	}
}

func reader(t *testing.T, s *Store) *sql.Conn {
	t.Helper()
	conn, err := s.file.Readers().Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := conn.Close(); err != nil && !errors.Is(err, sql.ErrConnDone) {
			t.Error(err)
		}
	})
	return conn
}

// After an unclean end the log is in the database, and a commit was tried, before Open returns.
func TestFirstAfterCrash(t *testing.T) {
	dir := stateDir(t)
	s := openStore(t, dir)
	h := startRun(t, s, "r-crashcra")
	crashed := filepath.Join(t.TempDir(), "crashed") // what a power loss leaves of the files
	if err := os.CopyFS(crashed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(crashed, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(crashed, FileName+"-shm")); err != nil {
		t.Fatal(err)
	}
	again := openStore(t, crashed, func(o *Options) { o.FirstAfterCrash = true })
	if got := loadAll(t, again, h.Run); len(got) != int(h.Seq) {
		t.Errorf("%d facts, %d were written", len(got), h.Seq)
	}
	data, err := os.ReadFile(filepath.Join(crashed, FileName))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte("do the work of r-crashcra")) {
		t.Error("the log was not brought into the database")
	}
	if sizeOf(filepath.Join(crashed, FileName+"-wal")) == 0 {
		t.Error("no commit was tried")
	}
}

// A state folder on a read-only disk can be read, with and without a log beside the database, and
// is refused for writing.
func TestReadOnlyFolder(t *testing.T) {
	ctx := context.Background()
	for _, name := range []string{"closed", "killed"} {
		t.Run(name, func(t *testing.T) {
			dir := stateDir(t)
			s := openStore(t, dir)
			h := startRun(t, s, "r-readonly")
			from := filepath.Join(t.TempDir(), "copy")
			if name == "closed" {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.CopyFS(from, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(from, 0o700); err != nil {
				t.Fatal(err)
			}
			mountReadOnly(t, from)
			r, err := OpenRead(ctx, from)
			if err != nil {
				t.Fatal(err)
			}
			if got := loadAll(t, r, h.Run); len(got) != int(h.Seq) {
				t.Errorf("%d facts, %d were written", len(got), h.Seq)
			}
			if _, err := r.Append(ctx, h, inTurn(0), AppendOptions{}); err == nil {
				if _, err = r.Create(ctx, ThreadRef{}, nil); !errors.Is(err, ErrReadOnly) {
					t.Error(err)
				}
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if _, err := Open(ctx, from, Options{}); !errors.Is(err, ErrReadOnly) || !strings.Contains(err.Error(), from) {
				t.Errorf("%v", err)
			}
		})
	}
}

// Behaviour 9: a newer agent that was ended while it brought the database up to date has left its
// version in the log alone.
func TestANewerVersionInTheLog(t *testing.T) {
	dir := madeDir(t)
	path := filepath.Join(dir, FileName)
	if err := sqlitefile.UseOFDLocks(); err != nil {
		t.Fatal(err)
	}
	c, err := sqlite.NewConnector("file:" + path + "?_journal_mode=wal")
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(c)
	defer pool.Close()
	pool.SetMaxOpenConns(1) // it stays open: the last one to close would bring the log in
	if _, err := pool.Exec(fmt.Sprintf("PRAGMA user_version = %d", knownSchema+1)); err != nil {
		t.Fatal(err)
	}
	if head, err := os.ReadFile(path); err != nil || int(binary.BigEndian.Uint32(head[60:])) == knownSchema+1 {
		t.Fatalf("the file has the version already: %v", err)
	}
	for name, open := range map[string]func() (*Store, error){
		"write": func() (*Store, error) { return Open(context.Background(), dir, Options{NoBallast: true}) },
		"read":  func() (*Store, error) { return OpenRead(context.Background(), dir) },
	} {
		s, err := open()
		if err == nil {
			t.Errorf("%s: it was opened: %v", name, s.Close())
		}
		if newer := (*NewerError)(nil); !errors.As(err, &newer) {
			t.Errorf("%s: %T: %v", name, err, err)
		}
	}
}
