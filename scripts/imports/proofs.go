package main

import (
	"fmt"
	"go/ast"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// proofsFile lists which test proves what was promised of flows and of checkpoints, scriptsDir
// holds the scripts among those tests.
const (
	proofsFile = "scripts/proofs.txt"
	scriptsDir = "host/command/testdata/script/"
)

// proofRow is one line of the list: a key, the ids that each test names, and the tests; none where
// the rest of the line is the reason why there is none.
type proofRow struct {
	line   int
	key    string
	ids    []string
	tests  []string
	reason string
}

// wantedProofs are the keys that the list must have: the findings of source document 000, what
// source document 002 promises or lacks, the promises of flows; and of checkpoints, what people
// lose elsewhere, the promises, what is required, and the findings of source document 003.
func wantedProofs() (keys []string) {
	for key, n := range map[string]int{
		"000/%d": 23, "CF-%02d": 34, "promise/%d": 28,
		"loss/%d": 13, "W%d": 10, "C%d": 9, "R%d": 11, "A%d": 3, "H%d": 3, "P%d": 5, "GIT-%02d": 17, "EN-%02d": 67,
	} {
		for i := range n {
			keys = append(keys, fmt.Sprintf(key, i+1))
		}
	}
	slices.Sort(keys)
	return keys
}

// checkProofs compares the list with the tests: every key has its line, and each test that is named
// there exists and names the id itself.
func checkProofs(tree fs.FS, sources []*source) (found []finding) {
	at := func(line int, format string, args ...any) {
		found = append(found, finding{path: proofsFile, line: line, text: fmt.Sprintf(format, args...)})
	}
	text, err := fs.ReadFile(tree, proofsFile)
	if err != nil {
		at(1, "read the list: %v", err)
		return found
	}
	tests, seen := testComments(sources), map[string]bool{}
	for _, row := range proofRows(string(text)) {
		if seen[row.key] {
			at(row.line, "%s stands here twice", row.key)
		}
		seen[row.key] = true
		if len(row.tests) == 0 && len(strings.Fields(row.reason)) < 5 {
			at(row.line, "%s names no test and no reason why there is none", row.key)
		}
		named := map[string]bool{}
		for _, name := range row.tests {
			comments := tests[name]
			if script, err := fs.ReadFile(tree, scriptsDir+name+".txt"); err == nil {
				comments = []string{scriptComments(string(script))}
			}
			if len(comments) != 1 {
				at(row.line, "%s: %d tests or scripts are called %s, and one is needed", row.key, len(comments), name)
				continue
			}
			ids := slices.DeleteFunc(slices.Clone(row.ids), func(id string) bool { return !namesID(comments[0], id) })
			if len(ids) == 0 {
				at(row.line, "%s: the comments of %s do not name %s", row.key, name, strings.Join(row.ids, " or "))
			}
			for _, id := range ids {
				named[id] = true
			}
		}
		for _, id := range row.ids {
			if len(row.tests) > 0 && !named[id] {
				at(row.line, "%s: no test here names %s", row.key, id)
			}
		}
	}
	for _, key := range wantedProofs() {
		if !seen[key] {
			at(1, "%s has no line", key)
		}
	}
	return found
}

// proofRows reads "KEY[=ID,ID] TEST... # what is promised"; a key without ids is its own.
func proofRows(text string) (rows []proofRow) {
	for i, line := range strings.Split(text, "\n") {
		names, reason, _ := strings.Cut(" "+line, " #") // Cline#5598 has one, too
		fields := strings.Fields(names)
		if len(fields) == 0 {
			continue
		}
		key, ids, given := strings.Cut(fields[0], "=")
		if !given {
			ids = key
		}
		row := proofRow{line: i + 1, key: key, ids: strings.Split(ids, ","), tests: fields[1:], reason: reason}
		rows = append(rows, row)
	}
	return rows
}

// testComments are the comments of each test, under its name and under its folder and name.
func testComments(sources []*source) map[string][]string {
	all := map[string][]string{}
	for _, s := range sources {
		if !s.test {
			continue
		}
		for _, decl := range s.syntax.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			text := f.Doc.Text()
			for _, group := range s.syntax.Comments {
				if group.Pos() > f.Pos() && group.End() < f.End() {
					text += " " + group.Text()
				}
			}
			for _, name := range []string{f.Name.Name, s.dir + "/" + f.Name.Name} {
				all[name] = append(all[name], strings.Join(strings.Fields(text), " "))
			}
		}
	}
	return all
}

// scriptComments are the comments of a script, above the first file in it.
func scriptComments(script string) string {
	script, _, _ = strings.Cut("\n"+script, "\n-- ")
	var words []string
	for _, line := range strings.Split(script, "\n") {
		if text, ok := strings.CutPrefix(line, "#"); ok {
			words = append(words, strings.Fields(text)...)
		}
	}
	return strings.Join(words, " ")
}

// namesID reports whether a comment names an id, alone or within a range such as "CF-03 to CF-08"
// or "promises 1 to 3, 5 and 13". The id Cline#5598 is an issue of another program: "Cline #5598".
func namesID(comment, id string) bool {
	if program, number, issue := strings.Cut(id, "#"); issue {
		return regexp.MustCompile(regexp.QuoteMeta(program+" #"+number) + `\b`).MatchString(comment)
	}
	prefix := strings.TrimRight(id, "0123456789")
	number, err := strconv.Atoi(id[len(prefix):])
	if err != nil {
		return false
	}
	one := regexp.QuoteMeta(prefix) + `(\d+)`
	lists := regexp.MustCompile(`\b(` + one + `)( to ` + one + `)?`)
	if prefix == "promise/" {
		lists = regexp.MustCompile(`(?i)\bpromises? \d+((, | and | to )\d+)*`)
	}
	numbers := regexp.MustCompile(`\d+( to \D*\d+)?`)
	for _, list := range lists.FindAllString(comment, -1) {
		for _, part := range numbers.FindAllString(list, -1) {
			first, last, ranged := strings.Cut(part, " to ")
			if !ranged {
				last = first
			}
			from, _ := strconv.Atoi(first)                                           // it is digits
			to, _ := strconv.Atoi(last[len(strings.TrimRight(last, "0123456789")):]) // likewise
			if from <= number && number <= to {
				return true
			}
		}
	}
	return false
}
