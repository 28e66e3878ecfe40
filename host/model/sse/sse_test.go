package sse_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"agent/host/model/sse"
)

// read lists the events of a stream as "name|data", and the error that ended it.
func read(r io.Reader) (events []string, err error) {
	d := sse.NewDecoder(r)
	for d.Next() {
		e := d.Event()
		events = append(events, e.Name+"|"+string(e.Data))
	}
	return events, d.Err()
}

// pieces hands on one element at each read.
type pieces []string

func (p *pieces) Read(into []byte) (int, error) {
	if len(*p) == 0 {
		return 0, io.EOF
	}
	n := copy(into, (*p)[0])
	if (*p)[0] = (*p)[0][n:]; (*p)[0] == "" {
		*p = (*p)[1:]
	}
	return n, nil
}

// The examples of the standard and what servers make of it, in every kind of line end and however
// the connection cuts them.
func TestEvents(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		want   []string
	}{
		"one line":             {"data: x\n\n", []string{"|x"}},
		"lines":                {"data: YHOO\ndata: +2\ndata: 10\n\n", []string{"|YHOO\n+2\n10"}},
		"a test stream":        {": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n", []string{"|first event", "|second event", "| third event"}},
		"empty data":           {"data\n\ndata\ndata\n\ndata:", []string{"|", "|\n"}},
		"an optional space":    {"data:test\n\ndata: test\n\n", []string{"|test", "|test"}},
		"a name":               {"event: delta\ndata: x\n\ndata: y\n\n", []string{"delta|x", "|y"}},
		"a name behind":        {"data: x\nevent: delta\n\n", []string{"delta|x"}},
		"the last name":        {"event: a\nevent: b\ndata: x\n\n", []string{"b|x"}},
		"a name without data":  {"event: ping\n\ndata: x\n\n", []string{"|x"}},
		"no end":               {"data: x\n\ndata: y\n", []string{"|x"}},
		"half a line":          {"data: x\n\ndata: y", []string{"|x"}},
		"a byte order mark":    {"\ufeffdata: x\n\n\ufeffdata: y\n\n", []string{"|x"}},
		"only the first mark":  {"\ufeff\ufeffdata: x\n\ndata: y\n\n", []string{"|y"}},
		"unknown fields":       {"DATA: x\nretry: 5\nid: 7\nfoo\n data: z\ndata: y\n\n", []string{"|y"}},
		"a colon in the value": {"data: a: b\n\n", []string{"|a: b"}},
		"comments":             {": a\ndata: x\n:\n: b\ndata: y\n\n:\n\n", []string{"|x\ny"}},
		"nothing":              {"", nil},
		"empty lines":          {"\n\n\n", nil},
		"no UTF-8":             {"data: \xff\x00\n\n", []string{"|\xff\x00"}},
	} {
		for _, end := range []string{"\n", "\r\n", "\r"} {
			stream := strings.ReplaceAll(c.stream, "\n", end)
			t.Run(fmt.Sprintf("%s, %q", name, end), func(t *testing.T) {
				for at := range len(stream) + 1 {
					if got, err := read(&pieces{stream[:at], stream[at:]}); err != nil || !slices.Equal(got, c.want) {
						t.Errorf("cut at %d: %q, %v, want %q", at, got, err, c.want)
					}
				}
				if got, err := read(iotest.OneByteReader(strings.NewReader(stream))); err != nil || !slices.Equal(got, c.want) {
					t.Errorf("byte by byte: %q, %v, want %q", got, err, c.want)
				}
			})
		}
	}
}

// An event counts as soon as its empty line came, whatever the line ends are: nothing behind it is
// waited for.
func TestEventAtOnce(t *testing.T) {
	for _, stream := range []string{"data: x\n\n", "data: x\r\n\r\n", "data: x\r\r", "data: x\n\r", "data: x\r\n\r"} {
		r, w := io.Pipe()
		go io.WriteString(w, stream)
		d := sse.NewDecoder(r)
		if !d.Next() || string(d.Event().Data) != "x" {
			t.Errorf("%q: %+v, %v", stream, d.Event(), d.Err())
		}
		r.Close()
	}
}

// What came before an error of the connection is read, and the error stays.
func TestError(t *testing.T) {
	broke := errors.New("broke")
	d := sse.NewDecoder(io.MultiReader(strings.NewReader("data: x\n\ndata: y\n"), iotest.ErrReader(broke)))
	if !d.Next() || string(d.Event().Data) != "x" {
		t.Errorf("%+v", d.Event())
	}
	for range 2 {
		if d.Next() || d.Err() != broke {
			t.Errorf("%+v, %v", d.Event(), d.Err())
		}
	}
}

// endless repeats a text and counts what was taken.
type endless struct {
	text  string
	taken int
}

func (e *endless) Read(p []byte) (int, error) {
	n := 0
	for n+len(e.text) <= len(p) {
		n += copy(p[n:], e.text)
	}
	if n == 0 {
		n = copy(p, e.text)
	}
	e.taken += n
	return n, nil
}

// A line without an end, and an event without one, end the stream after a bounded number of bytes.
func TestBounds(t *testing.T) {
	for name, text := range map[string]string{"a line": "x", "an event": "data: " + strings.Repeat("x", 1017) + "\n"} {
		from := &endless{text: text}
		d := sse.NewDecoder(from)
		for range 2 {
			if d.Next() || !errors.Is(d.Err(), bufio.ErrTooLong) {
				t.Errorf("%s: %v", name, d.Err())
			}
		}
		if from.taken > 2*sse.Largest {
			t.Errorf("%s: %d bytes were read", name, from.taken)
		}
	}
	large := strings.Repeat("x", sse.Largest/2)
	if got, err := read(strings.NewReader("data: " + large + "\n\ndata: y\n\n")); err != nil || len(got) != 2 || got[0] != "|"+large || got[1] != "|y" {
		t.Errorf("%d events, %v", len(got), err)
	}
}

// FuzzDecoder: a stream has the same events in whatever pieces it comes, and its line ends make no
// difference.
func FuzzDecoder(f *testing.F) {
	f.Add("\ufeff: c\n\nevent: a\ndata: x\ndata:y\r\n\r\ndata\r\rdata: z", 7)
	f.Add("event: ping\n\ndata: {}\n\n\r\n\n", 3)
	f.Fuzz(func(t *testing.T, stream string, cut int) {
		want, err := read(strings.NewReader(stream))
		if err != nil {
			t.Fatal(err)
		}
		if cut < 0 || cut > len(stream) {
			cut = len(stream) / 2
		}
		plain := strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
		for name, r := range map[string]io.Reader{
			"cut": &pieces{stream[:cut], stream[cut:]}, "byte by byte": iotest.OneByteReader(strings.NewReader(stream)),
			"line feeds": strings.NewReader(plain), "carriage returns": strings.NewReader(strings.ReplaceAll(plain, "\n", "\r")),
		} {
			if got, err := read(r); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: %q, %v, want %q", name, got, err, want)
			}
		}
	})
}
