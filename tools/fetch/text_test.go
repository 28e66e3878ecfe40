package fetch

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// The pages in testdata/pages are rendered as the files beside them show; UPDATE_PAGES=1 writes
// these.
func TestPages(t *testing.T) {
	files, err := filepath.Glob("testdata/pages/*.html")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got, whole := Render(string(page), "http://example.com/dir/page.html")
		if !whole {
			t.Errorf("%s was not read whole", file)
		}
		golden := strings.TrimSuffix(file, ".html") + ".txt"
		if os.Getenv("UPDATE_PAGES") != "" {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", file, got, want)
		}
	}
}

// No page takes more room or time than its size allows: links that are long, depth, floods of
// attributes.
func TestHostilePages(t *testing.T) {
	size := 1 << 17
	if os.Getenv("AGENT_TESTS") == "whole" {
		size = 1 << 20
	}
	for name, piece := range map[string]string{
		"links": "<a href=a>x</a>", "depth": "<div>", "bold": "<b>", "lists": "<ul><li>", "tables": "<table><tr><td>", "ends": "</div>",
		"attributes": "<p a b c d e f g h>", "entities": "&amp;&#x41;&notin;", "open": "<", "cells": "<td>x", "pre": "<pre>\n", "comments": "<!-- x -->",
		"hidden": "<div hidden>", "scripts": "<script>x</script>", "titles": "<title>x</title>", "lines": "<br>", "quotes": "<blockquote>x",
	} {
		base := "http://example.com/" + strings.Repeat("d/", 900)
		began := time.Now()
		text, _ := Render(strings.Repeat(piece, size/len(piece)), base)
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s took %s", name, took)
		}
		if len(text) > maxPage+1<<20 {
			t.Errorf("%s made %d bytes", name, len(text))
		}
	}
	// A single piece of a page is bounded too, and that is said.
	for _, page := range []string{
		"<p " + strings.Repeat("a=b ", maxToken/4), "<!--" + strings.Repeat("x", maxToken), "<script>" + strings.Repeat("x", maxToken),
		"<a href='" + strings.Repeat("x", maxToken), strings.Repeat("x", maxToken+1),
	} {
		if text, whole := Render("<p>before"+page, "http://example.com/"); whole || len(text) > maxToken+100 {
			t.Errorf("%.10q: whole %v, %d bytes", page, whole, len(text))
		}
	}
}

func FuzzRender(f *testing.F) {
	files, err := filepath.Glob("testdata/pages/*.html")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		page, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(page))
	}
	f.Fuzz(func(t *testing.T, page string) {
		page = strings.ToValidUTF8(page, "")
		if text, _ := Render(page, "http://example.com/"); !utf8.ValidString(text) {
			t.Errorf("%q is not UTF-8", text)
		}
	})
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		name, kind, body string
		want, note       string
		binary           bool
	}{
		{"plain", "text/plain", "hello", "hello", "", false},
		{"json as it is", "application/json", "{ \"a\":1}", "{ \"a\":1}", "", false},
		{"problem", "application/problem+json", "{}", "{}", "", false},
		{"json is utf-8", "application/json; charset=iso-8859-1", "\"\xc3\xa9\"", "\"é\"", "", false},
		{"latin-1", "text/plain; charset=iso-8859-1", "caf\xe9", "café", "", false},
		{"windows-1252", "text/plain; charset=windows-1252", "\x93a\x94", "“a”", "", false},
		{"utf-16", "text/plain; charset=utf-16le", "h\x00i\x00", "hi", "", false},
		{"utf-16 by its mark", "text/plain", "\xfe\xff\x00h\x00i", "hi", "", false},
		{"utf-8 with a mark", "text/plain; charset=iso-8859-1", "\xef\xbb\xbfé", "é", "", false},
		{"shift_jis", "text/plain; charset=Shift_JIS", "\x93\xfa\x96\x7b", "日本", "", false},
		{"gb18030", "text/plain; charset=gbk", "\xd6\xd0", "中", "", false},
		{"koi8-r", "text/plain; charset=koi8-r", "\xcd\xc9\xd2", "мир", "", false},
		{"meta", "text/html", "<meta charset=koi8-r><p>\xcd\xc9\xd2", "мир\n", "HTML as text", false},
		{"meta http-equiv", "text/html", `<meta http-equiv=Content-Type content="text/html; charset=windows-1251"><p>` + "\xec\xe8\xf0", "мир\n", "", false},
		{"header before meta", "text/html; charset=koi8-r", "<meta charset=windows-1251><p>\xcd\xc9\xd2", "мир\n", "", false},
		{"none said, utf-8", "text/plain", "é", "é", "", false},
		{"none said, latin-1", "text/html", "<p>caf\xe9", "café\n", "", false},
		{"lie: utf-8 that is latin-1", "text/plain; charset=utf-8", "caf\xe9 au lait", "café au lait", "it is called utf-8 and is not", false},
		{"lie: latin-1 that is utf-8", "text/plain; charset=iso-8859-1", "café", "café", "and is utf-8", false},
		{"unknown charset", "text/plain; charset=x-nonsense", "café", "café", "its charset is not known here", false},
		{"utf-7 is not read", "text/plain; charset=utf-7", "+ADw-", "+ADw-", "its charset is not known here", false},
		{"cut in a rune", "text/plain; charset=utf-8", "caf\xc3", "caf\uFFFD", "shown as", false},
		{"broken json", "application/json", "\"\xff\xfe\"", "\"\uFFFD\uFFFD\"", "shown as", false},
		{"png", "image/png", "\x89PNG\r\n\x1a\n\x00", "not text: 9 bytes, SHA-256 3d5b4d3b", "", true},
		{"called text, is not", "text/plain", "\x00\x01\x02", "not text: 3 bytes", "", true},
		{"called json, is not", "application/json", "\x1f\x8b\x00", "not text: 3 bytes", "", true},
		{"octet-stream that is text", "application/octet-stream", "hello", "hello", "looks like text/plain", false},
		{"octet-stream", "application/octet-stream", "\x7fELF\x00\x00", "not text: 6 bytes", "", true},
		{"no type, html", "", "<html><p>x", "x\n", "", false},
		{"no type, text", "", "x", "x", "", false},
		{"odd type", "text/html; charset=\"", "<p>x", "x\n", "", false},
		{"no type at all", ";;;", "x", "x", "", false},
		{"svg is text", "image/svg+xml", "<svg/>", "<svg/>", "", false},
		{"pdf", "application/pdf", "%PDF-1.7", "not text: 8 bytes", "", true},
		{"empty", "text/html", "", "", "", false},
	} {
		r := Response{URL: "http://example.com/", Body: []byte(c.body), Header: http.Header{}}
		if c.kind != "" {
			r.Header.Set("Content-Type", c.kind)
		}
		got := r.Read(false)
		notes := strings.Join(got.Notes, "; ")
		same := got.Text == c.want
		if c.binary {
			same = strings.HasPrefix(got.Text, c.want[:min(len(c.want), 20)])
		}
		if !same || got.Binary != c.binary || !strings.Contains(notes, c.note) || c.note == "" && strings.Contains(notes, "it is called") || !utf8.ValidString(got.Text) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	r := Response{URL: "http://example.com/", Body: []byte("<p>x"), Header: http.Header{"Content-Type": {"text/html"}}}
	if got := r.Read(true); got.Text != "<p>x" {
		t.Errorf("raw: %+v", got)
	}
	r.Coded = "br"
	if got := r.Read(false); !got.Binary || !strings.Contains(strings.Join(got.Notes, ""), "content coding") {
		t.Errorf("coded: %+v", got)
	}
}
