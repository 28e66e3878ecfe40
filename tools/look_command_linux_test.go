package tools

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/recovery"
)

// What is one simple command that can be looked at, and what is not.
func TestDeed(t *testing.T) {
	for script, want := range map[string]string{
		"mkdir a":                             "mkdir [a]",
		"  mkdir 'a b' \"c\"\n":               "mkdir [a b c]",
		"mkdir -p -m 700 a/b":                 "mkdir [a/b]",
		"mkdir --parents a -- -b":             "mkdir [a -b]",
		"/bin/rm -rf a":                       "rm [a]",
		"mv -T a b":                           "mv [a b]",
		"touch a b":                           "touch [a b]",
		"git commit -m 'one' -m two":          "git commit []",
		"git commit -qm x":                    "",
		"git commit -m x -a":                  "",
		"git commit --amend -m x":             "",
		"git commit -m x file":                "",
		"git commit -m ''":                    "",
		"git -C sub commit -m x":              "",
		"git -c core.hooksPath=x commit -m x": "",
		"git add a":                           "",
		"mkdir a; mkdir b":                    "",
		"mkdir a && mkdir b":                  "",
		"mkdir a | cat":                       "",
		"mkdir a &":                           "",
		"! mkdir a":                           "",
		"mkdir a > log":                       "",
		"X=1 mkdir a":                         "",
		"mkdir $HOME/a":                       "",
		"mkdir $(date)":                       "",
		"mkdir `date`":                        "",
		"mkdir \"$x\"":                        "",
		"mkdir a*":                            "",
		"mkdir {a,b}":                         "",
		"mkdir ~/a":                           "",
		"mkdir a\\ b":                         "",
		"mkdir \"a\\\"b\"":                    "",
		"mkdir -v a":                          "",
		"mkdir a a/":                          "",
		"mkdir a a/b":                         "",
		"rm -r a a/b":                         "",
		"rm a/":                               "",
		"rm -r .":                             "",
		"rm -r ../..":                         "",
		"rm -i a":                             "",
		"mv a b c":                            "",
		"mv a/ b":                             "",
		"touch -d yesterday a":                "",
		"touch":                               "",
		"(mkdir a)":                           "",
		"{ mkdir a; }":                        "",
		"if true; then mkdir a; fi":           "",
		"mkdir() { :; }":                      "",
		"mkdir a <<x\nb\nx":                   "",
		"/home/mkdir a":                       "",
		"env mkdir a":                         "",
		"sudo mkdir a":                        "",
		"mkdir a # b":                         "mkdir [a]",
		"mkdir a\n\n# b\n":                    "mkdir [a]",
		"mkdir a\nmkdir b":                    "",
		"mkdir $'a'":                          "",
		"mkdir a\x00b":                        "",
	} {
		d, ok := deedOf(script, "bash")
		if got := fmt.Sprintf("%s %v", d.verb, d.operands); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %v %s", script, ok, got)
		}
	}
}

// witness is what a test reads off the world by itself: names, kinds, sizes, inodes.
func (b *bench) witness() string {
	b.t.Helper()
	out, err := exec.Command("find", b.dir, "-name", ".git", "-prune", "-o", "-printf", "%P %y %s %i %m\n").Output()
	if err != nil {
		b.t.Fatal(err)
	}
	return string(out)
}

// A command whose runner SIGKILL ends: before it began to act it did not happen, after its end it did, and in between what is
// said is what the world shows. Never is anything said that is not so.
func TestLookAfterKill(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	for script, done := range map[string]func(b *bench) bool{
		"mkdir new":                func(b *bench) bool { return b.there("new") },
		"mkdir -p p/q/r":           func(b *bench) bool { return b.there("p/q/r") },
		"mkdir -m 700 new two":     func(b *bench) bool { return b.there("new") && b.there("two") },
		"rm file":                  func(b *bench) bool { return !b.there("file") },
		"rm -rf dir other":         func(b *bench) bool { return !b.there("dir") && !b.there("other") },
		"mv file dir":              func(b *bench) bool { return b.there("dir/file") },
		"mv file other":            func(b *bench) bool { return !b.there("file") },
		"mv -T dir dir2":           func(b *bench) bool { return b.there("dir2/in") },
		"touch fresh":              func(b *bench) bool { return b.there("fresh") },
		"touch file":               func(b *bench) bool { return time.Since(stat(b.t, b.path("file")).ModTime()) < time.Hour },
		"git commit -m 'Say  it '": func(b *bench) bool { return strings.Contains(b.git("log", "--format=%s"), "Say  it") },
	} {
		t.Run(script, func(t *testing.T) {
			if script != "mkdir -p p/q/r" && script != "mv file other" && !strings.HasPrefix(script, "git") {
				onlyWhole(t)
			}
			for point, want := range map[string]recovery.InspectionAnswer{
				"runner.after_began":   recovery.InspectionNotHappened,
				"runner.after_command": recovery.InspectionHappened,
				"runner.after_start":   "",
			} {
				b := newBench(t)
				b.write("file", "x")
				b.write("other", "y")
				b.write("dir/in", "z")
				old := time.Now().Add(-48 * time.Hour)
				if err := os.Chtimes(b.path("file"), old, old); err != nil {
					t.Fatal(err)
				}
				if strings.HasPrefix(script, "git") {
					b.git("init", "-q", "-b", "main")
					b.git("config", "user.email", "a@b")
					b.git("config", "user.name", "a")
					b.git("add", "file")
					b.git("commit", "-q", "-m", "first")
					b.git("add", ".")
				}
				before := b.witness()
				c := b.call("shell", args{"command": script})
				c.Run = fmt.Sprintf("r-look-%d", os.Getpid()) // what is left of it is ended by its name, which no other test's command has
				c, err := b.prepare("shell", c)
				if err != nil {
					t.Fatal(err)
				}
				die := filepath.Join(filepath.Dir(b.shell().callFolder(c)), "die-at")
				if err := os.WriteFile(die, []byte(point), 0o600); err != nil {
					t.Fatal(err)
				}
				r, err := b.tool("shell").(Caller).Call(b.context(), c)
				i := b.tool("shell").(Inspector).Inspect(b.context(), c)
				if want != "" && i.Answer != want {
					t.Errorf("%s, %s: %+v", script, point, i)
					continue
				}
				switch happened := done(b); i.Answer {
				case recovery.InspectionHappened:
					if !happened || r.Applied != recovery.AppliedYes || r.How != recovery.HowVerified || err != nil {
						t.Errorf("%s, %s: said to have happened: %v, %+v, %+v", script, point, err, r, i)
					}
				case recovery.InspectionNotHappened:
					if happened || b.witness() != before || r.Applied != recovery.AppliedNo || err == nil {
						t.Errorf("%s, %s: said not to have happened: %v, %+v, %+v", script, point, err, r, i)
					}
				}
			}
		})
	}
}

func (b *bench) there(rel string) bool {
	_, err := os.Lstat(b.path(rel))
	return err == nil
}

func (b *bench) git(words ...string) string {
	b.t.Helper()
	cmd := exec.Command("git", words...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "HOME=/nowhere")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.t.Fatalf("git %v: %v %s", words, err, out)
	}
	return string(out)
}

// tick waits until the file system's clock shows another time, and returns it.
func (b *bench) tick() int64 {
	b.t.Helper()
	name := filepath.Join(b.state, "tick")
	mark := func() int64 {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			b.t.Fatal(err)
		}
		now := time.Now()
		if err := os.Chtimes(name, now, now); err != nil {
			b.t.Fatal(err)
		}
		return idOf(stat(b.t, name)).Ctime
	}
	for first := mark(); ; {
		if now := mark(); now > first {
			return now
		}
	}
}

// In random worlds with random commands that ran, did not run, or ran in part, and with somebody else at work before and after:
// what a look says is what was so. It says so often enough to be of use.
func TestLookIsNeverWrong(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	names := []string{"a", "b", "c", "d/a", "d/b", "e", "d"}
	pick := func() string { return names[r.IntN(len(names))] }
	some := func() string {
		list := pick()
		for range r.IntN(3) {
			list += " " + pick()
		}
		return list
	}
	said := map[recovery.InspectionAnswer]int{}
	rounds := 1500
	if !whole() {
		rounds = 300
	}
	b := newBench(t)
	for range rounds {
		b.remove(".")
		if err := os.Mkdir(b.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for range r.IntN(6) {
			b.meddle(r, pick())
		}
		script := []string{"mkdir ", "mkdir -p ", "rm ", "rm -f ", "rm -r ", "touch "}[r.IntN(6)] + some()
		if r.IntN(3) == 0 {
			script = []string{"mv ", "mv -T ", "mv -n "}[r.IntN(3)] + pick() + " " + pick()
		}
		d, ok := deedOf(script, "")
		if !ok {
			continue
		}
		w, err := openWorkspace(b.dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		sc, ok := w.set(d)
		if !ok {
			w.close()
			continue
		}
		meddled := r.IntN(4) == 0
		if meddled {
			b.meddle(r, pick())
		}
		from := b.tick()
		ran, whole := r.IntN(2) == 0, true
		if ran && len(d.operands) > 1 && d.verb != "mv" && r.IntN(2) == 0 {
			// Killed on the way: only the first operands were done.
			words := strings.Fields(script)
			script, whole = strings.Join(words[:len(words)-1], " "), false
		}
		success := false
		before := b.witness()
		if ran {
			cmd := exec.Command("/bin/sh", "-e", "-c", script)
			cmd.Dir = b.dir
			success = cmd.Run() == nil && whole
		}
		changed := b.witness() != before || strings.HasPrefix(script, "touch") && ran
		to := b.tick()
		if r.IntN(3) == 0 {
			b.tick()
			b.meddle(r, pick())
			meddled = true
		}
		f, why := w.look(sc, window{from, to})
		w.close()
		switch f {
		case foundNew:
			said[recovery.InspectionHappened]++
			if !ran || !success {
				t.Fatalf("%q (ran %v, success %v, meddled %v) is said to have happened: %s\n%s", script, ran, success, meddled, why, b.witness())
			}
		case foundOld:
			said[recovery.InspectionNotHappened]++
			if ran && changed {
				t.Fatalf("%q (ran %v, success %v, meddled %v) is said not to have happened: %s\n%s", script, ran, success, meddled, why, b.witness())
			}
		default:
			said[recovery.InspectionUnclear]++
		}
	}
	t.Logf("%v", said)
	if said[recovery.InspectionHappened] < rounds/30 || said[recovery.InspectionNotHappened] < rounds/30 {
		t.Errorf("too little is said: %v", said)
	}
}

// meddle is somebody else at work on a path.
func (b *bench) meddle(r *rand.Rand, rel string) {
	path := b.path(rel)
	// Whether it works does not matter: it is one of many things that somebody may try.
	switch r.IntN(6) {
	case 0:
		_ = os.Mkdir(path, 0o777)
	case 1:
		_ = os.RemoveAll(path)
	case 2:
		_ = os.Rename(path, b.path("c"))
	case 3:
		_ = os.WriteFile(path, []byte("x"), 0o666)
	case 4:
		_ = os.MkdirAll(filepath.Dir(path), 0o777)
		_ = os.WriteFile(path, nil, 0o666)
	case 5:
		now := time.Now()
		_ = os.Chtimes(path, now, now)
	}
}
