package redact

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func benchmarkSet() *Set {
	var known []Known
	for i := range 20 {
		known = append(known, Known{fmt.Sprintf("env-%d", i), fmt.Sprintf("kN%d-%x", i, i*7919+1000003)})
	}
	return New(append(known, Known{"env-canary-key", canary}))
}

// prose is text in which no rule finds anything, and few of their words stand.
func prose() string {
	return strings.Repeat("The quick brown fox jumps over the lazy dog; 42 lines were read, 3 of them twice.\n", 12800)
}

// code is ordinary source: the words of rules stand in it everywhere.
func code(b *testing.B) string {
	var text strings.Builder
	files, err := filepath.Glob(filepath.Join(goRoot(b), "src", "net", "http", "*.go"))
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			b.Fatal(err)
		}
		text.Write(data)
	}
	return text.String()
}

func BenchmarkText(b *testing.B) {
	s := benchmarkSet()
	noID := func(string, []byte) string { return "0" }
	escaped := strings.ReplaceAll(prose(), ";", `\n\"x\"`)
	secrets := strings.Repeat("the deploy wrote DATABASE_URL=postgres://app:s3cr3t-pw9@db.internal/x and "+canary+" to the log, line after line it went on\n", 8000)
	for name, text := range map[string]string{"prose": prose(), "code": code(b), "escaped": escaped, "secrets": secrets} {
		b.Run(name, func(b *testing.B) {
			data := []byte(text)
			s.Text(data, noID)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				s.Text(data, noID)
			}
		})
	}
	data := []byte(prose())
	b.Run("limit/count one byte", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			bytes.Count(data, []byte{'\n'})
		}
	})
	b.Run("limit/copy", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			bytes.Clone(data)
		}
	})
}

func BenchmarkJSON(b *testing.B) {
	s := benchmarkSet()
	data := []byte("[" + strings.Repeat(`{"kind": "call", "args": {"path": "db/redact/json.go", "n": 12}, "text": "a line of text\nand another"},`, 10_000) + "1]")
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, _, err := s.JSON(data, func(string, []byte) string { return "0" }); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStream takes a model's words as they come, a few letters at a time.
func BenchmarkStream(b *testing.B) {
	s := benchmarkSet()
	text := []byte(prose()[:80_000])
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		stream := s.Stream(func(string, []byte) string { return "0" }, nil)
		for rest := text; len(rest) > 0; {
			n := min(4, len(rest))
			stream.Write(rest[:n])
			rest = rest[n:]
		}
		stream.Flush()
	}
}

// BenchmarkNew is what a process pays that redacts: the known values at once, the patterns with the
// first text.
func BenchmarkNew(b *testing.B) {
	b.Run("known values", func(b *testing.B) {
		for b.Loop() {
			benchmarkSet()
		}
	})
	b.Run("one more beside 200", func(b *testing.B) {
		s := New(nil)
		for i := range 200 {
			s = s.With(Known{"env", fmt.Sprintf("kN%d-%x", i, i*7919+1000003)})
		}
		for b.Loop() {
			s.With(Known{"env-canary-key", canary})
		}
	})
	b.Run("patterns", func(b *testing.B) {
		for b.Loop() {
			newPatterns(gitleaksJSON)
		}
	})
}
