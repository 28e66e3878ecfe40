package transport

import (
	"bytes"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"agent/scripts/testkit/seed"
)

// Whether a byte counts does not depend on how the connection cuts the stream.
func TestLineScanInAnyPieces(t *testing.T) {
	lines := []string{": comment", "event: ping", `data: {"type":"ping"}`, `data: {"type": "keepalive"}`, "", "data: x", "event: delta", "id: 7", "retry: 5", "odd",
		"data: " + strings.Repeat("long ", 30), ":" + strings.Repeat("c", 100), "event:ping", `data: {"type":"pinging"}`}
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		var stream []byte
		for range rapid.IntRange(1, 12).Draw(t, "lines") {
			stream = append(stream, rapid.SampledFrom(lines).Draw(t, "line")...)
			stream = append(stream, rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "end")...)
		}
		whole := lineScan{sse: true}
		want := whole.take(stream)
		cut := lineScan{sse: true}
		got := false
		for rest := stream; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			got = cut.take(rest[:n]) || got
			rest = rest[n:]
		}
		if got != want || cut.ping != whole.ping || cut.length != whole.length {
			t.Fatalf("%q: whole %v %+v, in pieces %v %+v", stream, want, whole, got, cut)
		}
	})
}

// What content is.
func TestContent(t *testing.T) {
	for text, want := range map[string]bool{
		": hello\n\n": false, "\r\n\r\n": false, "event: ping\ndata: {}\n\n": false, "event: ping\r\ndata: {}\r\n\r\n": false,
		"data: {\"type\": \"ping\"}\n\n": false, "id: 1\n": false, "retry: 3000\n": false,
		"event: ping\ndata: {}\n\ndata: x\n\n": true, "data: x\n": true, "event: delta\n": true, "{\"error\":1}\n": true, "data: {\"type\":\"pinging\"}\n": true,
	} {
		scan := lineScan{sse: true}
		if got := scan.take([]byte(text)); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

// A recording that cannot be written on says so once it is closed, and the exchange does not
// notice.
func TestRecordingThatBreaks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	r, err := NewRecorder(file, Header{Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.file.Close(); err != nil {
		t.Fatal(err)
	}
	client := Client(Options{Recorder: r, Base: answering("data: x\n\n")})
	for range 2 {
		resp, err := client.Get("http://nowhere.invalid")
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(resp.Body); err != nil || string(text) != "data: x\n\n" {
			t.Fatalf("got %q, %v", text, err)
		}
	}
	for _, err := range []error{r.Err(), r.Close(), r.Close()} {
		if err == nil || !strings.HasPrefix(err.Error(), "record the exchange in "+file+": ") {
			t.Errorf("got %v", err)
		}
	}
}

// Every spelling is found whole, and what only resembles one is left.
func TestSpellings(t *testing.T) {
	const secret = "a\"b/c\n\u00e9\U0001F511 \\%z"
	for text, want := range map[string]string{
		"x" + secret + "y":                                                   "x[secret]y",
		`xa\"b/c\n` + "\u00e9\U0001F511" + ` \\%zy`:                          "x[secret]y",
		`x\u0061\"b\/c\n\u00E9\ud83d\uDD11\u0020\\\u0025zy`:                  "x[secret]y",
		`xa\\\"b/c\\n\\u00e9\\ud83d\\udd11 \\\\%zy`:                          "x[secret]y",
		`xa%22b%2Fc%0A%C3%A9%F0%9F%94%91+%5C%25zy`:                           "x[secret]y",
		`xa%2522b%252fc%250a%25c3%25a9%25f0%259f%2594%2591%2520%255c%2525zy`: "x[secret]y",
		`xa"b/c\u000`: `xa"b/c\u000`,
		`xa%22b%2`:    `xa%22b%2`,
		`xa\`:         `xa\`,
	} {
		if got := newHider([]string{secret, "short"}).hide(text); got != want {
			t.Errorf("%s: got %s", text, got)
		}
	}
}

// A text made to cost time costs none: what looks most like a secret and is none is looked at once.
func TestHideIsLinear(t *testing.T) {
	h := newHider([]string{`\\%%aaaaaaaab`, "aaaaaaaaab"})
	for _, piece := range []string{`\`, "%25", "%", "a", `\u`} {
		began := time.Now()
		h.hide(strings.Repeat(piece, 1<<20))
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("1 Mi of %q took %s", piece, took)
		}
	}
}

// No recorder and no recording is fine.
func TestNoRecorder(t *testing.T) {
	var r *Recorder
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

type answering string

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(string(a)))}, nil
}

// A secret is found in a stream however its events and the connection cut it, and nothing else is
// taken out.
func TestSplitSecretInAnyPieces(t *testing.T) {
	const secret = `k3y"\é/Secret-1`
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		text := []rune("before " + secret + " between " + secret + " after")
		var stream bytes.Buffer
		for len(text) > 0 {
			n := rapid.IntRange(1, len(text)).Draw(t, "delta")
			line, err := encode(map[string]any{"type": "delta", "index": 0, "delta": map[string]any{"text": string(text[:n])}})
			if err != nil {
				t.Fatal(err)
			}
			stream.WriteString("data: " + string(line) + "\n")
			text = text[n:]
		}
		var x exchange
		for rest := stream.Bytes(); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			x.Pieces = append(x.Pieces, piece{Bytes: rest[:n]})
			rest = rest[n:]
		}
		x.seal(nil, newHider([]string{secret}), nothingFound)
		var got, said strings.Builder
		for _, p := range x.Pieces {
			got.Write(p.data())
		}
		for line := range strings.Lines(got.String()) {
			var e struct {
				Delta struct {
					Text string `json:"text"`
				} `json:"delta"`
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				if !unmarshal([]byte(data), &e) {
					t.Fatalf("no JSON any more: %s", line)
				}
				said.WriteString(e.Delta.Text)
			}
		}
		if want := "before [secret] between [secret] after"; said.String() != want || x.Replaced != 2 {
			t.Fatalf("got %q, %d replaced", said.String(), x.Replaced)
		}
	})
}

func nothingFound(string) [][2]int { return nil }

// Looking for secrets costs no crash on anything that a provider may send.
func FuzzFindSplit(f *testing.F) {
	f.Add("data: {\"a\":[1,{\"b\":\"x\\u0041\"}]}\n", "secret-value")
	f.Add("data: \"\\\"\\\\\"\ndata: [\"\",\"\"]\n", `a"b\c/d+e f`)
	f.Add("data: {\"k\":\"%2525\\\\u00e9\"}", "%25\u00e9\xff\xfe1234")
	f.Fuzz(func(t *testing.T, stream, secret string) {
		h := newHider([]string{secret})
		find := func(text string) [][2]int {
			if at := strings.Index(text, secret); at >= 0 && secret != "" {
				return [][2]int{{at, at + len(secret)}}
			}
			return nil
		}
		for _, s := range findInAnswer(stream, h, find) {
			if s.from < 0 || s.from >= s.to || s.to > len(stream) {
				t.Fatalf("%+v of %d bytes", s, len(stream))
			}
		}
		hidden := h.hide(stream)
		if len(secret) >= leastSecret && !strings.Contains("[secret]", secret) && strings.Contains(stream, secret) && hidden == stream {
			t.Fatalf("%q is still in %q", secret, hidden)
		}
	})
}

// Explaining a body costs no crash either, and always says something in one line.
func FuzzStatus(f *testing.F) {
	f.Add(200, `{"error":{"code":429,"message":"m"}}`)
	f.Add(502, "<title>x</title>")
	f.Add(400, "\xff\x00{")
	f.Fuzz(func(t *testing.T, status int, body string) {
		e := Status(status, http.Header{"Retry-After": {body}}, []byte(body), nil)
		if e.Message == "" || e.Fault == "" || strings.ContainsAny(e.Message, "\n\x1b") || e.After < 0 {
			t.Fatalf("%+v", e)
		}
	})
}
