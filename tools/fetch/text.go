package fetch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// Text is what a response says, in UTF-8.
type Text struct {
	Type   string // the media type, as far as it is known
	Text   string
	Binary bool     // Text is a sentence of ours about the bytes
	Notes  []string // what was made of the response that it does not say itself
}

// Read turns a response's body into text. HTML becomes readable text, unless it is wanted raw.
func (r *Response) Read(raw bool) Text {
	kind, label, said := mediaType(r.Header.Get("Content-Type"))
	t := Text{Type: kind}
	if len(r.Body) == 0 {
		return t
	}
	if r.Coded != "" {
		t.Notes = append(t.Notes, "its content coding is not known here")
		return t.binary(r.Body)
	}
	if !said || kind == "application/octet-stream" {
		kind, _, _ = mediaType(http.DetectContentType(r.Body))
		if t.Type = kind; said && kind != "application/octet-stream" {
			t.Notes = append(t.Notes, "it is called application/octet-stream and looks like "+kind)
		}
	}
	if !isText(kind) {
		return t.binary(r.Body)
	}
	text, notes := decode(r.Body, kind, label)
	if strings.ContainsRune(text, 0) {
		return t.binary(r.Body)
	}
	t.Notes = append(t.Notes, notes...)
	t.Text = text
	if !raw && (kind == "text/html" || kind == "application/xhtml+xml") {
		page, whole := Render(text, r.URL)
		if t.Text = page; !whole {
			t.Notes = append(t.Notes, "the page was too large to be turned into text whole")
		}
		t.Notes = append(t.Notes, "HTML as text")
	}
	return t
}

func (t Text) binary(body []byte) Text {
	sum := sha256.Sum256(body)
	t.Binary = true
	t.Text = fmt.Sprintf("not text: %d bytes, SHA-256 %s", len(body), hex.EncodeToString(sum[:]))
	return t
}

// mediaType reads a Content-Type leniently. said is false where there is none that can be read.
func mediaType(header string) (kind, label string, said bool) {
	kind, params, err := mime.ParseMediaType(header)
	if err != nil {
		kind, _, _ = strings.Cut(header, ";")
		kind, params = strings.ToLower(strings.TrimSpace(kind)), nil
	}
	first, second, ok := strings.Cut(kind, "/")
	if !ok || !isToken(first) || !isToken(second) || len(kind) > 100 {
		return "", "", false
	}
	return kind, params["charset"], true
}

func isText(kind string) bool {
	if strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml") ||
		strings.HasSuffix(kind, "+yaml") {
		return true
	}
	switch kind {
	case "application/json", "application/xml", "application/javascript", "application/ecmascript", "application/x-javascript",
		"application/ndjson", "application/x-ndjson", "application/jsonl", "application/json-seq", "application/yaml",
		"application/x-yaml", "application/toml", "application/graphql", "application/sql", "application/x-sh",
		"application/x-www-form-urlencoded", "application/xml-dtd", "application/pgp-signature", "application/x-tex":
		return true
	}
	return false
}

// decode makes UTF-8 of a text: by its byte order mark, by what the response calls it, by what the
// text calls itself, and where that does not fit the bytes, by the bytes.
func decode(body []byte, kind, label string) (string, []string) {
	var notes []string
	if isJSON(kind) && !marked(body) {
		label = "utf-8" // RFC 8259, 8.1
	}
	as := "text/html"
	if label != "" {
		if enc, _ := charset.Lookup(label); enc == nil {
			notes = append(notes, "its charset is not known here")
		} else {
			as += "; charset=" + label
		}
	}
	enc, name, certain := charset.DetermineEncoding(body, as)
	if !marked(body) {
		fits := utf8.Valid(body)
		switch {
		case name == "utf-8" && !fits && !isJSON(kind) && cutRune(body) > utf8.UTFMax:
			notes = append(notes, "it is called utf-8 and is not; read as windows-1252")
			enc, _ = charset.Lookup("windows-1252")
		case fits && name != "utf-8" && !isASCII(body) && !strings.HasPrefix(name, "utf-16"):
			if certain {
				notes = append(notes, "it is called "+name+" and is utf-8")
			}
			enc, _ = charset.Lookup("utf-8")
		}
	}
	text, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return strings.ToValidUTF8(string(body), "\uFFFD"), append(notes, "it cannot be decoded as "+name)
	}
	text = bytes.TrimPrefix(text, []byte("\uFEFF"))
	clean := strings.ToValidUTF8(string(text), "\uFFFD")
	if strings.Contains(clean, "\uFFFD") && !bytes.Contains(body, []byte("\uFFFD")) {
		notes = append(notes, "bytes that do not fit its charset are shown as \uFFFD")
	}
	return clean, notes
}

func isJSON(kind string) bool { return kind == "application/json" || strings.HasSuffix(kind, "+json") }

func isASCII(b []byte) bool {
	return !bytes.ContainsFunc(b, func(r rune) bool { return r >= utf8.RuneSelf })
}

// marked says whether a text begins with a byte order mark.
func marked(b []byte) bool {
	return bytes.HasPrefix(b, []byte("\xEF\xBB\xBF")) || bytes.HasPrefix(b, []byte("\xFE\xFF")) || bytes.HasPrefix(b, []byte("\xFF\xFE"))
}

// cutRune says how many bytes follow the last place up to which a text is UTF-8: up to three where
// a bound cut a rune in two.
func cutRune(b []byte) int {
	good := 0
	for good < len(b) {
		r, n := utf8.DecodeRune(b[good:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		good += n
	}
	return len(b) - good
}
