package page_test

import (
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agent/host/serve/page"
	"agent/host/watch"
)

const (
	mostBytes = 116 << 10 // of all files together
	mostLines = 400       // of a script
)

func files(t *testing.T) map[string]string {
	t.Helper()
	names, err := fs.Glob(page.Files, "*")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range names {
		text, err := page.Files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(text)
	}
	return out
}

// Text of a model or a tool becomes no markup, no script and no address, since the page has nothing
// that makes one of a text; and nodes and attributes are made in one place (S8).
func TestSourceMakesTextOnly(t *testing.T) {
	never := regexp.MustCompile(`(?i)innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|DOMParser|setHTML|srcdoc|\beval\b|new Function|importScripts|\.href\b|\.src\b|\.action\b|window\.open|location\.(assign|replace)|https?:|//[a-z]+\.`)
	once := regexp.MustCompile(`createElement|setAttribute`)
	handler := regexp.MustCompile(`(?i)\son[a-z]+\s*=|<style|javascript:|<script(?: type="module" src="/app\.js")?>[^<]`)
	for name, text := range files(t) {
		if found := never.FindString(text); found != "" && strings.HasSuffix(name, ".js") {
			t.Errorf("%s has %s", name, found)
		}
		if found := once.FindString(text); found != "" && strings.HasSuffix(name, ".js") && name != "node.js" {
			t.Errorf("%s has %s, which belongs into node.js", name, found)
		}
		if found := handler.FindString(text); found != "" && strings.HasSuffix(name, ".html") {
			t.Errorf("%s has %s", name, found)
		}
		if found := regexp.MustCompile(`(?i)@import|url\(`).FindString(text); found != "" && strings.HasSuffix(name, ".css") {
			t.Errorf("%s has %s", name, found)
		}
	}
}

// The page stays small enough to be read whole.
func TestSourceStaysSmall(t *testing.T) {
	total := 0
	for name, text := range files(t) {
		total += len(text)
		if n := strings.Count(text, "\n"); n > mostLines {
			t.Errorf("%s has %d lines, at most %d", name, n, mostLines)
		}
	}
	if total > mostBytes {
		t.Errorf("the page is %d bytes, at most %d", total, mostBytes)
	}
}

// The page knows what to make of each kind of fact that the server sends, and of no other.
func TestFactsAreTheServers(t *testing.T) {
	_, rest, _ := strings.Cut(files(t)["story.js"], "const kinds = {")
	list, _, _ := strings.Cut(rest, "\n};")
	var known []string
	for _, m := range regexp.MustCompile(`(?m)^\t'?([a-z.]+)'?: \(`).FindAllStringSubmatch(list, -1) {
		known = append(known, m[1])
	}
	var sent []string
	for _, l := range watch.LineTypes() {
		if l.Fact {
			sent = append(sent, l.Name)
		}
	}
	slices.Sort(known)
	slices.Sort(sent)
	if !slices.Equal(known, sent) {
		t.Errorf("the page has\n%q\nthe server sends\n%q", known, sent)
	}
}
