package sse

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	anthropicstream "github.com/anthropics/anthropic-sdk-go/packages/ssestream"
	openaistream "github.com/openai/openai-go/v3/packages/ssestream"

	"agent/host/model/sse"
)

// events lists what is read of a stream, as "name|data".
type events func(stream io.Reader) ([]string, error)

func ours(stream io.Reader) (list []string, err error) {
	d := sse.NewDecoder(stream)
	for d.Next() {
		list = append(list, d.Event().Name+"|"+string(d.Event().Data))
	}
	return list, d.Err()
}

// libraries are the decoders of the providers' clients. Both leave a line feed behind the data, and
// Anthropic's also gives events without data, which its client passes over.
func libraries() map[string]events {
	response := func(stream io.Reader) *http.Response {
		return &http.Response{Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(stream)}
	}
	entry := func(list []string, name string, data []byte) []string {
		if len(data) == 0 {
			return list
		}
		return append(list, name+"|"+strings.TrimSuffix(string(data), "\n"))
	}
	return map[string]events{
		"anthropic": func(stream io.Reader) (list []string, err error) {
			d := anthropicstream.NewDecoder(response(stream))
			for d.Next() {
				list = entry(list, d.Event().Type, d.Event().Data)
			}
			return list, d.Err()
		},
		"openai": func(stream io.Reader) (list []string, err error) {
			d := openaistream.NewDecoder(response(stream))
			for d.Next() {
				list = entry(list, d.Event().Type, d.Event().Data)
			}
			return list, d.Err()
		},
	}
}

// plain spells a stream as the libraries understand it: they know neither a carriage return as the
// end of a line nor a byte order mark, which the standard has.
func plain(stream string) string {
	stream = strings.TrimPrefix(stream, "\ufeff")
	return strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
}

// judge compares what we read of a stream with what the libraries read of it.
func judge(t *testing.T, stream string) []string {
	t.Helper()
	got, err := ours(strings.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	for name, read := range libraries() {
		for _, spelled := range []string{stream, plain(stream)} {
			if spelled == stream && strings.ContainsAny(strings.ReplaceAll(stream, "\r\n", "\n"), "\r\ufeff") {
				continue
			}
			if want, err := read(strings.NewReader(spelled)); err != nil || !slices.Equal(got, want) {
				t.Fatalf("%q: we read %q, %s %q, %v", stream, got, name, want, err)
			}
		}
	}
	return got
}

// The kept answers of every protocol, in every kind of line end and cut at every byte, are to us
// what they are to the libraries.
func TestStreamsAreReadAsTheLibrariesReadThem(t *testing.T) {
	for _, file := range []string{"anthropic/testdata/messages.sse", "openai/testdata/responses.sse", "openai/testdata/chat.sse"} {
		kept, err := os.ReadFile(filepath.Join("..", "..", "..", "host", "model", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, end := range []string{"\n", "\r\n", "\r"} {
			for _, mark := range []string{"", "\ufeff"} {
				stream := mark + strings.ReplaceAll(string(kept), "\n", end)
				t.Run(fmt.Sprintf("%s %q %q", file, end, mark), func(t *testing.T) {
					want := judge(t, stream)
					if len(want) < 10 {
						t.Errorf("%d events", len(want))
					}
					for at := range len(stream) {
						if got, err := ours(cut(stream, at)); err != nil || !slices.Equal(got, want) {
							t.Fatalf("cut at %d: %q, %v, want %q", at, got, err, want)
						}
					}
				})
			}
		}
	}
}

// cut is a stream that comes in two pieces.
func cut(stream string, at int) io.Reader {
	return io.MultiReader(strings.NewReader(stream[:at]), strings.NewReader(stream[at:]))
}

// Streams made of every kind of line in any order.
func TestMadeStreamsAreReadAsTheLibrariesReadThem(t *testing.T) {
	lines := []string{"", "", "", "data: x", "data:y", "data", "data:", "data:  two", "event: a", "event:b", "event", ": comment", ":", "id: 1", "retry: 10",
		"odd", " data: x", "data : x", "data: {\"a\": \"b: c\"}", "data: ü\u2028", "DATA: x", "event: a: b", "\ufeffdata: x", "data: \xff\x00", "data: [DONE]"}
	r := rand.New(rand.NewPCG(3, 5))
	read := 0
	for range 2_000 {
		var stream strings.Builder
		if r.IntN(10) == 0 {
			stream.WriteString("\ufeff")
		}
		ends := []string{"\n", "\r\n", "\r"}[:1+r.IntN(3)]
		for range r.IntN(40) {
			stream.WriteString(lines[r.IntN(len(lines))] + ends[r.IntN(len(ends))])
		}
		if r.IntN(4) == 0 {
			stream.WriteString("data: no end")
		}
		want := judge(t, stream.String())
		read += len(want)
		for at := range stream.Len() {
			if got, err := ours(cut(stream.String(), at)); err != nil || !slices.Equal(got, want) {
				t.Fatalf("%q cut at %d: %q, %v, want %q", stream.String(), at, got, err, want)
			}
		}
	}
	if read < 2_000 {
		t.Errorf("only %d events were compared", read)
	}
}

// FuzzEvents looks for a stream that we read in another way than the libraries.
func FuzzEvents(f *testing.F) {
	f.Add("\ufeff: c\n\nevent: a\ndata: x\ndata:y\r\n\r\ndata\r\rdata: z")
	f.Add("event: ping\n\ndata: {}\n\n\r\n\n")
	f.Fuzz(func(t *testing.T, stream string) {
		want := judge(t, stream)
		if got, err := ours(iotest.OneByteReader(strings.NewReader(stream))); err != nil || !slices.Equal(got, want) {
			t.Errorf("byte by byte %q, %v, want %q", got, err, want)
		}
	})
}

// BenchmarkEvents is what it costs to find the events of a long answer, ours and the libraries'.
func BenchmarkEvents(b *testing.B) {
	const tokens = 20_000
	event := "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" token\"}   }\n\n"
	stream := strings.Repeat(event, tokens)
	measure := func(name string, count func() int) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if n := count(); n != tokens {
					b.Fatal(n)
				}
			}
			b.ReportMetric(tokens*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
		})
	}
	measure("ours", func() (n int) {
		for d := sse.NewDecoder(strings.NewReader(stream)); d.Next(); n++ {
		}
		return n
	})
	measure("anthropic", func() (n int) {
		for d := anthropicstream.NewDecoder(&http.Response{Body: io.NopCloser(strings.NewReader(stream))}); d.Next(); n++ {
		}
		return n
	})
	measure("openai", func() (n int) {
		for d := openaistream.NewDecoder(&http.Response{Body: io.NopCloser(strings.NewReader(stream))}); d.Next(); n++ {
		}
		return n
	})
}
