package transport

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"agent/host/model"
	"agent/recovery/fault"
	"agent/recovery/journal"
)

// told is what an error's body says. Providers put the same four facts in different places.
type told struct {
	kind    string // such as rate_limit_error
	code    string // such as insufficient_quota
	message string
	origin  string
	status  int // where the body names one
}

// Status is the error for an answer's status, headers and body. A provider also reports an error
// inside a stream that began with 200: then the body alone says what it is, and an error of no
// known kind counts as the server's.
//
// Sources: platform.claude.com/docs/en/api/errors, platform.openai.com/docs/guides/error-codes,
// openrouter.ai/docs/api-reference/errors, llama.cpp tools/server/README.md, and for the headers
// also platform.openai.com/docs/guides/rate-limits and RFC 9110, 10.2.3.
func Status(status int, header http.Header, body []byte, secrets []string) *model.Error {
	t := readTold(body)
	if status < 400 {
		status = t.status
	}
	e := &model.Error{Fault: classify(status, t), Status: status, Origin: t.origin}
	for _, name := range []string{"Request-Id", "X-Request-Id"} {
		if id := header.Get(name); id != "" {
			e.Origin = line(id, 200)
			break
		}
	}
	e.Message = clean(t.message, secrets)
	switch {
	case e.Message != "":
	case status != 0:
		e.Message = clean("the provider answered "+strconv.Itoa(status)+" "+http.StatusText(status)+title(body), secrets)
	default:
		e.Message = "the provider reported an error and no reason"
	}
	switch e.Fault {
	case journal.FaultRateLimit, journal.FaultOverloaded, journal.FaultServer:
		e.After = after(header, e.Fault == journal.FaultRateLimit, fault.Now())
	}
	return e
}

func readTold(body []byte) told {
	var whole struct {
		Error    json.RawMessage `json:"error"`
		Response struct {
			Error json.RawMessage `json:"error"`
		} `json:"response"`
		Detail    json.RawMessage `json:"detail"`
		Type      string          `json:"type"`
		Message   string          `json:"message"`
		Code      json.RawMessage `json:"code"`
		RequestID string          `json:"request_id"`
	}
	if !unmarshal(bytes.TrimSpace(body), &whole) {
		return told{message: plain(body)}
	}
	t := told{kind: whole.Type, message: whole.Message, code: word(whole.Code), origin: line(whole.RequestID, 200)}
	for _, raw := range []json.RawMessage{whole.Error, whole.Response.Error, whole.Detail} {
		var inner struct {
			Type    string          `json:"type"`
			Code    json.RawMessage `json:"code"`
			Status  string          `json:"status"`
			Message string          `json:"message"`
		}
		var text string
		switch {
		case len(raw) == 0 || string(raw) == "null":
			continue
		case unmarshal(raw, &text):
			t.message = text
		case unmarshal(raw, &inner):
			t.kind, t.message = inner.Type, inner.Message
			if code := word(inner.Code); code != "" {
				t.code = code
			}
		default:
			t.message = string(raw)
		}
		break
	}
	if n, err := strconv.Atoi(t.code); err == nil && n >= 400 && n < 600 {
		t.status = n
	}
	return t
}

// word is a JSON string's text or a number's digits.
func word(raw json.RawMessage) string {
	var s string
	if unmarshal(raw, &s) {
		return s
	}
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9') {
		return string(raw)
	}
	return ""
}

func unmarshal(raw []byte, v any) bool { return len(raw) > 0 && json.Unmarshal(raw, v) == nil }

// saysError says that a JSON body is an error's.
func saysError(body []byte) bool {
	var whole struct {
		Error json.RawMessage `json:"error"`
	}
	return unmarshal(body, &whole) && len(whole.Error) > 0 && string(whole.Error) != "null"
}

// plain is a body that is a line of text.
func plain(body []byte) string {
	text := strings.TrimSpace(string(body))
	if strings.HasPrefix(text, "<") {
		return ""
	}
	return text
}

// title is what a web page calls itself, to stand behind a sentence.
func title(body []byte) string {
	lower := bytes.ToLower(body)
	from := bytes.Index(lower, []byte("<title>"))
	if from < 0 || len(lower) != len(body) {
		return ""
	}
	rest := body[from+len("<title>"):]
	end := bytes.IndexByte(rest, '<')
	if end <= 0 {
		return ""
	}
	return ": " + line(string(rest[:end]), 100)
}

// classify finds the fault. What the body says is more exact than the status: a status of 429 is
// also sent when nothing is left to pay with, and a status of 400 for almost everything.
func classify(status int, t told) journal.Fault {
	text := strings.ToLower(t.kind + " " + t.code + " " + t.message)
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
	switch {
	case status == http.StatusPaymentRequired,
		has("insufficient_quota", "billing_error", "billing_hard_limit", "billing_not_active", "credit balance", "insufficient credit", "insufficient balance", "insufficient_balance", "exceeded your current quota"):
		return journal.FaultCredit
	case has("content_filter", "content_policy", "content policy", "content management policy", "content filtering policy", "responsibleaipolicy", "requires moderation"):
		return journal.FaultFiltered
	case status == http.StatusRequestEntityTooLarge,
		has("context_length_exceeded", "prompt is too long", "prompt too long", "maximum context length", "exceed context limit", "exceed_context_size", "exceeds the available context size", "exceeds the context window", "request_too_large"),
		has("request too large for") && status == http.StatusTooManyRequests:
		return journal.FaultContext
	case has("model_not_found", "model_not_available", "not a valid model"), has("does not exist") && has("model"),
		status == http.StatusNotFound && has("model"), t.kind == "not_found_error" && has("model"):
		return journal.FaultNoModel
	}
	return byStatus(status, has)
}

func byStatus(status int, has func(...string) bool) journal.Fault {
	switch {
	case status == http.StatusTooManyRequests:
		return journal.FaultRateLimit
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return journal.FaultKey
	case status == http.StatusServiceUnavailable, status == 529:
		return journal.FaultOverloaded
	case status >= 500, status == http.StatusRequestTimeout:
		return journal.FaultServer
	case status != 0:
		return journal.FaultRequest
	case has("rate_limit"):
		return journal.FaultRateLimit
	case has("overloaded", "slow_down"):
		return journal.FaultOverloaded
	case has("authentication_error", "permission_error", "invalid_api_key"):
		return journal.FaultKey
	case has("invalid_request", "not_found_error", "invalid_prompt"):
		return journal.FaultRequest
	}
	return journal.FaultServer
}

// after is how long the provider wants no request; 0 when it does not say. The headers that tell
// when a rate limit is full again are read where a rate was exceeded: of those, the ones whose
// limit is used up.
func after(h http.Header, limited bool, now time.Time) time.Duration {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date // its clock and ours may differ
	}
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 {
		return seconds(ms / 1000)
	}
	if v := h.Get("Retry-After"); v != "" {
		if s, err := strconv.ParseFloat(v, 64); err == nil && s >= 0 {
			return seconds(s)
		}
		if at, err := http.ParseTime(v); err == nil {
			return max(0, at.Sub(now))
		}
	}
	var longest time.Duration
	if !limited {
		return 0
	}
	for name, values := range h {
		lower := strings.ToLower(name)
		if !strings.Contains(lower, "ratelimit") || !strings.Contains(lower, "reset") || len(values) == 0 {
			continue
		}
		left := h.Get(strings.Replace(lower, "reset", "remaining", 1))
		if left == "" || left == "0" {
			longest = max(longest, reset(values[0], now))
		}
	}
	return longest
}

// reset reads a duration (6m0s), seconds, a time in seconds or milliseconds since 1970, or one of
// RFC 3339.
func reset(v string, now time.Time) time.Duration {
	if d, err := time.ParseDuration(v); err == nil {
		return max(0, d)
	}
	if at, err := time.Parse(time.RFC3339, v); err == nil {
		return max(0, at.Sub(now))
	}
	n, err := strconv.ParseFloat(v, 64)
	switch {
	case err != nil:
		return 0
	case n > 1e11:
		return max(0, time.UnixMilli(int64(min(n, 1e15))).Sub(now))
	case n > 1e8:
		return max(0, time.Unix(int64(n), 0).Sub(now))
	}
	return seconds(n)
}

func seconds(s float64) time.Duration {
	if math.IsNaN(s) || s <= 0 {
		return 0
	}
	return time.Duration(min(s, 1e9) * float64(time.Second))
}
