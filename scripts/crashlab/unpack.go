//go:build linux

package main

import (
	"encoding/hex"
	"errors"
	"fmt"
)

// phrase is what a byte below a space stands for in a stored body. This is the file format, written down a second time: a
// checker that read it with the product's own code would believe what the product believes.
func phrase(b byte) string {
	return [0x20]string{
		0x01: `{"turn":`, 0x02: `,"index":0,"attempt":1`, 0x03: `,"index":`, 0x04: `,"attempt":`, 0x05: `,"fp":"hmac-sha256:v1:`,
		0x06: `,"result":{"outcome":"ok","applied":"yes","how":"executed","content":"`, 0x07: `,"result":{"outcome":"`,
		0x08: `","applied":"`, 0x09: `\n`, 0x0a: `,"how":"`, 0x0b: `,"content":"`,
		0x0c: `,"data":{"status":0,"cause":"exited","bytes":`, 0x0d: `,"kept":`, 0x0e: `},"size":`, 0x0f: `,"took":`,
		0x10: `{"calls":[{"id":"c-`, 0x11: `"},{"id":"c-`, 0x12: `","provider":"`, 0x13: `,"tool":"shell","args":{"command":"`,
		0x14: `,"tool":"`, 0x15: `","args":{"`, 0x16: `,"effect":"write_external"`, 0x17: `,"effect":"`,
		0x18: `,"decision":"allow"}],"stop":"calls"}`, 0x19: `,"decision":"`, 0x1a: `{"blocks":[{"kind":"text","text":"`,
		0x1b: `{"checkpoint":"r-`, 0x1c: `","turns_left":`, 0x1d: `\"`, 0x1e: `","path":"`, 0x1f: `,"usage":{"input":`,
	}[b]
}

// unpack gives back the JSON of a stored body.
func unpack(packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return nil, errors.New("its body is empty")
	}
	if packed[0] == 0 {
		return packed[1:], nil
	}
	var out []byte
	for i := 0; i < len(packed); i++ {
		c := packed[i]
		if c >= 0x20 {
			out = append(out, c)
			continue
		}
		words := phrase(c)
		if words == "" {
			return nil, fmt.Errorf("its body holds the byte %#02x, which stands for nothing", c)
		}
		out = append(out, words...)
		if c == 0x05 {
			if len(packed) < i+33 {
				return nil, errors.New("its body ends inside a fingerprint")
			}
			out = append(out, hex.EncodeToString(packed[i+1:i+33])...)
			i += 32
		}
	}
	return out, nil
}
