package log_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/fleet/log"
	"agent/fleet/log/fake"
	"agent/fleet/log/logtest"
	"agent/fleet/log/pgtest"
)

// places is for how many places writers race.
func places() int {
	if testing.Short() {
		return 300
	}
	return 10_000
}

func TestDirConforms(t *testing.T) {
	url := "dir:" + t.TempDir()
	logtest.Run(t, 300, func(ctx context.Context, namespace string) (log.Log, error) { return log.Open(ctx, url, namespace) })
}

// The long race is run where a folder is in memory, if there is such a place: who wins is decided
// by link(2) there too, and the disk is not what is tried.
func TestDirRace(t *testing.T) {
	dir, err := os.MkdirTemp("/dev/shm", "agent-fleet-")
	if err != nil {
		dir = t.TempDir()
	} else {
		defer os.RemoveAll(dir) // it is a few MB
	}
	race := logtest.Checks(places())[0]
	err = race.Run(t.Context(), func(ctx context.Context, namespace string) (log.Log, error) {
		return log.Open(ctx, "dir:"+dir, namespace)
	})
	if err != nil {
		t.Error(err)
	}
}

func TestPostgresConforms(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts PostgreSQL")
	}
	s := pgtest.Start(t)
	logtest.Run(t, places(), func(ctx context.Context, namespace string) (log.Log, error) {
		return log.Open(ctx, s.URL(s.Dir), namespace)
	})
}

func TestFakeConforms(t *testing.T) {
	namespaces := map[string]log.Log{}
	for _, c := range logtest.Checks(places()) {
		t.Run(c.Name, func(t *testing.T) {
			err := c.Run(t.Context(), fakeOpen(namespaces))
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// A file that nobody goes on writing disturbs nobody, and is removed when it is old; a place is
// what has the whole name of one.
func TestDirIgnoresTornFiles(t *testing.T) {
	dir := t.TempDir()
	l, err := log.Open(t.Context(), "dir:"+dir, "ns")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Create(t.Context(), "r-a", 1, []byte("whole")); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "ns", "r-a")
	old, young := filepath.Join(folder, ".new-old"), filepath.Join(folder, ".new-young")
	for _, name := range []string{old, young, filepath.Join(folder, "7"), filepath.Join(folder, "00000009.bak")} {
		if err := os.WriteFile(name, []byte("to"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(old, before, before); err != nil {
		t.Fatal(err)
	}
	if last, err := l.Last(t.Context(), "r-a"); err != nil || last != 1 {
		t.Fatalf("the last place is %d: %v", last, err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old file is still there: %v", err)
	}
	if _, err := os.Stat(young); err != nil {
		t.Errorf("somebody may be writing the young file: %v", err)
	}
	if err := l.Create(t.Context(), "r-a", 2, []byte("next")); err != nil {
		t.Fatal(err)
	}
}

// A folder that is not mounted is no empty log.
func TestDirThatIsGone(t *testing.T) {
	dir := t.TempDir()
	l, err := log.Open(t.Context(), "dir:"+dir, "ns")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "ns"), filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Last(t.Context(), "r-a"); err == nil {
		t.Error("the log is gone, and seems empty")
	}
	if _, err := l.Read(t.Context(), "r-a", 1); err == nil || errors.Is(err, log.ErrNone) {
		t.Errorf("the log is gone, and seems empty: %v", err)
	}
	if err := l.Create(t.Context(), "r-a", 1, nil); err == nil || errors.Is(err, log.ErrTaken) {
		t.Errorf("the log is gone, and something was stored: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ url, namespace, want string }{
		{"", "ns", "none is named"},
		{"gs://bucket", "ns", "no kind of log"},
		{"s3:bucket", "ns", "no URL of a bucket"},
		{"s3:///prefix", "ns", "no bucket is named"},
		{"s3://bucket/x?region=a%0d%0ab", "ns", "cannot be a region"},
		{"dir:/tmp/\x1b[31mnone", "ns", `"/tmp/\x1b[31mnone"`},
		{"s3://b", "ns", "cannot be a bucket"},
		{"s3://bucket:canary/x", "ns", "no URL of a bucket"},
		{"s3://key:canary@bucket/x", "ns", "no key stands in the URL"},
		{"s3://logs--use1-az4--x-s3/x", "ns", "directory bucket"},
		{"s3://bucket/a/../b", "ns", "part of a prefix"},
		{"s3://bucket/a//b", "ns", "part of a prefix"},
		{"s3://bucket/x?secret=canary", "ns", "\"secret\" is no parameter"},
		{"s3://bucket/x?region=", "ns", "has no value"},
		{"s3://bucket/x?endpoint=ftp://canary", "ns", "no URL such as"},
		{"s3://bucket/x?endpoint=https://key:canary@host", "ns", "no URL such as"},
		{"s3://bucket/x?endpoint=https://host/path/canary", "ns", "no URL such as"},
		{"s3://bucket/x?%zz=canary", "ns", "cannot be read"},
		{"dir:relative", "ns", "from the root on"},
		{"dir:/there/is/none", "ns", "there is no folder"},
		{"dir:" + file, "ns", "is no folder"},
		{"dir:/tmp", "", "cannot be a namespace"},
		{"dir:/tmp", "..", "cannot be a namespace"},
		{"dir:/tmp", "a/b", "cannot be a namespace"},
		{"dir:/tmp", "a b", "cannot be a namespace"},
		{"postgres://user:canary@localhost:bad/db", "ns", "open the log"},
		{"postgres:///db?host=/there/is/none&user=x&password=canary", "ns", "open the log"},
	} {
		l, err := log.Open(t.Context(), c.url, c.namespace)
		if err == nil {
			_ = l.Close()
			t.Errorf("%s in %q was opened", c.url, c.namespace)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s in %q: %v", c.url, c.namespace, err)
		}
	}
}

// An outage is an error that is not "taken"; what was stored before is there after it.
func TestPostgresOutage(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts PostgreSQL")
	}
	s := pgtest.Start(t)
	l, err := log.Open(t.Context(), s.URL(s.Dir), "ns")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := l.Create(t.Context(), "r-a", 1, []byte("before")); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	if err := l.Create(t.Context(), "r-a", 2, []byte("lost")); err == nil || errors.Is(err, log.ErrTaken) {
		t.Errorf("the server is gone, and create gave: %v", err)
	}
	if _, err := l.Read(t.Context(), "r-a", 1); err == nil || errors.Is(err, log.ErrNone) {
		t.Errorf("the server is gone, and read gave: %v", err)
	}
	s.Run()
	if data, err := l.Read(t.Context(), "r-a", 1); err != nil || string(data) != "before" {
		t.Errorf("after the crash: %q, %v", data, err)
	}
	if err := l.Create(t.Context(), "r-a", 2, []byte("after")); err != nil {
		t.Error(err)
	}
}

// The fake does what it is asked to do.
func TestFakeLosesAnswers(t *testing.T) {
	f := fake.New()
	f.LoseBefore(1)
	if err := f.Create(t.Context(), "r-a", 1, []byte("x")); !errors.Is(err, fake.ErrLost) {
		t.Fatal(err)
	}
	if _, err := f.Read(t.Context(), "r-a", 1); !errors.Is(err, log.ErrNone) {
		t.Fatal(err)
	}
	f.LoseAfter(1)
	if err := f.Create(t.Context(), "r-a", 1, []byte("x")); !errors.Is(err, fake.ErrLost) {
		t.Fatal(err)
	}
	if err := f.Create(t.Context(), "r-a", 1, []byte("x")); !errors.Is(err, log.ErrTaken) {
		t.Fatal(err)
	}
	down := errors.New("out of order")
	f.Down(down)
	if _, err := f.Last(t.Context(), "r-a"); !errors.Is(err, down) {
		t.Fatal(err)
	}
	f.Up()
	if last, err := f.Last(t.Context(), "r-a"); err != nil || last != 1 {
		t.Fatalf("%d, %v", last, err)
	}
}
