package artifact

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"agent/recovery/fault"
	"agent/recovery/journal"
	"agent/tools/files"
)

// What is gone, empty or cut is put back, with its mode; nothing is left beside it, and it has one
// name.
func TestRestore(t *testing.T) {
	for name, d := range damages() {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("docs/plan.md", recorded)
			b.must(os.Chmod(b.path("docs/plan.md"), 0o750))
			want := b.made("docs/plan.md", recorded)
			d.do(b)
			found := b.check(want)
			_, err := os.Lstat(b.path("docs/plan.md"))
			there := err == nil
			done, err := b.f.Restore(t.Context(), want, found, b.copies)
			if d.inv != "" {
				if !errors.As(err, new(*RefusedError)) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil || b.content("docs/plan.md") != recorded || done.SHA != want.SHA || (done.Replaced == "") == there {
				t.Fatalf("%q %+v %v", b.content("docs/plan.md"), done, err)
			}
			info, err := os.Stat(b.path("docs/plan.md"))
			b.must(err)
			if info.Mode().Perm() != 0o750 && name != "saved as it was" || files.IDOf(info).Links > 1 {
				t.Errorf("mode %v, %d names", info.Mode(), files.IDOf(info).Links)
			}
			b.wantNothingElse("docs", "plan.md")
			if found := b.check(want); found.State != journal.ArtifactIntact {
				t.Errorf("%+v", found.ArtifactCheck)
			}
		})
	}
}

// What a person writes between the look and the restore is never replaced.
// Promise 5 of flows.
func TestRestoreAfterAnEdit(t *testing.T) {
	for name, damage := range map[string]func(b *bench){
		"missing": func(b *bench) { b.must(os.RemoveAll(b.path("docs"))) },
		"empty":   func(b *bench) { b.write("docs/plan.md", "") },
		"cut":     func(b *bench) { b.write("docs/plan.md", recorded[:9]) },
	} {
		for how, edit := range map[string]func(b *bench){
			"written": func(b *bench) { b.write("docs/plan.md", "mine") },
			"saved": func(b *bench) {
				b.must(os.MkdirAll(b.path("docs"), 0o755))
				b.save("docs/plan.md", "mine")
			},
			"linked": func(b *bench) {
				b.must(os.RemoveAll(b.path("docs")))
				b.write("docs/mine", "mine")
				b.must(os.Symlink("mine", b.path("docs/plan.md")))
			},
			"removed": func(b *bench) { b.must(os.RemoveAll(b.path("docs"))) },
		} {
			t.Run(name+" and "+how, func(t *testing.T) {
				b := newBench(t)
				want := b.made("docs/plan.md", recorded)
				damage(b)
				found := b.check(want)
				edit(b)
				before := b.content("docs/plan.md")
				err := b.restore(want, found)
				if name == "missing" && how == "removed" {
					if err != nil || b.content("docs/plan.md") != recorded {
						t.Errorf("%v", err)
					}
					return
				}
				if !errors.As(err, new(*ChangedError)) && !errors.As(err, new(*RefusedError)) || b.content("docs/plan.md") != before {
					t.Errorf("%q %v", b.content("docs/plan.md"), err)
				}
				if before != "-" && strings.Contains(b.names("docs"), "agent-tmp") {
					t.Errorf("left: %s", b.names("docs"))
				}
			})
		}
	}
}

// A person who saves while an artifact is put back keeps what was saved last, whichever moment it
// was: also the one right before the file comes into its place, and the one right after. The last
// is where two files cannot be exchanged.
func TestRestoreRacesWithASave(t *testing.T) {
	for name, damage := range map[string]func(b *bench){
		"missing": func(b *bench) { b.must(os.Remove(b.path("plan.md"))) },
		"cut":     func(b *bench) { b.write("plan.md", recorded[:9]) },
	} {
		for how, edit := range map[string]func(b *bench, text string){
			"written": func(b *bench, text string) { b.write("plan.md", text) },
			"saved":   func(b *bench, text string) { b.save("plan.md", text) },
		} {
			for i, at := range []fault.Point{fault.ArtifactTemp, fault.ArtifactLinked, fault.ArtifactTemp} {
				t.Run(fmt.Sprint(name, " and ", how, " at ", at, i), func(t *testing.T) {
					b := newBench(t)
					if i == 2 {
						b.f.exchange = func(*os.Root, string, string) error { return errors.ErrUnsupported }
					}
					want := b.made("plan.md", recorded)
					damage(b)
					found := b.check(want)
					b.f.hit = func(p fault.Point) {
						if p == at {
							edit(b, "mine")
						}
					}
					err := b.restore(want, found)
					if b.content("plan.md") != "mine" || at == fault.ArtifactTemp && !errors.As(err, new(*ChangedError)) {
						t.Errorf("%q %v", b.content("plan.md"), err)
					}
					b.wantNothingElse(".", "plan.md")
				})
			}
		}
	}
}

// The last moment before two files are exchanged is too late for a look: what was taken out is
// given back.
func TestSavedAtTheLastMoment(t *testing.T) {
	for how, edit := range map[string]func(b *bench){
		"written": func(b *bench) { b.write("plan.md", "mine") },
		"saved":   func(b *bench) { b.save("plan.md", "mine") },
		"removed": func(b *bench) { b.must(os.Remove(b.path("plan.md"))) },
	} {
		b := newBench(t)
		want := b.made("plan.md", recorded)
		b.write("plan.md", recorded[:9])
		found, before := b.check(want), "mine"
		done := false
		b.f.exchange = func(dir *os.Root, one, other string) error {
			if !done {
				done = true
				edit(b)
				before = b.content("plan.md")
			}
			return exchange(dir, one, other)
		}
		if err := b.restore(want, found); !errors.As(err, new(*ChangedError)) || b.content("plan.md") != before {
			t.Errorf("%s: %q %v", how, b.content("plan.md"), err)
		}
		if before != "-" {
			b.wantNothingElse(".", "plan.md")
		}
	}
}

// The same by chance: a save at any moment is there afterwards.
func TestRestoreRacesByChance(t *testing.T) {
	b := newBench(t)
	want := b.made("plan.md", recorded)
	kept, put := 0, 0
	for i := range 150 {
		if i%2 == 0 {
			b.must(os.Remove(b.path("plan.md")))
		} else {
			b.write("plan.md", "")
		}
		found := b.check(want)
		saved := make(chan error)
		go func() {
			err := os.WriteFile(b.path("saving"), []byte("mine"), 0o644)
			if err == nil {
				err = os.Rename(b.path("saving"), b.path("plan.md"))
			}
			saved <- err
		}()
		err := b.restore(want, found)
		b.must(<-saved)
		if err != nil && !errors.As(err, new(*ChangedError)) {
			t.Fatal(err)
		}
		if b.content("plan.md") != "mine" {
			t.Fatalf("round %d: a save was lost (%v): %q", i, err, b.content("plan.md"))
		}
		if err == nil {
			put++
		} else {
			kept++
		}
		b.wantNothingElse(".", "plan.md")
	}
	t.Logf("put back before the save %d times, and given way %d times", put, kept)
}

// Where somebody saved in the very moment before ours came into its place, it is given back; where
// they saved again meanwhile, that is what counts.
func TestGiveBack(t *testing.T) {
	for _, again := range []string{"", "saved", "written"} {
		b := newBench(t)
		b.write("plan.md", "theirs")
		b.write(".temp", "ours")
		target, err := b.f.find("plan.md")
		b.must(err)
		ours, err := target.Dir.Lstat(".temp")
		b.must(err)
		if err := exchange(target.Dir, ".temp", "plan.md"); errors.Is(err, errors.ErrUnsupported) {
			t.Skip("two files cannot be exchanged here")
		} else {
			b.must(err)
		}
		want := "theirs"
		switch again {
		case "saved":
			b.save("plan.md", "theirs again")
		case "written":
			b.write("plan.md", "theirs again")
		}
		if again != "" {
			want = "theirs again"
		}
		b.must(b.f.giveBack(target, ".temp", ours))
		target.Close()
		if b.content("plan.md") != want {
			t.Errorf("%s: %q", again, b.content("plan.md"))
		}
	}
}

// An answer comes over nothing, over what was there when the phase began, over its own earlier
// version and over itself. Over anything else a person decides.
func TestAnswer(t *testing.T) {
	const before, mine, theirs = "before", "mine, earlier", "theirs"
	sha := func(text string) string { return digest([]byte(text)) }
	for name, c := range map[string]struct {
		there string
		mine  []string
		ok    bool
	}{
		"nothing":                           {"-", nil, true},
		"nothing any more":                  {"-", []string{sha(before)}, true},
		"what was there":                    {before, []string{sha(before)}, true},
		"its own":                           {mine, []string{sha(before), sha(mine)}, true},
		"itself":                            {"answer", nil, true},
		"a person's":                        {theirs, []string{sha(before), sha(mine)}, false},
		"a person's, where there was none":  {theirs, []string{""}, false},
		"nothing in it, by a person":        {"", []string{sha(before)}, false},
		"nothing in it, as when it started": {"", []string{sha("")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if c.there != "-" {
				b.write("docs/answer.md", c.there)
			}
			err := b.f.Answer(t.Context(), "docs/answer.md", []byte("answer"), c.mine)
			want := "answer"
			if !c.ok {
				want = c.there
			}
			foreign := (*ForeignError)(nil)
			if (err == nil) != c.ok || !c.ok && (!errors.As(err, &foreign) || foreign.Now.SHA != sha(c.there)) || b.content("docs/answer.md") != want {
				t.Errorf("%q %v", b.content("docs/answer.md"), err)
			}
			b.wantNothingElse("docs", "answer.md")
		})
	}
	b := newBench(t)
	b.write("real", "x")
	b.must(os.Symlink("real", b.path("link")))
	for _, path := range []string{"link", "link/x", ".git/x", "dir/", "../x"} {
		if err := b.f.Answer(t.Context(), path, []byte("answer"), nil); !errors.As(err, new(*RefusedError)) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if b.content("real") != "x" {
		t.Error("a link was followed")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stopped")
	b.f.hit = func(fault.Point) { cancel(stop) }
	if err := b.f.Answer(ctx, "late", []byte("answer"), nil); !errors.Is(err, stop) || b.content("late") != "-" {
		t.Errorf("%q %v", b.content("late"), err)
	}
	b.wantNothingElse(".", "link", "real")
}

// Where the file system has no hard links, a file is made where none is, and only there.
func TestMakeNew(t *testing.T) {
	b := newBench(t)
	b.write("there", "x")
	for name, want := range map[string]bool{"new": true, "there": false} {
		target, err := b.f.find(name)
		b.must(err)
		err = makeNew(target, 0o640, []byte("made"))
		target.Close()
		if want != (err == nil) || !want && !errors.Is(err, os.ErrExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	info, err := os.Stat(b.path("new"))
	b.must(err)
	if b.content("new") != "made" || b.content("there") != "x" || info.Mode().Perm() != 0o640 {
		t.Errorf("%q %q %v", b.content("new"), b.content("there"), info.Mode())
	}
}
