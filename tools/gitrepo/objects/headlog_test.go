package objects

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The place behind a commit is that of the last line that led there, and what follows it is what
// HeadLog reads from there.
func TestHeadLogBehind(t *testing.T) {
	r := Repository{Git: t.TempDir()}
	if place, err := r.HeadLogBehind("a"); err != nil || place != 0 {
		t.Errorf("without a log: %d, %v", place, err)
	}
	if err := os.Mkdir(filepath.Join(r.Git, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	lines := []string{"0 a P <p> 1 +0\tcommit (initial): a\n", "a b P <p> 2 +0\tcommit: b\n", "b a P <p> 3 +0\treset: moving to a\n", "a b P <p> 4 +0\treset: moving to b\n"}
	if err := os.WriteFile(filepath.Join(r.Git, "logs", "HEAD"), []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
	for commit, behind := range map[string]int{"a": 3, "b": 4, "c": 0} {
		want := int64(len(strings.Join(lines[:behind], "")))
		if place, err := r.HeadLogBehind(commit); err != nil || place != want {
			t.Errorf("behind %s: %d, %v, and it is %d", commit, place, err, want)
		}
	}
	place, err := r.HeadLogBehind("a")
	if err != nil {
		t.Fatal(err)
	}
	if verbs, _, err := r.HeadLog(place); err != nil || len(verbs) != 1 || verbs[0] != "reset" {
		t.Errorf("behind a: %v, %v", verbs, err)
	}
}
