package objects

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What a pattern takes in at the least, and what it does not.
func TestPatterns(t *testing.T) {
	for text, want := range map[string]map[string]Conversion{
		"*.c filter=x":                          {"a.c": Any, "d/a.c": Any, "a.h": Same, "a.c/x": Same},
		"a.c filter=x":                          {"a.c": Any, "d/a.c": Any, "ba.c": Same},
		"/a.c ident":                            {"a.c": Any, "d/a.c": Same},
		"d/*.c text":                            {"d/a.c": Endings, "a.c": Same, "e/d/a.c": Same},
		"**/a.c ident":                          {"a.c": Any, "d/a.c": Any, "d/e/a.c": Any, "b.c": Same},
		"d/**/a.c ident":                        {"d/a.c": Any, "d/e/a.c": Any, "a.c": Same},
		"d/** ident":                            {"d/a": Any, "d/e/f": Any, "d": Same},
		"d/ ident":                              {"d/a": Same},
		"[attr]p q\n[attr]q filter=x\n*.c p":    {"a.c": Any, "a.h": Same},
		"*.c p\n[attr]p q -text\n[attr]q text":  {"a.c": Endings, "a.h": Same},
		"[attr]p filter=x\n*.c -p\n*.h !p":      {"a.c": Same, "a.h": Same},
		"\"a\\040b\" ident":                     {"a b": Any, "a": Same},
		"\xef\xbb\xbf# c\r\n  *.c\ttext=auto\r": {"a.c": Endings, "a.h": Same},
	} {
		s := newScene(t)
		t.Setenv("HOME", s.base)
		t.Setenv("XDG_CONFIG_HOME", "")
		s.write(".gitattributes", text+"\n")
		of, err := conversions(s.find(s.dir))
		s.must(err)
		for name, c := range want {
			if got := of(name); got != c {
				t.Errorf("%q: %s is %v", text, name, got)
			}
		}
	}
}

// A file as young as the index may have been written after it.
func TestRacy(t *testing.T) {
	s := newScene(t)
	s.commit("a", "b")
	info, err := os.Lstat(filepath.Join(s.dir, "b"))
	s.must(err)
	for ago, want := range map[time.Duration]bool{0: true, -time.Nanosecond: true, time.Nanosecond: false} {
		when := info.ModTime().Add(ago)
		s.must(os.Chtimes(filepath.Join(s.dir, ".git", "index"), when, when))
		all, err := collected(s.find(s.dir).Index())
		s.must(err)
		if e := all["b"]; e.Racy != want || e.Clean(statOf(info)) == want {
			t.Errorf("the index is %v younger: racy %v", ago, e.Racy)
		}
	}
}
