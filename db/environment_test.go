package db

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agent/db/vault"
	"agent/recovery/journal"
)

// startIn creates a run whose commands get these variables, and returns what its first fact says.
func startIn(t *testing.T, s *Store, run string, environ []string) journal.RunCreated {
	t.Helper()
	c := createdFact(run, "t-"+run[2:])
	c.Environ = environ
	facts := events(c, journal.RunClaimed{Epoch: 1})
	if _, err := s.Create(context.Background(), ThreadRef{ID: c.Thread, Folder: c.Folder, New: true}, facts); err != nil {
		t.Fatal(err)
	}
	stored := loadAll(t, s, run)[0].Body.(journal.RunCreated)
	if shown := facts[0].Body.(journal.RunCreated); shown.Environ != nil || shown.Env != stored.Env {
		t.Errorf("what others see of the first fact: %+v", shown)
	}
	return stored
}

// The variables that commands get are kept once for all runs that have the same, sealed, and given
// back as they were, bytes that are no text among them.
func TestEnvironmentIsKeptOnce(t *testing.T) {
	ctx, dir := context.Background(), stateDir(t)
	s := openStore(t, dir)
	mine := []string{"HOME=/home/ada-of-the-test", "LC_ODD=a\xffb\nc=d", "PATH=/bin"}
	first := startIn(t, s, "r-7k2m9qx4", mine)
	again := startIn(t, s, "r-abcdefgh", slices.Clone(mine))
	other := startIn(t, s, "r-abcdefgj", []string{"PATH=/usr/bin"})
	empty := startIn(t, s, "r-abcdefgk", []string{})
	none := startIn(t, s, "r-abcdefgm", nil)
	if first.Env == "" || first.Env != again.Env || first.Env == other.Env || empty.Env == "" || none.Env != "" {
		t.Errorf("environments %q %q %q %q %q", first.Env, again.Env, other.Env, empty.Env, none.Env)
	}
	for id, want := range map[string][]string{first.Env: mine, other.Env: {"PATH=/usr/bin"}, empty.Env: {}} {
		if got, err := s.Environment(ctx, id); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q %v, want %q", got, err, want)
		}
	}
	if n := count(t, s, "environments"); n != 3 {
		t.Errorf("%d rows for three environments", n)
	}
	read, err := OpenRead(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if got, err := read.Environment(ctx, first.Env); err != nil || !slices.Equal(got, mine) {
		t.Errorf("who only reads gets %q %v", got, err)
	}
	for _, name := range []string{FileName, FileName + "-wal"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err == nil && bytes.Contains(text, []byte("ada-of-the-test")) {
			t.Errorf("%s holds a value in the clear", name)
		}
	}
}

// What was sealed with another key, was changed, or is gone is lost, and said to be.
func TestEnvironmentThatIsLost(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t))
	id := startIn(t, s, "r-7k2m9qx4", []string{"PATH=/bin"}).Env
	foreign, err := vault.NewEnvironments("", bytes.Repeat([]byte{7}, vault.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	row, err := foreign.Seal([]string{"PATH=/elsewhere"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ why, text string }{
		{"another key", "UPDATE environments SET sealed = ?"}, {"not in the database", "DELETE FROM environments WHERE sealed = ?"},
	} {
		if err := s.write(ctx, func(t *tx) error { return t.Once(c.text, row.Sealed) }); err != nil {
			t.Fatal(err)
		}
		var lost *LostEnvironmentError
		if _, err := s.Environment(ctx, id); !errors.As(err, &lost) || !strings.Contains(lost.Why, c.why) {
			t.Errorf("%s: %v", c.why, err)
		}
	}
}

func count(t *testing.T, s *Store, table string) (n int) {
	t.Helper()
	if err := s.file.Readers().QueryRowContext(context.Background(), "SELECT count(*) FROM "+table).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
