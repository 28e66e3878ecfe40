package serve

import (
	"testing"

	"agent/recovery/journal"
)

// link is a version whose content is in the journal.
func link(to string) *journal.FileVersion {
	return &journal.FileVersion{Kind: journal.FileLink, Link: journal.LinkTarget(to)}
}

// looked is what a look found of a call.
func looked(n int64, turn int, changes ...journal.FileChange) journal.Event {
	return journal.Event{Turn: turn, Body: journal.FilesChanged{Look: n, During: &journal.Place{Turn: turn}, Changes: changes}}
}

// What a run changed is answered as agent diff --json prints it, of the turns and paths that are
// asked for.
func TestDiff(t *testing.T) {
	w := newWorld(t).serve()
	run := w.run("r-00000001", "p")
	w.add(run, turn(run, 1, "text", "printed")...)
	w.add(run, looked(1, 1, journal.NewFileChange("a", journal.ProofWhile, link("one"), link("two")), journal.NewFileChange("dir/b", journal.ProofWhile, nil, link("new"))))
	w.add(run, turn(run, 2, "text", "printed")...)
	w.add(run, looked(2, 2, journal.NewFileChange("a", journal.ProofWhile, link("two"), link("three"))))
	w.complete(run, 3)
	path := "/v1/runs/" + run + "/diff"
	d := described(t)
	for query, want := range map[string]struct {
		files int
		diff  string
	}{
		"":                     {2, "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n\\ No newline at end of file\n+three\n\\ No newline at end of file\n"},
		"?from=1":              {1, "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-two\n\\ No newline at end of file\n+three\n\\ No newline at end of file\n"},
		"?to=1&path=a":         {1, "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n\\ No newline at end of file\n+two\n\\ No newline at end of file\n"},
		"?path=dir&path=a":     {2, "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-one\n\\ No newline at end of file\n+three\n\\ No newline at end of file\n"},
		"?stat=true&all=false": {2, ""},
		"?from=0&to=0":         {0, ""},
	} {
		a := w.ask("GET", path+query, "")
		if err := d.validate("GET", "/v1/runs/{id}/diff", a); err != nil {
			t.Errorf("%s: %v", query, err)
		}
		files, _ := a.json(t, "files").([]any)
		if a.status != 200 || len(files) != want.files {
			t.Errorf("%s: %d %s", query, a.status, a.text)
			continue
		}
		if want.files > 0 && files[0].(map[string]any)["diff"] != want.diff {
			t.Errorf("%s: %q", query, files[0].(map[string]any)["diff"])
		}
	}
	for _, query := range []string{"?from=x", "?to=-1", "?from=2&to=1", "?all=1", "?x=1", "?from=1&from=2", "?path=%ff", "?from=9"} {
		w.refused(w.ask("GET", path+query, ""), 400, "parameter")
	}
	w.refused(w.ask("GET", "/v1/runs/r-0000000z/diff", ""), 404, "not_found")
}
