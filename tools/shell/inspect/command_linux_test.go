//go:build !portable

// What a file of a lost command tells stands on the time at which it was made, which POSIX has not.

package inspect

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
	"agent/tools/files"
	"agent/tools/toolstest"
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
		"git commit -qm x":                    "git commit []",
		"git commit -qmx":                     "git commit []",
		"git commit -m x -a":                  "git commit []",
		"git commit -qam x --quiet":           "git commit []",
		"git commit -aqm x -- file":           "",
		"git commit -qm":                      "",
		"git commit -qvm x":                   "",
		"git commit -sm x":                    "",
		"git commit -qF x":                    "",
		"git commit -q - -m x":                "",
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
		"mkdir a # b":                         "",
		"mkdir a\n\n# b\n":                    "",
		"mkdir a\nmkdir b":                    "",
		"mkdir $'a'":                          "",
		"mkdir a\x00b":                        "",
	} {
		d, ok := parse(script, "bash")
		if got := fmt.Sprintf("%s %v", d.verb, d.operands); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %v %s", script, ok, got)
		}
	}
}

// tick waits until the file system's clock shows another time, and returns it.
func (b *bench) tick() int64 {
	b.T.Helper()
	name := filepath.Join(b.State, "tick")
	mark := func() int64 {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			b.T.Fatal(err)
		}
		now := time.Now()
		if err := os.Chtimes(name, now, now); err != nil {
			b.T.Fatal(err)
		}
		return files.IDOf(toolstest.Stat(b.T, name)).Ctime
	}
	for first := mark(); ; {
		if now := mark(); now > first {
			return now
		}
	}
}

// In random worlds with random commands that ran, did not run, or ran in part, and with somebody
// else at work before and after: what a look says is what was so. It says so often enough to be of
// use.
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
	if !toolstest.Whole() {
		rounds = 300
	}
	b := newBench(t)
	for range rounds {
		b.Remove(".")
		if err := os.Mkdir(b.Dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for range r.IntN(6) {
			b.meddle(r, pick())
		}
		script := []string{"mkdir ", "mkdir -p ", "rm ", "rm -f ", "rm -r ", "touch "}[r.IntN(6)] + some()
		if r.IntN(3) == 0 {
			script = []string{"mv ", "mv -T ", "mv -n "}[r.IntN(3)] + pick() + " " + pick()
		}
		d, ok := parse(script, "")
		if !ok {
			continue
		}
		w, err := files.OpenWorkspace(b.Dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		sc, ok := record(w, d)
		if !ok {
			w.Close()
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
		before := b.Witness()
		if ran {
			cmd := exec.Command("/bin/sh", "-e", "-c", script)
			cmd.Dir = b.Dir
			success = cmd.Run() == nil && whole
		}
		changed := b.Witness() != before || strings.HasPrefix(script, "touch") && ran
		to := b.tick()
		if r.IntN(3) == 0 {
			b.tick()
			b.meddle(r, pick())
			meddled = true
		}
		f, why := inspect(w, sc, window{from, to})
		w.Close()
		switch f {
		case foundNew:
			said[recovery.InspectionHappened]++
			if !ran || !success {
				t.Fatalf("%q (ran %v, success %v, meddled %v) is said to have happened: %s\n%s", script, ran, success, meddled, why, b.Witness())
			}
		case foundOld:
			said[recovery.InspectionNotHappened]++
			if ran && changed {
				t.Fatalf("%q (ran %v, success %v, meddled %v) is said not to have happened: %s\n%s", script, ran, success, meddled, why, b.Witness())
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
	path := b.Path(rel)
	// Whether it works does not matter: it is one of many things that somebody may try.
	switch r.IntN(6) {
	case 0:
		_ = os.Mkdir(path, 0o777)
	case 1:
		_ = os.RemoveAll(path)
	case 2:
		_ = os.Rename(path, b.Path("c"))
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
