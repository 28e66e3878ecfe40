package artifact

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"agent/recovery/flow"
	"agent/recovery/journal"
)

const recorded = "# Plan\n\nstep one\nstep two\n"

// damages are what may become of an artifact, with how a look calls it.
func damages() map[string]struct {
	do    func(b *bench)
	state journal.ArtifactState
	inv   string
} {
	type damage = struct {
		do    func(b *bench)
		state journal.ArtifactState
		inv   string
	}
	remove := func(b *bench) { b.must(os.Remove(b.path("docs/plan.md"))) }
	return map[string]damage{
		"nothing":              {func(*bench) {}, journal.ArtifactIntact, ""},
		"saved as it was":      {func(b *bench) { b.save("docs/plan.md", recorded) }, journal.ArtifactIntact, ""},
		"removed":              {remove, journal.ArtifactMissing, ""},
		"removed with folder":  {func(b *bench) { b.must(os.RemoveAll(b.path("docs"))) }, journal.ArtifactMissing, ""},
		"emptied":              {func(b *bench) { b.write("docs/plan.md", "") }, journal.ArtifactEmpty, ""},
		"cut to a byte":        {func(b *bench) { b.write("docs/plan.md", recorded[:1]) }, journal.ArtifactCut, ""},
		"cut by a byte":        {func(b *bench) { b.write("docs/plan.md", recorded[:len(recorded)-1]) }, journal.ArtifactCut, ""},
		"shorter, by a person": {func(b *bench) { b.write("docs/plan.md", "# Plan\n\nstep 1\n") }, journal.ArtifactEdited, ""},
		"its end is left":      {func(b *bench) { b.write("docs/plan.md", recorded[5:]) }, journal.ArtifactEdited, ""},
		"longer":               {func(b *bench) { b.write("docs/plan.md", recorded+"step three\n") }, journal.ArtifactEdited, ""},
		"of the same length":   {func(b *bench) { b.write("docs/plan.md", strings.ToUpper(recorded)) }, journal.ArtifactEdited, ""},
		"a link to what it was": {func(b *bench) {
			b.must(os.Rename(b.path("docs/plan.md"), b.path("docs/x")))
			b.must(os.Symlink("x", b.path("docs/plan.md")))
		}, journal.ArtifactEdited, "it is a symlink"},
		"a link that is broken": {func(b *bench) { remove(b); b.must(os.Symlink("x", b.path("docs/plan.md"))) }, journal.ArtifactEdited, "it is a symlink"},
		"a folder":              {func(b *bench) { remove(b); b.must(os.Mkdir(b.path("docs/plan.md"), 0o755)) }, journal.ArtifactEdited, "it is a folder"},
		"a file as its folder":  {func(b *bench) { b.must(os.RemoveAll(b.path("docs"))); b.write("docs", "") }, journal.ArtifactEdited, "not a folder"},
		"its folder leads out": {func(b *bench) {
			out := b.TempDir()
			b.must(os.WriteFile(filepath.Join(out, "plan.md"), []byte(recorded), 0o600))
			b.must(os.RemoveAll(b.path("docs")))
			b.must(os.Symlink(out, b.path("docs")))
		}, journal.ArtifactEdited, "outside"},
	}
}

// A look calls what it finds by its name, and changes nothing of it.
// CF-22 to CF-24.
func TestCheck(t *testing.T) {
	for name, d := range damages() {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			want := b.made("docs/plan.md", recorded)
			d.do(b)
			for _, looks := range []bool{true, false} {
				b.copies.Looks = looks
				found := b.check(want)
				if found.State != d.state || !strings.Contains(found.Invalid, d.inv) || d.inv == "" && found.Invalid != "" || found.Unusable != "" || found.Reason != "" {
					t.Errorf("%+v, want %s", found.ArtifactCheck, d.state)
				}
				if wantCopied := d.state != journal.ArtifactIntact; found.Copied != wantCopied {
					t.Errorf("its copy can be used: %v", found.Copied)
				}
				rows := b.copies.Rows()
				switch edited := d.state == journal.ArtifactEdited && d.inv == ""; {
				case edited && (found.SHA != digest([]byte(b.content("docs/plan.md"))) || string(found.Content) != b.content("docs/plan.md")):
					t.Errorf("%+v", found)
				case edited && !looks && (len(rows) != 1 || found.Copy != rows[0].Name):
					t.Errorf("what somebody wrote is not copied: %+v", found)
				case (!edited || looks) && len(rows) != 0:
					t.Errorf("%d contents are kept", len(rows))
				}
			}
		})
	}
}

// What was edited may count only as far as it is what its phase asks for.
func TestCheckValidates(t *testing.T) {
	b := newBench(t)
	want := b.made("docs/plan.md", recorded)
	b.write("docs/plan.md", "my own plan")
	o := &flow.Output{Path: "docs/{name}.md", Has: []string{"# Plan"}}
	found, err := b.f.Check(t.Context(), want, o, b.copies)
	if err != nil || found.State != journal.ArtifactEdited || found.Path != "docs/plan.md" || !strings.Contains(found.Invalid, "# Plan") || found.Copy != "" {
		t.Errorf("%+v %v", found, err)
	}
	b.write("docs/plan.md", "my own\n# Plan")
	if found, err = b.f.Check(t.Context(), want, o, b.copies); err != nil || found.Invalid != "" || found.Copy == "" {
		t.Errorf("%+v %v", found, err)
	}
	none := journal.Artifact{Path: "docs/other.md"}
	if found := b.check(none); found.State != journal.ArtifactIntact {
		t.Errorf("nothing is there, as recorded: %+v", found.ArtifactCheck)
	}
	for _, content := range []string{"", "x"} {
		b.write("docs/other.md", content)
		if found := b.check(none); found.State != journal.ArtifactEdited {
			t.Errorf("%q is there, and nothing was: %+v", content, found.ArtifactCheck)
		}
	}
}

// Without a copy that can be used a file that is shorter is not called cut: nobody can know. Which
// version lost its copy is said.
func TestCheckWithoutCopy(t *testing.T) {
	b := newBench(t)
	want := b.made("plan.md", recorded)
	lost := want
	lost.Copy = strings.Repeat("0", 32)
	other := b.made("other.md", "other")
	wrong := want
	wrong.Copy = other.Copy
	none := want
	none.Copy = ""
	for name, c := range map[string]struct {
		want     journal.Artifact
		unusable bool
	}{"lost": {lost, true}, "of another": {wrong, true}, "none": {none, false}} {
		for content, state := range map[string]journal.ArtifactState{"-": journal.ArtifactMissing, "": journal.ArtifactEmpty, recorded[:9]: journal.ArtifactEdited, recorded: journal.ArtifactIntact} {
			if err := os.Remove(b.path("plan.md")); err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if content != "-" {
				b.write("plan.md", content)
			}
			found := b.check(c.want)
			unusable := c.unusable && state != journal.ArtifactIntact
			if found.State != state || found.Copied || (found.Unusable == want.SHA) != unusable || (found.Reason != "") != unusable {
				t.Errorf("copy %s, %q: %+v", name, content, found.ArtifactCheck)
			}
			if state == journal.ArtifactIntact {
				continue
			}
			if err := b.restore(c.want, found); !errors.As(err, new(*NoCopyError)) || content != "-" && b.content("plan.md") != content {
				t.Errorf("copy %s, %q: %v", name, content, err)
			}
		}
	}
}

// What cannot be read is not called missing.
func TestCheckWithoutPermission(t *testing.T) {
	needsUser(t)
	b := newBench(t)
	want := b.made("docs/plan.md", recorded)
	for _, path := range []string{"docs/plan.md", "docs"} {
		b.must(os.Chmod(b.path(path), 0))
		found := b.check(want)
		if found.State != journal.ArtifactUnreadable || !strings.Contains(found.Reason, "permission denied") || found.SHA != "" {
			t.Errorf("%s: %+v", path, found.ArtifactCheck)
		}
		b.must(os.Chmod(b.path(path), 0o755))
	}
	b.write("dist/a", "1")
	dist := b.take(flow.Output{Path: "dist/"})
	b.must(os.Chmod(b.path("dist"), 0))
	defer os.Chmod(b.path("dist"), 0o755)
	if found := b.check(dist.Artifact); found.State != journal.ArtifactUnreadable {
		t.Errorf("%+v", found.ArtifactCheck)
	}
}

// A folder is intact, gone, or another one; it has no copy.
func TestCheckFolder(t *testing.T) {
	b := newBench(t)
	b.write("dist/a", "1")
	b.write("dist/b/c", "22")
	want := b.take(flow.Output{Path: "dist/"}).Artifact
	if found := b.check(want); found.State != journal.ArtifactIntact || found.Copied {
		t.Errorf("%+v", found.ArtifactCheck)
	}
	b.write("dist/a", "2")
	if found := b.check(want); found.State != journal.ArtifactEdited || found.SHA == "" || found.Copied {
		t.Errorf("%+v", found.ArtifactCheck)
	}
	b.must(os.RemoveAll(b.path("dist")))
	if found := b.check(want); found.State != journal.ArtifactMissing {
		t.Errorf("%+v", found.ArtifactCheck)
	}
	b.must(os.Mkdir(b.path("dist"), 0o755))
	if found := b.check(want); found.State != journal.ArtifactMissing {
		t.Errorf("without files: %+v", found.ArtifactCheck)
	}
	b.must(os.Remove(b.path("dist")))
	b.write("dist", "")
	if found := b.check(want); found.State != journal.ArtifactEdited || found.Invalid != "it is not a folder" {
		t.Errorf("%+v", found.ArtifactCheck)
	}
}

// A store that fails ends the look: it is no finding about the artifact.
func TestCheckWithoutStore(t *testing.T) {
	b := newBench(t)
	want := b.made("plan.md", recorded)
	b.write("plan.md", recorded[:5])
	b.must(b.store.Close())
	if found, err := b.f.Check(t.Context(), want, nil, b.copies); err == nil || !strings.Contains(err.Error(), "plan.md") {
		t.Errorf("%+v %v", found.ArtifactCheck, err)
	}
	if err := b.f.look(t.Context(), want, output(want), b.copies, &Found{}); !errors.As(err, new(*storeError)) || errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("%v", err)
	}
}
