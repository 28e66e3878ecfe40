package db

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// Bodies are JSON, and JSON has no byte below a space. So in the journal those bytes stand for what every turn says again:
// a third of a small body, and nothing has to be learned to read the rest. Digests and hashes are of the JSON.

// phrases says what a byte stands for. It is on disks: a line may be added, and none is ever changed. It is read only.
var phrases = [0x20]string{
	0x01: `{"turn":`,
	0x02: `,"index":0,"attempt":1`,
	0x03: `,"index":`,
	0x04: `,"attempt":`,
	0x05: `,"fp":"hmac-sha256:v1:`, // followed by the 32 bytes of the hash instead of its 64 digits
	0x06: `,"result":{"outcome":"ok","applied":"yes","how":"executed","content":"`,
	0x07: `,"result":{"outcome":"`,
	0x08: `","applied":"`,
	0x09: `\n`,
	0x0a: `,"how":"`,
	0x0b: `,"content":"`,
	0x0c: `,"data":{"status":0,"cause":"exited","bytes":`,
	0x0d: `,"kept":`,
	0x0e: `},"size":`,
	0x0f: `,"took":`,
	0x10: `{"calls":[{"id":"c-`,
	0x11: `"},{"id":"c-`,
	0x12: `","provider":"`,
	0x13: `,"tool":"shell","args":{"command":"`,
	0x14: `,"tool":"`,
	0x15: `","args":{"`,
	0x16: `,"effect":"write_external"`,
	0x17: `,"effect":"`,
	0x18: `,"decision":"allow"}],"stop":"calls"}`,
	0x19: `,"decision":"`,
	0x1a: `{"blocks":[{"kind":"text","text":"`,
	0x1b: `{"checkpoint":"r-`,
	0x1c: `","turns_left":`,
	0x1d: `\"`,
	0x1e: `","path":"`,
	0x1f: `,"usage":{"input":`,
}

const (
	asItIs     = 0x00 // before a body that is stored unchanged
	hashFollow = 0x05
	hashBytes  = 32
)

// byFirst lists the bytes whose phrase begins with a letter, the longest phrase first. It is read only.
var byFirst = sortPhrases()

func sortPhrases() (out [256][]byte) {
	for b, p := range phrases {
		if p == "" {
			continue
		}
		list := append(out[p[0]], byte(b))
		for i := len(list) - 1; i > 0 && len(phrases[list[i]]) > len(phrases[list[i-1]]); i-- {
			list[i], list[i-1] = list[i-1], list[i]
		}
		out[p[0]] = list
	}
	return out
}

// pack shortens a body for its row.
func pack(body []byte) []byte {
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); {
		c := body[i]
		if c < 0x20 {
			return append([]byte{asItIs}, body...) // not JSON as encode writes it
		}
		n := 0
		for _, b := range byFirst[c] {
			if n = phraseAt(body[i:], b); n > 0 {
				out = append(out, b)
				break
			}
		}
		switch {
		case n == 0:
			out = append(out, c)
			i++
		case out[len(out)-1] == hashFollow:
			out = hexAppend(out, body[i+n:i+n+2*hashBytes])
			i += n + 2*hashBytes
		default:
			i += n
		}
	}
	return out
}

// phraseAt is the length of a byte's phrase at the beginning of text; 0 when it does not stand there.
func phraseAt(text []byte, b byte) int {
	p := phrases[b]
	if len(text) < len(p) || string(text[:len(p)]) != p {
		return 0
	}
	if b == hashFollow && !digits(text[len(p):]) {
		return 0
	}
	return len(p)
}

// digits says whether the digits of a hash follow, as we write them.
func digits(text []byte) bool {
	if len(text) < 2*hashBytes {
		return false
	}
	for _, c := range text[:2*hashBytes] {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

func hexAppend(out, text []byte) []byte {
	var hash [hashBytes]byte
	if _, err := hex.Decode(hash[:], text); err != nil {
		return out // digits has looked at each
	}
	return append(out, hash[:]...)
}

// unpack gives back a body.
func unpack(packed []byte) ([]byte, error) { return appendUnpacked(nil, packed) }

// appendUnpacked adds a body to the end of out.
func appendUnpacked(out, packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return nil, errors.New("it is empty")
	}
	if packed[0] == asItIs {
		return append(out, packed[1:]...), nil
	}
	out = slices.Grow(out, len(packed)+len(packed)/4+256)
	start := 0
	for i := 0; i < len(packed); i++ {
		c := packed[i]
		if c >= 0x20 {
			continue
		}
		out = append(out, packed[start:i]...)
		if phrases[c] == "" {
			return nil, fmt.Errorf("it holds the byte %#02x, which this binary does not know", c)
		}
		out = append(out, phrases[c]...)
		if c == hashFollow {
			if len(packed) < i+1+hashBytes {
				return nil, errors.New("it ends inside a hash")
			}
			out = hex.AppendEncode(out, packed[i+1:i+1+hashBytes])
			i += hashBytes
		}
		start = i + 1
	}
	return append(out, packed[start:]...), nil
}
