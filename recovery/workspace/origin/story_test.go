package origin

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The owners of the stories.
const (
	runA = iota
	runB
)

func says(lines ...string) Content {
	return Content{Bytes: []byte(strings.Join(lines, "\n") + "\n")}
}

func by(owner int, lines ...string) Version { return Version{Content: says(lines...), Owner: owner} }

func person(lines ...string) Version { return by(Nobody, lines...) }

func back(lines ...string) Version {
	return Version{Content: says(lines...), Owner: Nobody, Back: true}
}

func gone(owner int) Version { return Version{Content: Content{State: Absent}, Owner: owner} }

// A2: each line is of the version that brought it.
func TestLines(t *testing.T) {
	none := Unknown
	for name, c := range map[string]struct {
		versions []Version
		of       Content
		want     []int
	}{
		"each version brings what it adds":      {[]Version{person("a", "c"), by(runA, "a", "b", "c"), by(runB, "a", "b", "c", "d")}, says("a", "b", "c", "d"), []int{0, 1, 0, 2}},
		"nothing was there before":              {[]Version{gone(Nobody), by(runA, "a")}, says("a"), []int{1}},
		"a line that no version has":            {[]Version{person("a"), by(runA, "a", "b")}, says("a", "b", "x"), []int{0, 1, none}},
		"a part that was staged":                {[]Version{person("a", "m", "z"), by(runA, "a", "one", "m", "two", "z")}, says("a", "m", "two", "z"), []int{0, 0, 1, 0}},
		"staged, and gone from disk since":      {[]Version{person("a"), by(runA, "a", "b"), person("a")}, says("a", "b"), []int{0, 1}},
		"staged in part, and gone since":        {[]Version{person("a"), by(runA, "a", "b", "c"), person("a")}, says("a", "c"), []int{0, 1}},
		"reverted and written anew by another":  {[]Version{person("a"), by(runA, "a", "b"), person("a"), person("a", "b")}, says("a", "b"), []int{0, 3}},
		"reverted, written anew by another run": {[]Version{person("a"), by(runA, "a", "b"), person("a"), by(runB, "a", "b")}, says("a", "b"), []int{0, 3}},
		"a file removed and written anew":       {[]Version{person("a"), gone(runA), person("a")}, says("a"), []int{2}},
		"stash and pop by a person":             {[]Version{person("a"), by(runA, "a", "b"), person("a"), back("a", "b")}, says("a", "b"), []int{0, 1}},
		"stash, an edit and pop":                {[]Version{person("a", "z"), by(runA, "a", "b", "z"), person("a", "z"), person("a", "z", "y"), back("a", "b", "z", "y")}, says("a", "b", "z", "y"), []int{0, 1, 0, 3}},
		"a rewind gives back the person's line": {[]Version{person("a", "b"), by(runA, "a"), {Content: says("a", "b"), Owner: runB, Back: true}}, says("a", "b"), []int{0, 0}},
		"stash and pop within a run":            {[]Version{person("a"), person("a", "mine", "}"), by(runA, "a"), by(runA, "a", "mine", "}")}, says("a", "mine", "}"), []int{0, 1, 1}},
		"a run removes a file and puts it back": {[]Version{person("a", "b"), gone(runA), by(runA, "a", "b")}, says("a", "b"), []int{0, 0}},
		"a block moves":                         {[]Version{person("a1", "a2", "a3"), by(runA, "f() {", "x", "}", "a1", "a2", "a3"), person("a1", "a2", "a3", "f() {", "x", "}")}, says("a1", "a2", "a3", "f() {", "x", "}"), []int{0, 0, 0, 1, 1, 1}},
		"a brace moves alone":                   {[]Version{by(runA, "}", "x", "y"), person("x", "y", "}")}, says("x", "y", "}"), []int{0, 0, 1}},
		"indented anew":                         {[]Version{person("a", "b"), by(runA, "a", "\tb")}, says("a", "\tb"), []int{0, 1}},
		"a brace stays between changed lines":   {[]Version{person("}", "1", "}", "2", "}", "3"), by(runA, "}", "one", "}", "two", "}", "3")}, says("}", "one", "}", "two", "}", "3"), []int{0, 1, 0, 1, 0, 0}},
		"a brace that is there twice stays":     {[]Version{person("1", "{", "2", "keep", "3", "{", "4"), by(runA, "one", "{", "two", "keep", "three", "{", "four")}, says("one", "{", "two", "keep", "three", "{", "four"), []int{1, 0, 1, 0, 1, 0, 1}},
		"a brace that an old version has":       {[]Version{person("a", "z"), by(runA, "a", "}", "z"), person("a", "z")}, says("a", "}", "q", "z"), []int{0, none, none, 0}},
		"line ends converted":                   {[]Version{person("a"), by(runA, "a", "b"), {Content: Content{Bytes: []byte("a\r\nb\r\n")}, Owner: Nobody}}, Content{Bytes: []byte("a\nb")}, []int{0, 1}},
		"over a binary file":                    {[]Version{person("a"), {Content: Content{Bytes: []byte{0}}, Owner: runA}, person("a")}, says("a"), []int{2}},
		"after a content that is lost":          {[]Version{person("a"), {Content: Content{State: Lost}, Owner: runA}, by(runB, "a", "b"), by(runB, "a", "b", "c")}, says("a", "b", "c"), []int{0, none, 3}},
		"binary":                                {[]Version{person("a")}, Content{Bytes: []byte("a\x00")}, []int{}},
		"empty":                                 {[]Version{person("a")}, Content{}, []int{}},
		"no version":                            {nil, says("a"), []int{none}},
	} {
		if got := Replay(c.versions).Lines(c.of); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestBrought(t *testing.T) {
	bin := func(owner int, b byte) Version {
		return Version{Content: Content{Bytes: []byte{b, 0}}, Owner: owner}
	}
	for name, c := range map[string]struct {
		versions      []Version
		before, after Content
		want          string
	}{
		"all of it":                       {[]Version{person("a"), by(runA, "a", "b")}, says("a"), says("a", "b"), "1:+1-0"},
		"two runs":                        {[]Version{person("a"), by(runA, "a", "b"), by(runB, "a", "b", "c")}, says("a"), says("a", "b", "c"), "1:+1-0 2:+1-0"},
		"a line taken away":               {[]Version{person("a", "b"), by(runA, "a")}, says("a", "b"), says("a"), "1:+0-1"},
		"what is left pending":            {[]Version{person("a", "m", "z"), by(runA, "a", "one", "m", "two", "z")}, says("a", "m", "two", "z"), says("a", "one", "m", "two", "z"), "1:+1-0"},
		"only the person's":               {[]Version{person("a", "m", "z"), person("a", "mine", "m", "z"), by(runA, "a", "mine", "m", "its", "z")}, says("a", "m", "z"), says("a", "mine", "m", "z"), "1:+1-0"},
		"of unknown origin":               {[]Version{person("a"), by(runA, "a", "b")}, says("a"), says("a", "x"), ""},
		"a brace of a part":               {[]Version{person("a", "z"), by(runA, "a", "}", "z", "}")}, says("a", "z"), says("a", "}", "z"), ""},
		"a file removed":                  {[]Version{person("a"), gone(runA)}, says("a"), Content{State: Absent}, "1:+0-1 whole"},
		"removed by the person":           {[]Version{person("a"), by(runA, "a", "b"), gone(Nobody)}, says("a"), Content{State: Absent}, "2:+0-1"},
		"binary":                          {[]Version{bin(Nobody, 1), bin(runA, 2)}, Content{Bytes: []byte{1, 0}}, Content{Bytes: []byte{2, 0}}, "1:+0-0 whole"},
		"binary that the person had":      {[]Version{bin(Nobody, 1), bin(runA, 2), bin(runA, 1)}, Content{Bytes: []byte{3, 0}}, Content{Bytes: []byte{1, 0}}, ""},
		"binary that the person had anew": {[]Version{bin(Nobody, 1), bin(runA, 2), bin(Nobody, 1), bin(Nobody, 2)}, Content{Bytes: []byte{1, 0}}, Content{Bytes: []byte{2, 0}}, ""},
		"binary, stash and pop":           {[]Version{bin(Nobody, 1), bin(runA, 2), bin(Nobody, 1), {Content: Content{Bytes: []byte{2, 0}}, Owner: Nobody, Back: true}}, Content{Bytes: []byte{1, 0}}, Content{Bytes: []byte{2, 0}}, "1:+0-0 whole"},
		"too large, by name":              {[]Version{{Content: Content{State: Large, ID: "1"}, Owner: Nobody}, {Content: Content{State: Large, ID: "2"}, Owner: runA}}, Content{State: Large, ID: "1"}, Content{State: Large, ID: "2"}, "1:+0-0 whole"},
		"an empty file":                   {[]Version{gone(Nobody), {Owner: runA}}, Content{State: Absent}, Content{}, "1:+0-0 whole"},
		"a line that moves":               {[]Version{person("a", "b", "c"), by(runA, "x1", "a", "b", "c")}, says("x1", "a", "b", "c"), says("a", "b", "c", "x1"), ""},
		"a line that two wrote":           {[]Version{person("a", "return", "z"), by(runA, "a", "return", "m", "z", "return")}, says("a", "return", "z"), says("a", "z", "return"), ""},
		"line ends alone":                 {[]Version{person("a"), {Content: Content{Bytes: []byte("a\r\n")}, Owner: runA}}, says("a"), Content{Bytes: []byte("a\r\n")}, "1:+0-0 whole"},
		"nothing":                         {[]Version{person("a"), by(runA, "a", "b")}, says("a", "b"), says("a", "b"), ""},
	} {
		var got []string
		for _, b := range Replay(c.versions).Brought(c.before, c.after) {
			s := fmt.Sprintf("%d:+%d-%d", b.Version, b.Added, b.Removed)
			if b.Whole {
				s += " whole"
			}
			if b.Owner != c.versions[b.Version].Owner {
				t.Errorf("%s: owner %d", name, b.Owner)
			}
			got = append(got, s)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %q, want %q", name, s, c.want)
		}
	}
}

// What is too large to have lines is compared as a whole, and the limit is where it is said to be.
func TestTooLarge(t *testing.T) {
	many := bytes.Repeat([]byte("x\n"), MaxLines+1)
	h := Replay([]Version{{Content: Content{Bytes: many}, Owner: runA}})
	if got := h.Lines(Content{Bytes: many}); len(got) != 0 {
		t.Errorf("%d lines", len(got))
	}
	if got := h.Lines(Content{Bytes: many[2:]}); len(got) != MaxLines {
		t.Errorf("%d lines", len(got))
	}
	wide := bytes.Repeat([]byte("x"), MaxBytes+1)
	if got := h.Lines(Content{Bytes: wide}); len(got) != 0 {
		t.Errorf("%d lines", len(got))
	}
}
