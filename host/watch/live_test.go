package watch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"agent/host/stream"
	"agent/recovery/journal"
	"agent/scripts/testkit/seed"
)

// Whatever is written and however rarely an observer looks, what it has put together from frames is
// the end of what is there, each frame is of whole characters, and a frame that is applied twice
// changes nothing.
func TestFramesAddUp(t *testing.T) {
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		var gens int64
		newGen := func() int64 { gens++; return gens }
		l := newLive()
		whole, have, at, seen := "", "", int64(0), mark{}
		look := func() {
			for {
				f, now, ok := l.text.after(seen)
				if !ok {
					break
				}
				seen = now
				if !utf8.Valid(f.Data) {
					t.Fatalf("a frame cuts a character: %q", f.Data)
				}
				for range 2 {
					switch {
					case f.Start:
						have, at = string(f.Data), f.End
					case f.Offset == at:
						have, at = have+string(f.Data), f.End
					case f.End != at:
						t.Fatalf("a frame from %d to %d after one to %d", f.Offset, f.End, at)
					}
				}
			}
			if at != int64(len(whole)) || !strings.HasSuffix(whole, have) || len(have) < min(len(whole), mostText-utf8.UTFMax) && seen.gen == 0 {
				t.Fatalf("the observer has %d bytes up to %d of %d", len(have), at, len(whole))
			}
		}
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				l.take(&stream.Event{Turn: 1, Void: true}, newGen)
				whole = ""
			case 1, 2, 3:
				look()
			default:
				text := strings.Repeat(rapid.SampledFrom([]string{"a", "ä", "€", "😀", "a😀"}).Draw(t, "text"), 1<<rapid.IntRange(0, 17).Draw(t, "size"))
				whole += text
				l.take(&stream.Event{Turn: 1, Text: text}, newGen)
			}
			if n := len(l.text.buf); n > mostText+mostText/8 {
				t.Fatalf("%d bytes are kept", n)
			}
		}
		look()
	})
}

// A character of four bytes is not cut, wherever it stands before the end of a frame and wherever
// its bytes come apart.
func TestRunesAreNotCut(t *testing.T) {
	const rune4 = "😀"
	for offset := range 2 * len(rune4) {
		for cut := range len(rune4) + 1 {
			text := strings.Repeat("x", mostFrame-len(rune4)-1+offset) + rune4 + "end"
			at := strings.Index(text, rune4) + cut
			p, have, m := piece{gen: 1, turn: 1}, "", mark{}
			for _, part := range []string{text[:at], text[at:]} {
				p.add([]byte(part), mostText)
				for {
					f, now, ok := p.after(m)
					if !ok {
						break
					}
					if !utf8.Valid(f.Data) || f.Offset != int64(len(have)) || len(f.Data) > mostFrame {
						t.Fatalf("offset %d, cut %d: a frame of %d bytes at %d after %d ends with %q", offset, cut, len(f.Data), f.Offset, len(have), f.Data[max(0, len(f.Data)-4):])
					}
					have, m = have+string(f.Data), now
				}
			}
			if have != text {
				t.Fatalf("offset %d, cut %d: %d bytes of %d came", offset, cut, len(have), len(text))
			}
		}
	}
}

// The outputs of many calls together stay bounded, and each keeps its end; a gap starts it again.
func TestOutputIsBounded(t *testing.T) {
	var gens int64
	newGen := func() int64 { gens++; return gens }
	l := newLive()
	for call := range 40 {
		p := journal.Place{Turn: 1, Index: call, Attempt: 1}
		for i := range int64(20) {
			l.take(&stream.Event{Call: &p, At: i * 100_000, Output: []byte(strings.Repeat(fmt.Sprint(i%10), 100_000))}, newGen)
		}
	}
	total := 0
	for _, p := range l.output {
		total += len(p.buf)
		if p.end() != 2_000_000 || len(p.buf) < leastTail {
			t.Errorf("a call keeps %d bytes up to %d", len(p.buf), p.end())
		}
	}
	if total > 5*mostOutput {
		t.Errorf("%d bytes are kept of all calls", total)
	}
	p := journal.Place{Turn: 1, Attempt: 1}
	l.take(&stream.Event{Call: &p, At: 3_000_000, Output: []byte("end")}, newGen)
	if f, _, ok := l.output[p].after(mark{l.output[p].gen, 2_000_000}); !ok || !f.Start || f.Offset != 3_000_000 || string(f.Data) != "end" {
		t.Errorf("after a gap: %+v, %t", f, ok)
	}
}

// STR-10: a body goes out as it is stored, without what is of no use or too large for who watches.
func TestWireForm(t *testing.T) {
	long := strings.Repeat("é", 20<<10)
	for name, c := range map[string]struct {
		body journal.Body
		want map[string]any
		gone []string
	}{
		"small": {journal.RunNoted{Text: "a <b> & c"}, map[string]any{"text": "a <b> & c"}, nil},
		"flow": {journal.RunCreated{Run: "r-1", FlowRun: journal.FlowRun{Flow: json.RawMessage(`{"name":"f.md","setups":{"m":{"system":"be brief"}}}`)}},
			map[string]any{"flow.name": "f.md", "flow.setups.m.system.bytes": "8", "flow.setups.m.system.digest": hexDigest("be brief")}, []string{`"be brief"`}},
		"setup": {journal.RunCreated{Run: "r-1", Setup: journal.Setup{System: "be brief", Images: []journal.Image{{Media: "image/png", Data: []byte("12345")}}}},
			map[string]any{"setup.system.bytes": "8", "setup.images.0.bytes": "5", "setup.images.0.media": "image/png",
				"setup.system.digest": hexDigest("be brief")}, []string{"be brief", "MTIzNDU"}},
		"opaque": {journal.ModelAnswered{Blocks: []journal.Block{{Kind: journal.BlockText, Text: "hi", Opaque: json.RawMessage(`{"x":"secret"}`)}}},
			map[string]any{"blocks.0.text": "hi"}, []string{"secret", "opaque"}},
		"long": {journal.RunCreated{Run: "r-1", Prompt: "x" + long}, map[string]any{"prompt": "x" + long[:mostString-2], "clipped.prompt": fmt.Sprint(len(long) + 1)}, nil},
	} {
		data, err := wireForm(c.body)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var tree any
		if err := json.Unmarshal(data, &tree); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for path, want := range c.want {
			if got := fmt.Sprint(at(tree, path)); got != fmt.Sprint(want) {
				t.Errorf("%s: %s is %.40s (%d bytes), want %.40v", name, path, got, len(got), want)
			}
		}
		for _, text := range c.gone {
			if strings.Contains(string(data), text) {
				t.Errorf("%s: %q is in %s", name, text, data)
			}
		}
	}
}

func at(tree any, path string) any {
	for _, name := range strings.Split(path, ".") {
		switch v := tree.(type) {
		case map[string]any:
			tree = v[name]
		case []any:
			tree = v[0]
		}
	}
	return tree
}

func hexDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// The file of a killed owner still has the output of a call that has its result, while another call
// of the turn goes on.
func TestOutputOfACallWithItsResult(t *testing.T) {
	l := newLive()
	one, two := journal.Place{Turn: 1, Attempt: 1}, journal.Place{Turn: 1, Index: 1, Attempt: 1}
	l.fact(&journal.Event{Turn: 1, Body: journal.CallSettled{Place: one}})
	for _, c := range []struct {
		call  journal.Place
		shown bool
	}{{one, false}, {two, true}} {
		if got := l.take(&stream.Event{Call: &c.call, Output: []byte("x")}, func() int64 { return 1 }); got != c.shown {
			t.Errorf("output of %s is shown: %t", c.call, got)
		}
	}
}
