package artifact

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/db"
	"agent/db/dbtest"
	"agent/recovery/flow"
	"agent/recovery/journal"
)

// bench is a workspace beside a store.
type bench struct {
	*testing.T
	dir    string
	store  *db.Store
	head   db.Head
	f      *Folder
	copies *Copies
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchIn(t, t.TempDir())
}

func newBenchIn(t *testing.T, dir string) *bench {
	t.Helper()
	b := &bench{T: t, dir: dir}
	var err error
	if b.store, err = db.Open(t.Context(), dbtest.StateDir(t), db.Options{NoBallast: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.store.Close(); err != nil {
			t.Error(err)
		}
	})
	b.head, err = b.store.Create(t.Context(), db.ThreadRef{ID: "t-artifact", Folder: dir, New: true}, dbtest.Started("r-artifact", "t-artifact"))
	if err != nil {
		t.Fatal(err)
	}
	contents, err := b.store.Contents()
	if err != nil {
		t.Fatal(err)
	}
	b.copies = &Copies{Contents: contents, Room: FlowLimit}
	b.f = b.open()
	return b
}

func (b *bench) open() *Folder {
	b.Helper()
	f, err := Open(b.dir, []string{b.store.Dir(), filepath.Join(b.dir, "state")}, "r-artifact")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(f.Close)
	return f
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, filepath.FromSlash(name)) }

func (b *bench) write(name, content string) {
	b.Helper()
	b.must(os.MkdirAll(filepath.Dir(b.path(name)), 0o755))
	b.must(os.WriteFile(b.path(name), []byte(content), 0o644))
}

// save writes as an editor does that replaces a file.
func (b *bench) save(name, content string) {
	b.Helper()
	b.must(os.WriteFile(b.path(name)+".saving", []byte(content), 0o644))
	b.must(os.Rename(b.path(name)+".saving", b.path(name)))
}

// content is what lies at a path; "-" where nothing does.
func (b *bench) content(name string) string {
	b.Helper()
	data, err := os.ReadFile(b.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return "-"
	}
	b.must(err)
	return string(data)
}

// names lists a folder.
func (b *bench) names(dir string) string {
	b.Helper()
	entries, err := os.ReadDir(b.path(dir))
	b.must(err)
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// record appends a fact with which the copies are kept.
func (b *bench) record() {
	b.Helper()
	var err error
	b.head, err = b.store.Append(b.Context(), b.head, dbtest.InTurn(1, journal.RunNoted{Text: "taken"}), db.AppendOptions{Kept: b.copies.Rows()})
	b.must(err)
}

func (b *bench) take(o flow.Output) Taken {
	b.Helper()
	t, err := b.f.Take(b.Context(), o, b.copies)
	b.must(err)
	return t
}

// made writes a file and takes it as a phase's output.
func (b *bench) made(name, content string) journal.Artifact {
	b.Helper()
	b.write(name, content)
	t := b.take(flow.Output{Path: name, Empty: true})
	if t.Invalid != "" || t.NoCopy != "" || t.Copy == "" {
		b.Fatalf("%+v", t)
	}
	b.record()
	return t.Artifact
}

func (b *bench) check(want journal.Artifact) Found {
	b.Helper()
	found, err := b.f.Check(b.Context(), want, nil, b.copies)
	b.must(err)
	return found
}

func (b *bench) restore(want journal.Artifact, found Found) error {
	_, err := b.f.Restore(context.Background(), want, found, b.copies)
	return err
}

func (b *bench) wantNothingElse(dir string, names ...string) {
	b.Helper()
	if got := b.names(dir); got != strings.Join(names, " ") {
		b.Errorf("%s holds %q, want %q", dir, got, names)
	}
}

// needsUser skips what root is never refused.
func needsUser(t *testing.T) {
	t.Helper()
	if os.Getuid() == 0 {
		t.Skip("root is refused nothing")
	}
}
