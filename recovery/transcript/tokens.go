package transcript

import "agent/recovery/journal"

// Estimates of tokens, for what no provider has counted. They are meant to be a little high rather
// than low: measured against o200k over source, prose of several languages and base64, bytes
// divided by four is up to two thirds too low.

// blobRun is how long a word without a break must be to count as encoded data.
const blobRun = 24

// imageTokens is what a picture of usual size costs; providers scale larger ones down.
const imageTokens = 1600

// TokensIn estimates the tokens of a text: three bytes and a half a token, and one and a half where
// it is encoded data.
func TokensIn(text string) int64 {
	halves, run := int64(0), 0 // in 21sts of a token: 6 a byte of text, 14 a byte of data
	flush := func() {
		if run >= blobRun {
			halves += int64(run) * 14
		} else {
			halves += int64(run) * 6
		}
		run = 0
	}
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '+', c == '/', c == '_', c == '-', c == '=':
			run++
		default:
			flush()
			halves += 6
		}
	}
	flush()
	return (halves + 20) / 21
}

// blockOverhead is what the frame of a block or message costs.
const blockOverhead = 8

func blockTokens(b *journal.Block) int64 {
	n := int64(blockOverhead) + TokensIn(b.Text) + TokensIn(string(b.Opaque))
	switch {
	case b.Call != nil:
		n += TokensIn(b.Call.Tool) + TokensIn(string(b.Call.Args))
	case b.Result != nil:
		n += TokensIn(b.Result.Text)
	case b.Image != nil:
		n += imageTokens
	}
	return n
}

func tokensOf(messages []journal.Message) int64 {
	n := int64(0)
	for i := range messages {
		for j := range messages[i].Blocks {
			n += blockTokens(&messages[i].Blocks[j])
		}
	}
	return n
}
