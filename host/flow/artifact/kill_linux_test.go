package artifact

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"agent/db"
	"agent/recovery/fault"
	"agent/recovery/flow"
	"agent/recovery/journal"
	"agent/tools/files"
)

// act is the argument with which the binary of the tests acts in a process of its own.
const act = "__act"

func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == act {
		if err := actOnce(os.Args[2], os.Args[3], os.Args[4]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// job is what a child does.
type job struct {
	Do    string // take, restore, answer, or several of them
	Path  string
	Next  string // path of another artifact
	Want  journal.Artifact
	State string
}

func actOnce(dir, state, text string) error {
	if _, err := fault.Arm(); err != nil {
		return err
	}
	var j job
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return err
	}
	ctx := context.Background()
	s, err := db.Open(ctx, state, db.Options{NoBallast: true})
	if err != nil {
		return err
	}
	contents, err := s.Contents()
	if err != nil {
		return err
	}
	f, err := Open(dir, []string{state}, "r-artifact")
	if err != nil {
		return err
	}
	copies := &Copies{Contents: contents, Room: FlowLimit}
	switch j.Do {
	case "take":
		_, err = f.Take(ctx, flow.Output{Path: j.Path}, copies)
	case "answer":
		err = f.Answer(ctx, j.Path, []byte("answer"), []string{digest([]byte("before"))})
	case "take both":
		for _, path := range []string{j.Path, j.Next} {
			if _, err = f.Take(ctx, flow.Output{Path: path}, copies); err != nil {
				return err
			}
		}
	case "answer and take both":
		for _, path := range []string{j.Path, j.Next} {
			if err = f.Answer(ctx, path, []byte("answer"), nil); err == nil {
				_, err = f.Take(ctx, flow.Output{Path: path}, copies)
			}
			if err != nil {
				return err
			}
		}
	case "answer, and somebody writes":
		if err = f.Answer(ctx, j.Path, []byte("answer"), nil); err != nil {
			return err
		}
		if err = os.WriteFile(filepath.Join(dir, j.Path), []byte("edited"), 0o644); err == nil {
			_, err = f.Take(ctx, flow.Output{Path: j.Path}, copies)
		}
	case "check":
		_, err = f.Check(ctx, j.Want, nil, copies)
	case "restore":
		var found Found
		if found, err = f.Check(ctx, j.Want, nil, copies); err == nil {
			_, err = f.Restore(ctx, j.Want, found, copies)
		}
	}
	if err != nil {
		return err
	}
	return s.Close()
}

// child starts a process that does a job, with more before its command line and in its environment.
func (b *bench) child(j job, before []string, env ...string) (string, error) {
	b.Helper()
	exe, err := os.Executable()
	b.must(err)
	text, err := json.Marshal(j)
	b.must(err)
	line := append(slices.Clone(before), exe, act, b.dir, b.store.Dir(), string(text))
	cmd := exec.CommandContext(b.Context(), line[0], line[1:]...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// die does a job in a process that is killed at a fault point.
func (b *bench) die(j job, point fault.Point) {
	b.Helper()
	out, err := b.child(j, nil, fault.EnvPoint+"="+string(point), fault.EnvUnsafe+"=1")
	if err == nil || !strings.Contains(err.Error(), "killed") {
		b.Fatalf("%s: %v %s", point, err, out)
	}
}

// A restore that is killed leaves the old file or the new one, whole, under one name; done again,
// it ends as one that was never killed, with nothing left beside the file.
func TestKilledRestore(t *testing.T) {
	for name, damage := range map[string]func(b *bench){
		"missing": func(b *bench) { b.must(os.RemoveAll(b.path("docs"))) },
		"cut":     func(b *bench) { b.write("docs/plan.md", recorded[:9]) },
	} {
		for point, want := range map[fault.Point]journal.ArtifactState{fault.ArtifactTemp: "", fault.ArtifactLinked: journal.ArtifactIntact} {
			b := newBench(t)
			made := b.made("docs/plan.md", recorded)
			damage(b)
			old := b.check(made)
			b.die(job{Do: "restore", Want: made}, point)
			if want == "" {
				want = old.State
			}
			found := b.check(made)
			if found.State != want {
				t.Errorf("%s, killed at %s: %+v", name, point, found.ArtifactCheck)
			}
			if found.State != journal.ArtifactIntact {
				b.must(b.restore(made, found))
			}
			info, err := os.Stat(b.path("docs/plan.md"))
			b.must(err)
			if b.content("docs/plan.md") != recorded || files.IDOf(info).Links != 1 {
				t.Errorf("%s, killed at %s: %q, %d names", name, point, b.content("docs/plan.md"), files.IDOf(info).Links)
			}
			b.wantNothingElse("docs", "plan.md")
		}
	}
}

// An answer that is killed on its way is there or not, and is written once in the end.
// CF-26.
func TestKilledAnswer(t *testing.T) {
	for _, before := range []string{"-", "before"} {
		for point, want := range map[fault.Point]string{fault.ArtifactTemp: before, fault.ArtifactLinked: "answer"} {
			b := newBench(t)
			if before != "-" {
				b.write("docs/a.md", before)
			}
			b.die(job{Do: "answer", Path: "docs/a.md"}, point)
			if got := b.content("docs/a.md"); got != want {
				t.Errorf("%s, killed at %s: %q", before, point, got)
			}
			b.must(b.f.Answer(t.Context(), "docs/a.md", []byte("answer"), []string{digest([]byte("before"))}))
			b.take(flow.Output{Path: "docs/a.md"})
			if b.content("docs/a.md") != "answer" {
				t.Errorf("%q", b.content("docs/a.md"))
			}
			b.wantNothingElse("docs", "a.md")
		}
	}
}

// A taking that is killed claims nothing: a copy that it made is a file that no row names.
// CF-19.
func TestKilledTake(t *testing.T) {
	for _, point := range []fault.Point{fault.ArtifactSynced, fault.ArtifactCopied} {
		b := newBench(t)
		large := make([]byte, 1<<20)
		for i := range large {
			large[i] = byte(i*i>>7 ^ i)
		}
		b.write("out", string(large))
		b.die(job{Do: "take", Path: "out"}, point)
		report, err := b.copies.Contents.Check(t.Context())
		if err != nil || len(report.Problems) != 0 {
			t.Errorf("%s: %+v %v", point, report, err)
		}
		got := b.take(flow.Output{Path: "out"})
		b.record()
		if back, why, err := b.copies.open(t.Context(), got.Copy, got.SHA); err != nil || why != "" || !bytes.Equal(back, large) {
			t.Errorf("%s: %q %v", point, why, err)
		}
	}
}

// traced gives the calls of the system with which a job changes and syncs files of the workspace,
// in their order, as strace sees them.
func (b *bench) traced(j job) []string {
	b.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		b.Skip("strace is not installed")
	}
	trace := filepath.Join(b.TempDir(), "trace")
	calls := "trace=fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdirat"
	out, err := b.child(j, []string{"strace", "-f", "-y", "-e", calls, "-o", trace})
	if err != nil {
		b.Fatalf("%v %s", err, out)
	}
	text, err := os.ReadFile(trace)
	b.must(err)
	var did []string
	begun := map[string]string{} // calls of which the result is on a later line, by thread
	line := regexp.MustCompile(`^\d+ +(\w+)\((.*)`)
	for l := range strings.Lines(string(text)) {
		thread, _, _ := strings.Cut(l, " ")
		if first, ok := strings.CutSuffix(l, " <unfinished ...>\n"); ok {
			begun[thread] = first
			continue
		}
		if _, rest, ok := strings.Cut(l, " resumed>"); ok {
			l = begun[thread] + rest
		}
		m := line.FindStringSubmatch(l)
		if m == nil || !strings.Contains(m[2], b.dir) || strings.Contains(m[2], "ENOENT") {
			continue
		}
		what := m[1]
		if strings.HasSuffix(what, "sync") {
			path := m[2][strings.Index(m[2], "<")+1 : strings.Index(m[2], ">")]
			rel, err := filepath.Rel(b.dir, path)
			b.must(err)
			if strings.Contains(rel, files.TempPrefix) {
				rel = "temp"
			}
			what = "sync " + rel
		}
		did = append(did, what)
	}
	return did
}

// What is claimed survives a power cut: a file is synced before it gets its name, and every folder
// on the way after that.
// Promise 3 of flows; CF-02, CF-19, CF-20, CF-26.
func TestOrderOfSyncs(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(b *bench) job
		want []string
	}{
		"a new file is taken": {func(b *bench) job {
			b.write("docs/flow/plan.md", recorded)
			return job{Do: "take", Path: "docs/flow/plan.md"}
		}, []string{"sync docs/flow/plan.md", "sync docs/flow", "sync docs", "sync ."}},
		"another file beside it is taken": {func(b *bench) job {
			b.write("docs/flow/a.md", "a")
			b.write("docs/flow/b.md", "b")
			b.must(os.Chtimes(b.path("docs/flow"), fault.Now().Add(-time.Hour), fault.Now().Add(-time.Hour)))
			return job{Do: "take both", Path: "docs/flow/a.md", Next: "docs/flow/b.md"}
		}, []string{"sync docs/flow/a.md", "sync docs/flow", "sync docs", "sync .", "sync docs/flow/b.md"}},
		"answers are written and taken": {func(b *bench) job {
			return job{Do: "answer and take both", Path: "docs/a.md", Next: "docs/b.md"}
		}, []string{"mkdirat", "sync .", "sync temp", "linkat", "unlinkat", "sync docs", "sync .", "sync temp", "linkat", "unlinkat", "sync docs"}},
		"an answer that somebody writes to is made durable as it is": {func(b *bench) job {
			b.must(os.Mkdir(b.path("docs"), 0o755))
			return job{Do: "answer, and somebody writes", Path: "docs/a.md"}
		}, []string{"sync temp", "linkat", "unlinkat", "sync docs", "sync .", "sync docs/a.md", "sync docs"}},
		"a folder is taken": {func(b *bench) job {
			b.write("dist/a", "1")
			b.write("dist/sub/b", "2")
			return job{Do: "take", Path: "dist/"}
		}, []string{"sync dist/a", "sync dist/sub/b", "sync dist/sub", "sync dist", "sync ."}},
		"a missing file is put back": {func(b *bench) job {
			want := b.made("docs/plan.md", recorded)
			b.must(os.RemoveAll(b.path("docs")))
			return job{Do: "restore", Want: want}
		}, []string{"mkdirat", "sync .", "sync temp", "linkat", "unlinkat", "sync docs", "sync ."}},
		"a cut file is put back": {func(b *bench) job {
			want := b.made("docs/plan.md", recorded)
			b.write("docs/plan.md", recorded[:9])
			return job{Do: "restore", Want: want}
		}, []string{"sync temp", "renameat2", "unlinkat", "sync docs", "sync ."}},
		"an edited file counts from here on": {func(b *bench) job {
			want := b.made("docs/plan.md", recorded)
			b.write("docs/plan.md", "mine")
			return job{Do: "check", Want: want}
		}, []string{"sync docs/plan.md", "sync docs", "sync ."}},
		"a look at what is intact": {func(b *bench) job {
			return job{Do: "check", Want: b.made("docs/plan.md", recorded)}
		}, nil},
		"an answer is there already": {func(b *bench) job {
			b.write("docs/a.md", "answer")
			return job{Do: "answer", Path: "docs/a.md"}
		}, []string{"sync docs/a.md", "sync docs", "sync ."}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if got := b.traced(c.do(b)); !slices.Equal(got, c.want) {
				t.Errorf("%q\nwant %q", got, c.want)
			}
		})
	}
}

// A folder that was synced, and in which nothing was named since, is not synced again: an artifact
// costs two fsyncs.
func TestFoldersAreSyncedOnce(t *testing.T) {
	b := newBench(t)
	b.write("docs/flow/a.md", "a")
	for _, dir := range []string{".", "docs", "docs/flow"} {
		b.must(os.Chtimes(b.path(dir), fault.Now().Add(-time.Hour), fault.Now().Add(-time.Hour)))
	}
	b.take(flow.Output{Path: "docs/flow/a.md"})
	if len(b.f.order) != 3 {
		t.Fatalf("%q", b.f.order)
	}
	b.write("docs/flow/b.md", "b")
	b.take(flow.Output{Path: "docs/flow/b.md"})
	if len(b.f.order) != 2 || b.f.order["docs/flow"] != "" {
		t.Errorf("a folder with a new name counts as synced: %q", b.f.order)
	}
}

// A disk that is full when an artifact is to come into its place leaves what was there, and nothing
// beside it.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=700,size=2m"); err != nil {
		t.Skipf("mount needs root: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	b := newBenchIn(t, dir)
	t.Cleanup(b.f.Close) // before the disk goes
	content := strings.Repeat("0123456789abcdef", 1<<16)
	want := b.made("out", content)
	b.must(os.Truncate(b.path("out"), 100))
	b.must(os.WriteFile(b.path("stuffing"), make([]byte, 1500<<10), 0o600))
	found := b.check(want)
	if err := b.restore(want, found); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("%v", err)
	}
	if err := b.f.Answer(t.Context(), "answer", []byte(content), nil); err == nil {
		t.Error("an answer fits on a full disk")
	}
	if b.content("out") != content[:100] || b.content("answer") != "-" {
		t.Error("a file is not what it was")
	}
	b.wantNothingElse(".", "out", "stuffing")
	b.must(os.Remove(b.path("stuffing")))
	b.must(b.restore(want, b.check(want)))
	if b.content("out") != content {
		t.Error("it is not put back once there is room")
	}
}
