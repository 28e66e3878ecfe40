package fetch

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// maxURL is longer than servers take.
const maxURL = 8 << 10

// Target is where a URL leads: a host and its port.
type Target struct {
	scheme string
	host   string // in small letters, without a final dot; an address without brackets
	port   uint16
}

// String is host:port, with brackets around an IPv6 address.
func (t Target) String() string { return net.JoinHostPort(t.host, strconv.Itoa(int(t.port))) }

// Parse reads a URL. It takes http and https only, and hosts that are written in one way: a name in
// ASCII, or an address in its usual form.
func Parse(text string) (*url.URL, Target, error) {
	if len(text) > maxURL {
		return nil, Target{}, fmt.Errorf("the URL has more than %d bytes", maxURL)
	}
	u, err := url.Parse(text)
	if err != nil {
		var bad *url.Error
		if errors.As(err, &bad) {
			err = bad.Err
		}
		return nil, Target{}, fmt.Errorf("the URL cannot be read: %v", err)
	}
	at, err := targetOf(u)
	if err != nil {
		return nil, Target{}, err
	}
	u.Host = at.host
	if strings.Contains(at.host, ":") {
		u.Host = "[" + at.host + "]"
	}
	if at.port != usual(u.Scheme) {
		u.Host = at.String()
	}
	u.Fragment, u.RawFragment = "", "" // it is for the reader and is never sent
	return u, at, nil
}

func usual(scheme string) uint16 {
	if scheme == "https" {
		return 443
	}
	return 80
}

func targetOf(u *url.URL) (Target, error) {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return Target{}, fmt.Errorf("the URL must begin with http:// or https://, and not with %q", u.Scheme+":")
	case u.User != nil:
		return Target{}, errors.New("a name or password in a URL is not sent; use a header")
	case u.Opaque != "" || u.Hostname() == "":
		return Target{}, errors.New("the URL names no host")
	}
	at := Target{scheme: u.Scheme, port: usual(u.Scheme)}
	if p := u.Port(); p != "" {
		n, err := strconv.ParseUint(p, 10, 16)
		if err != nil || n == 0 || p[0] == '0' {
			return Target{}, fmt.Errorf("there is no port %s", p)
		}
		at.port = uint16(n)
	}
	var err error
	at.host, err = hostOf(u.Hostname())
	return at, err
}

// hostOf gives a host its one form.
func hostOf(host string) (string, error) {
	if strings.Contains(host, ":") {
		a, err := netip.ParseAddr(host)
		if err != nil || a.Zone() != "" {
			return "", fmt.Errorf("%q is no address", host)
		}
		if a.String() != strings.ToLower(host) { // rules about hosts compare what is written
			return "", fmt.Errorf("%q is written as %s", host, a)
		}
		return a.String(), nil
	}
	if len(host) > 253 {
		return "", errors.New("the host's name has more than 253 bytes")
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	for _, label := range strings.Split(host, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return "", fmt.Errorf("%q is no host's name; one with other letters is written as xn--…", host)
		}
	}
	if !endsInNumber(host) {
		return host, nil
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		return "", fmt.Errorf("%q is no address; write it as four decimal numbers", host)
	}
	return a.String(), nil
}

// endsInNumber says whether a host must be an IPv4 address (WHATWG URL, "ends in a number
// checker"): resolvers read some of these forms as one.
func endsInNumber(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if strings.Trim(last, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(last, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}

// Writes says whether a method may change something. Only GET and HEAD are safe here (RFC 9110,
// 9.2.1).
func Writes(method string) bool { return method != "" && method != "GET" && method != "HEAD" }
