package transcript

import (
	"agent/recovery/journal"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The most of what was piped in that stands in the prompt, in bytes. Where the model's window is
// known, it is half of it, by the usual four bytes to a token.
const (
	maxInlineInput  = 1 << 20
	inputBytesToken = 2
)

// inputBlock is what was piped in, as the model sees it behind the prompt; empty where nothing was.
// Of a long input it has the beginning and the end, and how the rest is read.
func inputBlock(c *journal.RunCreated) string {
	if c.Input == "" {
		return ""
	}
	room := maxInlineInput
	if w := c.Setup.Window; w > 0 && w < maxInlineInput/inputBytesToken {
		room = int(w) * inputBytesToken
	}
	text := c.Input
	if len(text) > room {
		head, tail := room/2, len(text)-room/2
		for !utf8.RuneStart(text[head]) {
			head--
		}
		for tail < len(text) && !utf8.RuneStart(text[tail]) {
			tail++
		}
		text = fmt.Sprintf("%s\n[%d of %d bytes are left out here; read_output with call %s and an offset reads them]\n%s",
			text[:head], tail-head, len(text), c.Run, text[tail:])
	}
	// Nothing that was piped in ends the block and speaks for the person.
	text = strings.ReplaceAll(text, "</stdin>", `<\/stdin>`)
	return "\n\n<stdin>\n" + strings.TrimSuffix(text, "\n") + "\n</stdin>"
}
