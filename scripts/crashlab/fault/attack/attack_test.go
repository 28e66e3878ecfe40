//go:build linux

package attack

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agent/scripts/crashlab/judge"
)

// Every script of the folder scripts can be run by hand as it is: it is executable, bash can read
// it, it stops at the first error, and its first lines say which promise it attacks.
func TestAttackScripts(t *testing.T) {
	all, err := list()
	if err != nil || len(all) == 0 {
		t.Fatalf("%d scripts: %v", len(all), err)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here:", err)
	}
	for _, a := range all {
		path := filepath.Join("scripts", a.name+".sh")
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode()&0o111 == 0 {
			t.Errorf("%s is not executable: chmod +x", path)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(string(text), "\n")
		if lines[0] != "#!/usr/bin/env bash" || len(lines) < 3 || len(lines[1]) < 20 || !strings.HasPrefix(lines[1], "# ") {
			t.Errorf("%s begins with %q: the first line names bash, the next ones say what is attacked and how", path, lines[:2])
		}
		for _, want := range []string{"\nset -euo pipefail\n", "CONTROL", "ATTACK_LIB"} {
			if want == "CONTROL" && strings.Contains(string(text), "control") {
				continue // by the function of lib.bash
			}
			if !strings.Contains(string(text), want) {
				t.Errorf("%s lacks %s", path, strings.TrimSpace(want))
			}
		}
	}
	scripts, err := filepath.Glob("scripts/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range scripts {
		if out, err := exec.Command(bash, "-n", path).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", path, err, out)
		}
	}
}

// A script whose promise holds ends with 0, one that found something by 1 and a line; its control
// must find something. Everything else is an error, and so is a control that finds nothing.
func TestJudgeAttack(t *testing.T) {
	for _, c := range []struct {
		code    int
		text    string
		control bool
		want    string
	}{
		{0, "", false, ""},
		{1, "x\nBROKEN: twice\n", false, judge.Attacked},
		{1, "a command failed\n", false, judge.Unlisted},
		{2, "ERROR: x\n", false, judge.Unlisted},
		{-1, "", false, judge.Unlisted},
		{1, "BROKEN: twice\n", true, ""},
		{1, "a command failed\n", true, judge.Unlisted},
		{0, "", true, judge.Unlisted},
		{2, "BROKEN: twice\n", true, judge.Unlisted},
	} {
		got := ""
		for _, f := range judgeScript(c.code, c.text, c.control) {
			got += f.Kind
		}
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
