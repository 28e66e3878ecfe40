package fetch

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Bounds of a request.
const (
	DefaultTimeout = 30 * time.Second
	MaxTimeout     = 300 * time.Second
	DefaultBytes   = 1 << 20
	MaxBytes       = 10 << 20
	maxHeaders     = 100
	maxHeaderBytes = 64 << 10 // of a request's, and of a response's
)

// Request is what is asked of a server.
type Request struct {
	URL      string
	Method   string // GET when empty
	Headers  map[string]string
	Body     string
	Timeout  time.Duration // for everything; DefaultTimeout when 0
	MaxBytes int64         // of the response's body; DefaultBytes when 0
	Key      string        // Idempotency-Key of a request that writes
}

// Methods are those that can be asked for.
func Methods() []string {
	return []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
}

// Check says what is wrong with a request, without asking anybody.
func (o Options) Check(r Request) error {
	_, at, err := Parse(r.URL)
	if err != nil {
		return err
	}
	if a, err := netip.ParseAddr(at.host); err == nil {
		if err := o.judge(at, a); err != nil {
			return err
		}
	}
	switch {
	case r.Method != "" && !slices.Contains(Methods(), r.Method):
		return fmt.Errorf("there is no method %q here", r.Method)
	case r.Body != "" && !Writes(r.Method):
		return errors.New("GET and HEAD take no body")
	case len(r.Body) > MaxBytes:
		return fmt.Errorf("the body has more than %d bytes", MaxBytes)
	}
	return checkHeaders(r.Headers)
}

func checkHeaders(headers map[string]string) error {
	seen, size := map[string]bool{}, 0
	for name, value := range headers {
		if size += len(name) + len(value); len(headers) > maxHeaders || size > maxHeaderBytes {
			return fmt.Errorf("the headers are too many: up to %d, of %d bytes together", maxHeaders, maxHeaderBytes)
		}
		if !isToken(name) {
			return fmt.Errorf("%q is no header's name", name)
		}
		low := strings.ToLower(name)
		if seen[low] {
			return fmt.Errorf("the header %s is given twice", name)
		}
		seen[low] = true
		if why := reserved(low); why != "" {
			return fmt.Errorf("the header %s cannot be set: %s", name, why)
		}
		if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return fmt.Errorf("the value of the header %s holds a control character", name)
		}
	}
	return nil
}

// reserved says why a header, in small letters, is not the caller's to set; "" when it is.
func reserved(name string) string {
	// Some servers read an underscore as a hyphen.
	switch name = strings.ReplaceAll(name, "_", "-"); name {
	case "host", "content-length", "connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "expect",
		"accept-encoding", "http2-settings":
		return "it follows from the request"
	case "idempotency-key":
		return "it is made from the call's identity"
	case "x-http-method-override", "x-http-method", "x-method-override":
		return "the method is what method says"
	}
	if strings.HasPrefix(name, "proxy-") {
		return "no proxy is used"
	}
	return ""
}

// isToken says whether a text is a token of RFC 9110, 5.6.2.
func isToken(s string) bool {
	const marks = "!#$%&'*+-.^_`|~"
	return s != "" && strings.Trim(s, marks+"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// header makes the header of the request that is sent.
func (o Options) header(r Request) http.Header {
	h := http.Header{"Accept-Encoding": {"gzip, deflate"}, "User-Agent": {o.Agent}, "Accept": {"*/*"}}
	for name, value := range r.Headers {
		h.Set(name, value)
	}
	if Writes(r.Method) && r.Key != "" {
		h.Set("Idempotency-Key", r.Key)
	}
	return h
}
