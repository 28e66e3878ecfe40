package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"agent/recovery/journal"
)

func openLive(t *testing.T, dir, run string) *Live {
	t.Helper()
	l, err := OpenLive(dir, run)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// heard gathers what a follower gets, as "turn:text", reasoning in parentheses, with | where a turn
// starts over.
type heard struct{ strings.Builder }

func (h *heard) emit(e Event) {
	text := e.Text
	switch {
	case e.Void:
		text = "|"
	case e.Reasoning != "":
		text = "(" + e.Reasoning + ")"
	}
	fmt.Fprintf(h, "%d:%s ", e.Turn, text)
}

// follower is a reader with where it emits to.
type follower struct {
	path string
	emit func(Event)
	read *LiveReader
}

func (f *follower) look() error {
	if f.read == nil {
		r, err := NewLiveReader(filepath.Dir(f.path), filepath.Base(f.path))
		if err != nil {
			return err
		}
		f.read = r
	}
	return f.read.Read(f.emit)
}

// follow reads a live file whenever its folder's waker says that it changed, until ctx is done.
func (f *follower) follow(ctx context.Context) error {
	w, err := NewFolderWaker(filepath.Dir(f.path))
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		if names, all := w.Changed(); all || names[filepath.Base(f.path)] {
			if err := f.look(); err != nil {
				return err
			}
		}
		select {
		case <-w.C():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (h *heard) want(t *testing.T, want string) {
	t.Helper()
	if got := h.String(); got != want {
		t.Fatalf("heard %q, want %q", got, want)
	}
	h.Reset()
}

func TestLiveFileIsPrivateAndGoesWhenEmpty(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "live")
	l := openLive(t, dir, "r-1")
	if runtime.GOOS != "windows" {
		for path, want := range map[string]fs.FileMode{dir: 0o700 | fs.ModeDir, filepath.Join(dir, "r-1"): 0o600} {
			info, err := os.Stat(path)
			ok(t, err)
			if info.Mode() != want {
				t.Errorf("%s has mode %v, want %v", path, info.Mode(), want)
			}
		}
	}
	ok(t, l.Text(1, "some"))
	ok(t, l.Reset())
	ok(t, l.Close())
	ok(t, l.Close())
	if _, err := os.Stat(filepath.Join(dir, "r-1")); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the empty file is still there: %v", err)
	}
	if err := l.Text(1, "late"); !errors.Is(err, os.ErrClosed) {
		t.Fatalf("text after Close: %v, want %v", err, os.ErrClosed)
	}
	if err := l.Reset(); !errors.Is(err, os.ErrClosed) {
		t.Fatalf("Reset after Close: %v, want %v", err, os.ErrClosed)
	}
}

func TestLiveRefusesWhatIsNoID(t *testing.T) {
	for _, run := range []string{"", ".", "..", "a/b", "../r-1", "/r-1"} {
		if l, err := OpenLive(t.TempDir(), run); err == nil {
			l.Close()
			t.Errorf("OpenLive took %q", run)
		}
		if _, err := NewLiveReader(t.TempDir(), run); err == nil {
			t.Errorf("NewLiveReader took %q", run)
		}
	}
}

// An unfinished answer stays for observers to see; the next owner starts over, and a former one
// that wakes up late disturbs neither its text nor its file.
func TestLiveBelongsToItsLastOwner(t *testing.T) {
	dir := t.TempDir()
	former := openLive(t, dir, "r-1")
	ok(t, former.Text(1, "half an ans"))
	var h heard
	f := &follower{path: filepath.Join(dir, "r-1"), emit: h.emit}
	ok(t, f.look())
	h.want(t, "1:half an ans ")

	owner := openLive(t, dir, "r-1")
	ok(t, former.Text(1, "wer"))
	ok(t, former.Reset())
	ok(t, owner.Text(1, "The "))
	ok(t, former.Close())
	ok(t, owner.Text(1, "answer"))
	ok(t, f.look())
	h.want(t, "1:| 1:The  1:answer ")

	ok(t, owner.Close())
	late := &follower{path: f.path, emit: h.emit}
	ok(t, late.look())
	h.want(t, "1:The  1:answer ")
}

// What was read belongs to the text that was dropped, also when the new text is as long or longer:
// a position is never taken for one in another text.
func TestFollowAcrossReset(t *testing.T) {
	for _, again := range []string{"a", "same", "much longer than before"} {
		t.Run(again, func(t *testing.T) {
			dir := t.TempDir()
			l := openLive(t, dir, "r-1")
			var h heard
			f := &follower{path: filepath.Join(dir, "r-1"), emit: h.emit}
			ok(t, l.Text(1, "text"))
			ok(t, f.look())
			h.want(t, "1:text ")

			ok(t, l.Reset())
			ok(t, l.Text(1, again)) // asked for again: the turn is the same
			ok(t, f.look())
			h.want(t, "1:| 1:"+again+" ")

			ok(t, l.Reset())
			ok(t, f.look())
			h.want(t, "")
			ok(t, l.Text(2, again)) // the turn's answer was committed: nothing is void
			ok(t, f.look())
			h.want(t, "2:"+again+" ")
		})
	}
}

// STR-08: a character that comes in pieces is written when it is whole, and what never becomes one
// says so in place.
func TestLiveKeepsCharactersWhole(t *testing.T) {
	dir := t.TempDir()
	l := openLive(t, dir, "r-1")
	var h heard
	f := &follower{path: filepath.Join(dir, "r-1"), emit: h.emit}
	for i := range len("\u20ac\U0001F600") {
		ok(t, l.Text(1, "\u20ac\U0001F600"[i:i+1]))
	}
	ok(t, l.Text(1, "<&>\u2028\xffend\xe2\x82"))
	ok(t, l.Text(2, "next"))
	ok(t, f.look())
	h.want(t, "1:\u20ac 1:\U0001F600 1:<&>\u2028\ufffdend 1:\ufffd\ufffd 2:next ")
}

// What the model thinks travels beside what it says: each keeps its own characters whole. A line of
// a kind that is not known is passed over, and one of a binary that knew no reasoning is
// text. // issue: thinking shown only on request
func TestLiveReasoning(t *testing.T) {
	dir := t.TempDir()
	l := openLive(t, dir, "r-1")
	var h heard
	f := &follower{path: filepath.Join(dir, "r-1"), emit: h.emit}
	ok(t, l.Reasoning(1, "let me \xe2\x82"))
	ok(t, l.Reasoning(1, "\xac"))
	ok(t, l.Reasoning(1, "\xe2"))
	ok(t, l.Text(1, "so "))
	ok(t, l.Reasoning(1, "and"))
	ok(t, l.Text(1, "it is"))
	ok(t, f.look())
	h.want(t, "1:(let me ) 1:(\u20ac) 1:(\ufffd) 1:so  1:(and) 1:it is ")
	ok(t, l.Reset())
	ok(t, l.Reasoning(1, "again"))
	ok(t, f.look())
	h.want(t, "1:| 1:(again) ")

	b, err := os.ReadFile(filepath.Join(dir, "r-1"))
	ok(t, err)
	var known struct {
		Turn int    `json:"turn"`
		Text string `json:"text"`
	}
	ok(t, json.Unmarshal(b, &known))
	if known.Turn != 1 || known.Text != "" {
		t.Errorf("a binary that knows no reasoning reads %+v", known)
	}
	gen := string(b[:len(genPrefix)+genWidth])
	ok(t, os.WriteFile(f.path, append(b, gen+"\",\"turn\":1,\"new\":\"x\"}\n"+gen+"\",\"turn\":1,\"text\":\"old\"}\n"...), 0o600))
	ok(t, f.look())
	h.want(t, "1:old ")
}

// A torn last line waits for its end; a damaged one costs itself only.
func TestFollowTornLines(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "r-1")
	line := func(text string) string {
		return `{"gen":"0123456789abcdef","turn":1,"text":"` + text + "\"}\n"
	}
	var h heard
	f := &follower{path: path, emit: h.emit}
	ok(t, f.look()) // no file yet
	content := ""
	for _, step := range []struct{ add, want string }{
		{line("one")[:20], ""},
		{line("one")[20:40], ""},
		{line("one")[40:], "1:one "},
		{"damaged\n" + line("two") + line("three")[:30], "1:two "},
		{line("three")[30:], "1:three "},
	} {
		content += step.add
		ok(t, os.WriteFile(path, []byte(content), 0o600))
		ok(t, f.look())
		h.want(t, step.want)
	}
	// A file that is none of ours is not shown.
	ok(t, os.WriteFile(path, []byte(strings.Repeat("x", 100)+"\n"), 0o600))
	ok(t, f.look())
	h.want(t, "")
}

// The whole way, waiting for file notification: a follower that was there before the file sees
// every turn, across resets and another owner.
func TestFollowLive(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(deadline(t))
	type piece struct {
		turn      int
		text      string
		reasoning string
	}
	pieces, ended := make(chan piece), make(chan error)
	go func() {
		f := &follower{path: filepath.Join(dir, "r-1"), emit: func(e Event) {
			select {
			case pieces <- piece{e.Turn, e.Text, e.Reasoning}:
			case <-ctx.Done():
			}
		}}
		ended <- f.follow(ctx)
	}()
	want := func(turn int, text, reasoning string) {
		t.Helper()
		select {
		case got := <-pieces:
			if want := (piece{turn, text, reasoning}); got != want {
				t.Fatalf("heard %v, want %v", got, want)
			}
		case <-ctx.Done():
			t.Fatalf("never heard %q of turn %d", text+reasoning, turn)
		}
	}
	l := openLive(t, dir, "r-1")
	for turn := 1; turn <= 3; turn++ {
		ok(t, l.Reasoning(turn, "hm"))
		want(turn, "", "hm")
		ok(t, l.Text(turn, "some "))
		want(turn, "some ", "")
		ok(t, l.Text(turn, "more"))
		want(turn, "more", "")
		ok(t, l.Reset())
	}
	ok(t, l.Close())
	l = openLive(t, dir, "r-1")
	ok(t, l.Text(3, "again"))
	want(3, "", "")
	want(3, "again", "")
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("ended with %v, want %v", err, context.Canceled)
	}
}

// outputs gathers what a follower is given of calls, as "turn.index@at:output".
type outputs struct{ strings.Builder }

func (o *outputs) emit(e Event) {
	switch {
	case e.Call != nil:
		fmt.Fprintf(o, "%s@%d:%q ", e.Call, e.At, e.Output)
	case e.Void:
		o.WriteString("| ")
	default:
		o.WriteString(e.Text + " ")
	}
}

func (o *outputs) want(t *testing.T, want string) {
	t.Helper()
	if got := o.String(); got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	o.Reset()
}

// Output of several calls keeps its calls apart, byte for byte, and leaves the text of the answer
// as it is.
func TestLiveOutputOfCalls(t *testing.T) {
	dir := t.TempDir()
	l := openLive(t, dir, "r-1")
	var got outputs
	f := &follower{path: filepath.Join(dir, "r-1"), emit: got.emit}
	one, two := journal.Place{Turn: 1}, journal.Place{Turn: 1, Index: 1, Attempt: 2}
	ok(t, l.Text(1, "text"))
	ok(t, l.Reset())
	ok(t, l.Output(one, 0, []byte("a\n")))
	ok(t, l.Output(two, 0, []byte("\xff\x00é")))
	ok(t, l.Output(one, 2, []byte("b")))
	ok(t, f.look())
	got.want(t, `1.0@0:"a\n" 1.1@0:"\xff\x00é" 1.0@2:"b" `)
	ok(t, l.Text(1, "text"))
	ok(t, f.look())
	got.want(t, "text ")
}

// A flood of output leaves a live file of bounded size, and a follower that keeps up gets all of
// it.
func TestLiveOutputIsBounded(t *testing.T) {
	dir := t.TempDir()
	l := openLive(t, dir, "r-1")
	next, missing := int64(0), false
	f := &follower{path: filepath.Join(dir, "r-1"), emit: func(e Event) {
		missing = missing || e.At != next || e.Void
		next = e.At + int64(len(e.Output))
	}}
	piece := []byte(strings.Repeat("x", 99<<10))
	const pieces = 40
	for i := range int64(pieces) {
		ok(t, l.Output(journal.Place{Turn: 1}, i*int64(len(piece)), piece))
		ok(t, f.look())
		if info, err := os.Stat(f.path); err != nil || info.Size() > maxLive+4<<10 {
			t.Fatalf("the live file has %d bytes, %v", info.Size(), err)
		}
	}
	if missing || next != pieces*int64(len(piece)) {
		t.Fatalf("the follower got %d bytes, missing: %t", next, missing)
	}
}
