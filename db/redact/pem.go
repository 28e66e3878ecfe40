package redact

import "strings"

const pemLongest = 32 << 10 // bytes of a private key block: RSA with 16384 bits has 12.7 KB

// findPEM finds the private key block (RFC 7468, and OpenPGP's) whose "PRIVATE KEY" stands at at:
// the whole block, or what there is of it where its end or its beginning was cut off.
func findPEM(text string, at int, add func(from, to int, rule string)) {
	line, ok := pemLine(text, at)
	if !ok {
		return
	}
	if line.begin {
		n, _ := pemBody(text[line.to:])
		if body := text[line.to : line.to+n]; strings.Contains(body, pemEnd) || longestRun(body) >= pemRun {
			add(line.from, line.to+n, pemRule)
		}
		return
	}
	from := line.from
	for from > 0 && line.from-from < pemLongest && pemByte(text[from-1]) {
		from--
	}
	body := strings.TrimLeft(text[from:line.from], " \t\r\n\\\"'")
	if longestRun(body) >= pemRun {
		add(line.from-len(body), line.to, pemRule)
	}
}

// pemRun is how many characters of base64 in a row make a body: fewer are prose about keys.
const pemRun = 20

func longestRun(s string) int {
	n, most := 0, 0
	for i := range len(s) {
		if n++; !base64Byte(s[i]) {
			n = 0
		}
		most = max(most, n)
	}
	return most
}

type pemMark struct {
	from, to int
	begin    bool
}

// pemLine is the line -----BEGIN … PRIVATE KEY----- around at.
func pemLine(text string, at int) (pemMark, bool) {
	left := text[max(0, at-64):at]
	dashes := strings.LastIndex(left, "-----")
	if dashes < 0 {
		return pemMark{}, false
	}
	word := strings.ToUpper(left[dashes+5:])
	m := pemMark{from: at - len(left) + dashes, begin: strings.HasPrefix(word, "BEGIN ")}
	if !m.begin && !strings.HasPrefix(word, "END ") {
		return m, false
	}
	rest := at + len("private key")
	m.to = rest
	tail := text[rest:min(len(text), rest+16)]
	i := strings.Index(tail, "-----")
	if i < 0 || strings.Trim(strings.ToUpper(tail[:i]), " BLOCK") != "" {
		return m, false
	}
	m.to = rest + i + 5
	return m, true
}

// pemBody is the length of what follows a block's first line: up to the end of its last, or as far
// as it looks like one. It is complete when what comes after it cannot make it longer.
func pemBody(text string) (n int, complete bool) {
	for n < len(text) {
		switch {
		case pemByte(text[n]):
			n++
		case text[n] == '-' && strings.HasPrefix(text[n:], pemEnd):
			from := n + len(pemEnd)
			if end := strings.Index(text[from:min(len(text), from+80)], "-----"); end >= 0 {
				return from + end + 5, true
			}
			return min(len(text), from+80), len(text) >= from+80
		case text[n] == '-' && strings.HasPrefix(pemEnd, text[n:]):
			return len(text), false
		default:
			header := pemHeader(text[n:])
			if header == 0 {
				return n, true
			}
			n += header
		}
	}
	return n, false
}

const (
	pemBegin = "-----BEGIN "
	pemEnd   = "-----END"
)

// pemHeader is the rest of a line such as "Proc-Type: 4,ENCRYPTED" from its first byte on that is
// no base64.
func pemHeader(text string) int {
	line, _, _ := strings.Cut(text[:min(len(text), 200)], "\n")
	switch {
	case strings.HasPrefix(line, ": ") || line == ":":
		return len(line)
	case strings.HasPrefix(line, "-Type: ") || strings.HasPrefix(line, "-Info: "):
		return len(line)
	}
	return 0
}

// pemByte says what a block consists of, also where it stands in a string: quoted, escaped, put
// together from lines.
func pemByte(b byte) bool {
	return letter(b) || digit(b) || passed(b) || b == '/' || b == '=' || b == ',' || b == '>' || b == '|'
}

// openPEM is where a block begins of which the end has not come: len(text) if there is none.
func openPEM(text string) int {
	if !strings.Contains(text, pemBegin) {
		return len(text) // which is seen many times as fast as where the last one is
	}
	at := strings.LastIndex(text, pemBegin)
	const longestLine = 100
	name := strings.Index(text[at:min(len(text), at+longestLine)], "PRIVATE KEY")
	if name < 0 {
		// Its first line may not be whole.
		if rest := text[at+len(pemBegin):]; len(rest) < longestLine && strings.Trim(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ") == "" {
			return at
		}
		return len(text)
	}
	line, ok := pemLine(text, at+name)
	if !ok {
		if len(text)-at < longestLine {
			return at
		}
		return len(text)
	}
	if _, complete := pemBody(text[line.to:]); complete {
		return len(text)
	}
	return at
}
