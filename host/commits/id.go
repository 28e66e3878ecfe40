package commits

import (
	"encoding/base32"
	"encoding/hex"
	"slices"
	"strings"

	"agent/host/drive"
)

// idLetters is how many letters follow k- in the id of a checkpoint: 60 bits.
const idLetters = 12

// MintFrom makes the id of a checkpoint from hex digits, of which it takes the first 60 bits.
func MintFrom(digits string) string {
	raw, err := hex.DecodeString(digits)
	if err != nil {
		panic(err) // names of contents are hex
	}
	return "k-" + base32.NewEncoding(drive.IDLetters).WithPadding(base32.NoPadding).EncodeToString(raw)[:idLetters]
}

// ids lists what has the form of a checkpoint's id in a text, each once.
func ids(text string) (out []string) {
	for rest := text; ; {
		at := strings.Index(rest, "k-")
		if at < 0 {
			return out
		}
		alone := at == 0 || !isWord(rest[at-1])
		rest = rest[at+2:]
		n := 0
		for n < len(rest) && strings.IndexByte(drive.IDLetters, rest[n]) >= 0 {
			n++
		}
		id := "k-" + rest[:min(n, idLetters)]
		if alone && n == idLetters && (n == len(rest) || !isWord(rest[n])) && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
}

func isWord(b byte) bool {
	return b == '-' || b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}

// without leaves out of a list what another has.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}
