package input_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/host/input"
)

const patience = time.Minute

func pipe(t *testing.T) (*os.File, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = r.Close(), w.Close() }) // the test may have closed them
	return r, w
}

// A pipe that stays open is reported once, and what comes later is read all the same.
func TestAllOfAPipeThatStaysOpen(t *testing.T) {
	r, w := pipe(t)
	quiet := 0
	got, err := input.Open(r).All(t.Context(), time.Millisecond, func() {
		quiet++
		if _, err := w.WriteString("late"); err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	if err != nil || string(got) != "late" || quiet != 1 {
		t.Errorf("%q, %v, reported %d times", got, err, quiet)
	}
}

// The first signal, which ends the context, ends the wait for a pipe, for the writer of a FIFO, and
// for more of what has begun.
func TestNextEndsWithTheContext(t *testing.T) {
	r, w := pipe(t)
	if _, err := w.WriteString("begun"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := input.Open(r)
	if got, err := s.Next(ctx, patience); err != nil || string(got) != "begun" {
		t.Fatalf("%q, %v", got, err)
	}
	cancel()
	if _, err := s.Next(ctx, patience); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Whether something comes is found out without taking more than its first byte, and what comes
// later is left alone.
func TestBegins(t *testing.T) {
	r, w := pipe(t)
	if _, err := input.Begins(t.Context(), r, time.Millisecond); !errors.Is(err, input.ErrQuiet) {
		t.Fatal(err)
	}
	if _, err := w.WriteString("line"); err != nil {
		t.Fatal(err)
	}
	if begins, err := input.Begins(t.Context(), r, patience); !begins || err != nil {
		t.Fatal(begins, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(r); string(rest) != "ine" || err != nil {
		t.Errorf("%q, %v", rest, err)
	}
	if begins, err := input.Begins(t.Context(), r, patience); begins || err != nil {
		t.Error(begins, err)
	}
}

// A prompt has a limit (EX-71).
func TestReadsWhatThereIs(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "prompt")
	if err := os.WriteFile(path, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		s    *input.Stream
		want string
		err  string
	}{
		"a file":   {input.OpenFile(path), "from a file", ""},
		"a reader": {input.Open(strings.NewReader("x")), "x", ""},
		"nothing":  {input.Open(strings.NewReader("")), "", ""},
		"no file":  {input.OpenFile(filepath.Join(dir, "none")), "", "no such file"},
		"a folder": {input.OpenFile(dir), "", "is a directory"},
		"too much": {input.Open(io.LimitReader(neverending{}, input.MaxPrompt+1)), "", "larger than 16 MiB"},
	} {
		got, err := tt.s.All(t.Context(), patience, func() { t.Errorf("%s: reported as open", name) })
		if string(got) != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

type neverending struct{}

func (neverending) Read(p []byte) (int, error) { return len(p), nil }

// Only what may hold data is read: a pipe and a file. /dev/null and a closed stdin are nothing.
func TestCarries(t *testing.T) {
	r, w := pipe(t)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	file, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	closed, _ := pipe(t)
	if err := errors.Join(closed.Close(), w.Close()); err != nil {
		t.Fatal(err)
	}
	for name, got := range map[string]bool{
		"pipe": input.Carries(r), "file": input.Carries(file), "reader": input.Carries(&bytes.Buffer{}),
		"not /dev/null": !input.Carries(null), "not closed": !input.Carries(closed), "not nothing": !input.Carries(nil),
	} {
		if !got {
			t.Error(name)
		}
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb": "", "a\n\xffb": "line 2: not valid UTF-8", "a\n\nb\x00": "line 3: holds a NUL byte", "\ufffd": "",
	} {
		got, err := input.Text([]byte(in))
		if want == "" && (err != nil || got != in) || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

// What is piped in may be a log with a few bytes that are no text; binary data is refused.
func TestPiped(t *testing.T) {
	for in, want := range map[string]struct {
		text     string
		replaced int
	}{"a\nb": {"a\nb", 0}, "caf\xe9 \xff\xfe": {"caf\ufffd \ufffd\ufffd", 3}, "": {}, "\ufffd": {"\ufffd", 0}} {
		if text, replaced, err := input.Piped([]byte(in)); err != nil || text != want.text || replaced != want.replaced {
			t.Errorf("%q: %q, %d, %v", in, text, replaced, err)
		}
	}
	if _, _, err := input.Piped([]byte("\x89PNG\n\x00")); err == nil || !strings.Contains(err.Error(), "line 2 holds a NUL byte") {
		t.Error(err)
	}
}
