package transport

import "bytes"

// lineScan finds out which bytes of an event stream are more than keep-alives. The zero value with
// sse false takes every byte for content.
//
// Source: html.spec.whatwg.org, Server-sent events, 9.2.6: a line that begins with a colon is a
// comment. Events named ping are Anthropic's keep-alives, events named keepalive OpenAI's.
type lineScan struct {
	sse    bool
	length int // bytes of the present line
	head   [48]byte
	ping   bool // the present event is a keep-alive
	cr     bool // the last byte was a carriage return
}

// take reads on; true when a byte of content was among it.
func (l *lineScan) take(p []byte) bool {
	if !l.sse {
		return true
	}
	content := false
	for len(p) > 0 {
		end := lineEnd(p)
		part := p
		if end >= 0 {
			part = p[:end]
		}
		if len(part) > 0 {
			l.cr = false
			if l.length < len(l.head) {
				copy(l.head[l.length:], part)
			}
			l.length += len(part)
			content = l.content(end >= 0) || content
		}
		if end < 0 {
			return content
		}
		if p[end] != '\n' || !l.cr {
			if l.length == 0 {
				l.ping = false
			} else if len(part) == 0 {
				content = l.content(true) || content
			}
			l.length = 0
		}
		l.cr = p[end] == '\r'
		p = p[end+1:]
	}
	return content
}

// lineEnd is where the first line ends; -1 when it does not.
func lineEnd(p []byte) int {
	end := bytes.IndexByte(p, '\n')
	before := p
	if end >= 0 {
		before = p[:end]
	}
	if cr := bytes.IndexByte(before, '\r'); cr >= 0 {
		return cr
	}
	return end
}

// content says whether the present line carries content, as far as it has come; a line that has not
// shown enough of itself carries none yet.
func (l *lineScan) content(whole bool) bool {
	head := l.head[:min(l.length, len(l.head))]
	if head[0] == ':' || !whole && l.length < len(l.head) {
		return false
	}
	name, value, _ := bytes.Cut(head, []byte(":"))
	value = bytes.TrimSpace(value)
	switch string(name) {
	case "event":
		l.ping = isPing(value)
		return !l.ping
	case "data":
		squeezed := bytes.ReplaceAll(value, []byte(" "), nil)
		for _, kind := range []string{"ping", "keepalive"} {
			if bytes.HasPrefix(squeezed, []byte(`{"type":"`+kind+`"`)) {
				return false
			}
		}
		return !l.ping
	case "id", "retry":
		return false
	}
	return true
}

func isPing(name []byte) bool {
	return bytes.Equal(name, []byte("ping")) || bytes.Equal(name, []byte("keepalive"))
}
