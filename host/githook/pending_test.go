package githook

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agent/db"
	"agent/db/dbtest"
	"agent/recovery/journal"
	hooks "agent/tools/githook"
)

// Git is asked for no more than the answer takes: each question starts a process.
func TestPendingAsksGitForLittle(t *testing.T) {
	const blob, other = "5626abf0f72e58d7a153368ba57db4c673c0e171", "814f4a422927b82f5f8a43f8fab6d3839e3983f2"
	const content = "one\n"
	for name, c := range map[string]struct {
		path      string // that a run left, seen from the folder of the repository
		left      func(kept string) journal.FileVersion
		proof     journal.FileProof
		elsewhere bool
		want      bool
		asked     string
		limit     int64
	}{
		"under git's name":      {path: "f", left: func(string) journal.FileVersion { return journal.FileVersion{Size: 4, Git: blob} }, want: true, asked: "staged "},
		"another of git's":      {path: "f", left: func(string) journal.FileVersion { return journal.FileVersion{Size: 4, Git: other} }, asked: "staged "},
		"kept":                  {path: "f", left: func(k string) journal.FileVersion { return journal.FileVersion{Size: 4, Kept: k} }, want: true, asked: "staged blob ", limit: 4},
		"another kept":          {path: "f", left: func(string) journal.FileVersion { return journal.FileVersion{Size: 4, Kept: "x"} }, asked: "staged blob ", limit: 4},
		"a longer one":          {path: "f", left: func(string) journal.FileVersion { return journal.FileVersion{Size: 9, Kept: "x"} }, asked: "staged blob ", limit: 9},
		"too large":             {path: "f", left: func(string) journal.FileVersion { return journal.FileVersion{Size: 1 << 40, Kept: "x"} }, asked: "staged blob ", limit: maxBlob},
		"lost":                  {path: "f", left: func(string) journal.FileVersion { return journal.FileVersion{Size: 4, Lost: journal.LeftTooLarge} }, asked: "staged "},
		"of somebody else":      {path: "f", left: func(k string) journal.FileVersion { return journal.FileVersion{Size: 4, Kept: k} }, proof: journal.ProofOutside, asked: "staged "},
		"another path":          {path: "g", left: func(k string) journal.FileVersion { return journal.FileVersion{Size: 4, Kept: k} }, asked: "staged "},
		"in another repository": {path: "f", left: func(k string) journal.FileVersion { return journal.FileVersion{Size: 4, Kept: k} }, elsewhere: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := context.Background()
			home, folder := dbtest.StateDir(t), t.TempDir()
			s, err := db.Open(ctx, home, db.Options{NoBallast: true})
			if err != nil {
				t.Fatal(err)
			}
			contents, err := s.Contents()
			if err != nil {
				t.Fatal(err)
			}
			of := folder
			if c.elsewhere {
				of = t.TempDir()
			}
			v := c.left(contents.Name([]byte(content)))
			v.Kind = journal.FileRegular
			leave(t, s, of, c.path, c.proof, &v)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			asked, limit := "", int64(0)
			is, err := Pending(ctx, home, hooks.Commit{
				Folder: folder,
				Staged: func(context.Context) ([]hooks.Staged, error) {
					asked += "staged "
					return []hooks.Staged{{Path: "f", Blob: blob}}, nil
				},
				Blob: func(_ context.Context, _ string, most int64) ([]byte, error) {
					asked, limit = asked+"blob ", most
					if most < int64(len(content)) {
						return nil, errors.New("it is larger")
					}
					return []byte(content), nil
				},
			})
			if err != nil || is != c.want || asked != c.asked || limit != c.limit {
				t.Errorf("%v %v, asked for %q, at most %d bytes", is, err, asked, limit)
			}
		})
	}
}

// A content that was just staged is read without git, and one that is not what its name says is not
// taken.
func TestPendingReadsWhatWasJustStaged(t *testing.T) {
	p := place(t, true)
	git := func(in string, args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", p.repo.Top}, args...)...)
		cmd.Stdin = strings.NewReader(in)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return strings.TrimSpace(string(out))
	}
	id := git("one\n", "hash-object", "-w", "--stdin")
	ctx := context.Background()
	home := dbtest.StateDir(t)
	s, err := db.Open(ctx, home, db.Options{NoBallast: true})
	if err != nil {
		t.Fatal(err)
	}
	contents, err := s.Contents()
	if err != nil {
		t.Fatal(err)
	}
	leave(t, s, p.repo.Top, "f", journal.ProofTool, &journal.FileVersion{Size: 4, Kept: contents.Name([]byte("one\n"))})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	asked := 0
	look := func() bool {
		is, err := Pending(ctx, home, hooks.Commit{
			Folder: p.repo.Top,
			Staged: func(context.Context) ([]hooks.Staged, error) { return []hooks.Staged{{Path: "f", Blob: id}}, nil },
			Blob: func(context.Context, string, int64) ([]byte, error) {
				asked++
				return []byte("one\n"), nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return is
	}
	if !look() || asked != 0 {
		t.Errorf("git was asked %d times", asked)
	}
	object := filepath.Join(p.repo.Common, "objects", id[:2], id[2:])
	other := git("two\n", "hash-object", "-w", "--stdin")
	text, err := os.ReadFile(filepath.Join(p.repo.Common, "objects", other[:2], other[2:]))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(object), os.WriteFile(object, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	if !look() || asked != 1 {
		t.Errorf("of a forged object git was asked %d times", asked)
	}
	id = git("longer\n", "hash-object", "-w", "--stdin")
	if look() || asked != 1 {
		t.Errorf("of a longer one git was asked %d times", asked)
	}
}

// leave records a run whose call left a file.
func leave(t *testing.T, s *db.Store, folder, name string, proof journal.FileProof, v *journal.FileVersion) {
	t.Helper()
	ctx := context.Background()
	facts := dbtest.Child("r-1", "t-1", nil)
	c := facts[0].Body.(journal.RunCreated)
	c.Folder = folder
	facts[0].Body = c
	h, err := s.Create(ctx, db.ThreadRef{ID: c.Thread, Folder: folder, New: true}, facts)
	if err != nil {
		t.Fatal(err)
	}
	if proof == "" {
		proof = journal.ProofTool
	}
	begun, settled := dbtest.Turn(1, "c-1", "done")
	left := journal.FilesChanged{Look: 1, Changes: []journal.FileChange{journal.NewFileChange(name, proof, nil, v)}}
	list := append(append(begun[:1:1], dbtest.InTurn(1, left)...), begun[1:]...)
	if _, err := s.Append(ctx, h, append(list, settled...), db.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
}
