package main

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// proven are the findings in a tree with this list, completed by TestAll for each key that it
// lacks, and with two tests and a script.
func proven(t *testing.T, list string) (found []string) {
	t.Helper()
	var rest, all []string
	for _, key := range wantedProofs() {
		if !strings.Contains("\n"+list, "\n"+key+" ") && !strings.Contains("\n"+list, "\n"+key+"=") {
			rest = append(rest, key+" TestAll # what holds")
			all = append(all, strings.Replace(key, "promise/", "promise ", 1))
		}
	}
	tree := fstest.MapFS{
		proofsFile: {Data: []byte(list + "\n" + strings.Join(rest, "\n") + "\n")},
		"db/a_test.go": {Data: []byte("package db\n\n// " + strings.Join(all, " ") + "\nfunc TestAll(t *testing.T) {}\n\n" +
			"// What holds: CF-03 to\n// CF-05, and promises 1 to 3, 5\n// and 13 of flows. W2 to W4 (Cline #5598).\nfunc TestA(t *testing.T) {\n\t// CF-07\n}\n\nfunc TestTwice(t *testing.T) {} // CF-08\n")},
		"host/b_test.go":          {Data: []byte("package host\n\n// CF-08\nfunc TestTwice(t *testing.T) {}\n")},
		scriptsDir + "flow_a.txt": {Data: []byte("# Something (CF-09,\n# EX-32, EN-12).\nexec agent\n-- flow.md --\n# CF-10\n")},
	}
	sources, err := load(tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range checkProofs(tree, sources) {
		found = append(found, f.String())
	}
	return found
}

func TestProofsThatAreThere(t *testing.T) {
	for _, list := range []string{"", "CF-03 TestA", "CF-04 TestA", "CF-05 db/TestA", "CF-07 TestA # within", "CF-09 flow_a", "000/1=EX-32 flow_a",
		"000/1=EX-32,CF-03 flow_a TestA", "promise/2 TestA", "promise/5 TestA", "promise/13 TestA", "CF-08 host/TestTwice",
		"loss/9=Cline#5598 TestA", "W3 TestA", "EN-12 flow_a",
		"CF-16 # does not apply, for nothing of the kind exists"} {
		if found := proven(t, list); len(found) > 0 {
			t.Errorf("%q: %v", list, found)
		}
	}
}

func TestProofsThatLack(t *testing.T) {
	for list, want := range map[string]string{
		"CF-03 TestNowhere":        "0 tests or scripts are called TestNowhere",
		"CF-03 flow_nowhere":       "0 tests or scripts are called flow_nowhere",
		"CF-08 TestTwice":          "2 tests or scripts are called TestTwice",
		"CF-06 TestA":              "the comments of TestA do not name CF-06",
		"CF-10 flow_a":             "the comments of flow_a do not name CF-10",
		"promise/4 TestA":          "the comments of TestA do not name promise/4",
		"loss/9=Cline#559 TestA":   "the comments of TestA do not name Cline#559",
		"W1 TestA":                 "the comments of TestA do not name W1",
		"000/1=EX-3 flow_a":        "the comments of flow_a do not name EX-3",
		"000/1=EX-32,EX-33 flow_a": "no test here names EX-33",
		"CF-03 ":                   "CF-03 names no test and no reason",
		"CF-03 # not here":         "CF-03 names no test and no reason",
		"CF-03 TestA\nCF-03 TestA": "CF-03 stands here twice",
	} {
		if found := fmt.Sprint(proven(t, list)); !strings.Contains(found, want) || !strings.Contains(found, proofsFile+":") {
			t.Errorf("%q: %s, want %q", list, found, want)
		}
	}
}

func TestProofsAreComplete(t *testing.T) {
	tree := fstest.MapFS{proofsFile: {Data: []byte("CF-01 # no test of this exists here, on purpose\n")}}
	found := checkProofs(tree, nil)
	if len(found) != 222 || found[0].text != "000/1 has no line" {
		t.Errorf("%d findings: %v", len(found), found)
	}
	if found := checkProofs(fstest.MapFS{}, nil); len(found) != 1 || !strings.Contains(found[0].text, "read the list") {
		t.Errorf("without the list: %v", found)
	}
}
