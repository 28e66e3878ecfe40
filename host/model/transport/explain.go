package transport

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"agent/host/model"
	"agent/recovery/journal"
)

// Refused is an answer that is none: its status says so, or what came is not what was asked for.
type Refused struct {
	Status   int
	Header   http.Header
	Body     []byte // its first 256 KiB, or what came of them
	Host     string
	Location string // where a redirect leads

	page    bool // a web page
	whole   bool // JSON in one piece, where a stream was asked for
	secrets []string
}

func (r *Refused) Error() string {
	return fmt.Sprintf("%s answered %d %s", r.Host, r.Status, http.StatusText(r.Status))
}

// explain says why.
func (r *Refused) explain() *model.Error {
	e := Status(r.Status, r.Header, r.Body, r.secrets)
	e.Err = r
	say := func(f journal.Fault, what, remedy string) {
		e.Fault, e.Message, e.Remedy = f, clean(what, r.secrets), remedy
	}
	switch {
	case r.Location != "":
		say(journal.FaultRequest, fmt.Sprintf("the server at %s redirects to %s, where the key is not sent", r.Host, r.Location), "give that address as the base URL if it is the right one")
	case r.page:
		say(journal.FaultGarbage, fmt.Sprintf("the server at %s answered with a web page instead of a model's answer%s", r.Host, title(r.Body)), "check the base URL")
	case r.whole && !saysError(r.Body):
		say(journal.FaultGarbage, fmt.Sprintf("the server at %s answered in one piece though a stream was asked for", r.Host), "check that the server can stream")
	case e.Fault == journal.FaultRequest && (r.Status == http.StatusNotFound || r.Status == http.StatusMethodNotAllowed):
		e.Remedy = "check the base URL"
	}
	return e
}

// brokenError is an exchange that did not come to its end.
type brokenError struct {
	host    string
	cause   error
	stalled time.Duration // waited for so long; 0 when it did not stall
	alive   bool          // keep-alives came meanwhile
	body    bool          // within the answer, behind its headers
	some    bool          // a part of the answer's content came
	fault   journal.Fault
	what    string // with fault
	secrets []string
}

func (b *brokenError) Error() string { return b.explain(false).Message }

// Unwrap is what the connection said; nil where a bound ended the exchange.
func (b *brokenError) Unwrap() error { return b.cause }

func (b *brokenError) explain(began bool) *model.Error {
	e := &model.Error{Fault: journal.FaultNetwork, Began: began, Err: b}
	what := ""
	switch {
	case b.fault != "":
		e.Fault, what = b.fault, b.what
		if !b.body && (b.fault == journal.FaultGarbage || b.fault == journal.FaultRequest) {
			e.Remedy = "check the base URL"
		}
	case b.stalled > 0 && b.alive:
		e.Fault = journal.FaultStalled
		what = fmt.Sprintf("%s sent nothing but keep-alives for %s", b.host, b.stalled)
	case b.stalled > 0 && b.body:
		e.Fault = journal.FaultStalled
		what = fmt.Sprintf("the answer of %s stalled: no byte came for %s", b.host, b.stalled)
	case b.stalled > 0:
		e.Fault = journal.FaultStalled
		what = fmt.Sprintf("%s did not answer within %s", b.host, b.stalled)
	case b.body && (began || b.some):
		e.Fault = journal.FaultCut
		what = fmt.Sprintf("the answer of %s broke off: %s", b.host, connection(b.cause))
	case b.body:
		what = fmt.Sprintf("the connection to %s broke before the answer began: %s", b.host, connection(b.cause))
	default:
		what, e.Remedy = b.unconnected()
	}
	e.Message = clean(what, b.secrets)
	return e
}

// unconnected says why no answer began, and what can be done about it.
func (b *brokenError) unconnected() (what, remedy string) {
	var dns *net.DNSError
	var op *net.OpError
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(b.cause, &dns):
		return fmt.Sprintf("look up %s: %s", dns.Name, dns.Err), "check the base URL and the network"
	case errors.As(b.cause, &cert), errors.As(b.cause, &unknown):
		return fmt.Sprintf("connect to %s: its certificate is not accepted: %s", b.host, connection(b.cause)), "check the base URL, the clock and the proxy"
	case errors.As(b.cause, &record):
		return fmt.Sprintf("connect to %s: it does not speak TLS", b.host), "check whether the base URL should begin with http://"
	case strings.Contains(b.cause.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Sprintf("connect to %s: it does not speak TLS", b.host), "check whether the base URL should begin with http://"
	case errors.As(b.cause, &op) && op.Op == "dial" && errors.Is(b.cause, syscall.ECONNREFUSED):
		return fmt.Sprintf("connect to %s: connection refused", b.host), "check that the server runs and the base URL"
	case errors.As(b.cause, &op) && op.Op == "proxyconnect", strings.Contains(b.cause.Error(), http.StatusText(http.StatusProxyAuthRequired)):
		return fmt.Sprintf("connect to %s through the proxy: %s", b.host, connection(b.cause)), "check HTTPS_PROXY, HTTP_PROXY and NO_PROXY"
	case errors.As(b.cause, &op) && op.Op == "dial":
		return fmt.Sprintf("connect to %s: %s", b.host, connection(b.cause)), "check the network"
	}
	return fmt.Sprintf("the connection to %s broke before the answer began: %s", b.host, connection(b.cause)), ""
}

// connection is what the operating system says, without the addresses of a connection around it.
func connection(err error) string {
	var errno syscall.Errno
	var timeout net.Error
	switch {
	case errors.As(err, &errno):
		return errno.Error()
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "closed by the other side"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timed out"
	}
	return err.Error()
}

// Explain turns what this package's client, or the reading of a stream, returned into the fault
// that it is. began says that a part of the answer was taken from the stream. A stream that ends
// before its answer does is io.ErrUnexpectedEOF here.
//
// A context's own error is the caller's to return as it is; here it counts as a broken connection.
// An *model.Error comes back as it is.
func Explain(err error, began bool) *model.Error {
	var done *model.Error
	var refused *Refused
	var broken *brokenError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &done):
		done.Began = done.Began || began
		return done
	case errors.As(err, &refused):
		return refused.explain()
	case errors.As(err, &broken):
		return broken.explain(began)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &model.Error{Fault: journal.FaultNetwork, Message: clean("the request was aborted: "+err.Error(), nil), Began: began, Err: err}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, errClosed):
		return &model.Error{Fault: journal.FaultCut, Message: "the answer broke off before its end", Began: began, Err: err}
	case errors.Is(err, bufio.ErrTooLong):
		return &model.Error{Fault: journal.FaultTooLarge, Message: "a line of the answer is larger than what is taken", Began: began, Err: err}
	}
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if began || errors.As(err, &syntax) || errors.As(err, &kind) {
		return &model.Error{Fault: journal.FaultGarbage, Message: clean("the answer is not the provider's protocol: "+err.Error(), nil), Began: began, Err: err}
	}
	return &model.Error{Fault: journal.FaultRequest, Message: clean(err.Error(), nil), Err: err}
}
