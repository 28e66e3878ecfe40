package redact

import "strings"

const (
	urlRule = "url-password"
	pemRule = "private-key"
)

// findURLPasswords finds the password of a URL's userinfo (RFC 3986, section 3.2.1): the :// stands
// at at.
func findURLPasswords(text string, at int, add func(from, to int, rule string)) {
	from := at + len("://")
	n := span(text[from:], 4<<10, func(b byte) bool {
		return b > ' ' && b != '"' && b != '\'' && b != '`' && b != '<' && b != '>' && b != '\\' && b != 127
	})
	authority := text[from : from+n]
	if slash := strings.IndexAny(authority, "/?#"); slash >= 0 {
		// A password may hold a slash that somebody did not encode, if an @ and a host come after
		// it.
		if rest := authority[slash:]; !strings.Contains(authority[:slash], "@") && strings.Contains(authority[:slash], ":") && hostAfter(rest) {
			slash = len(authority)
		}
		authority = authority[:slash]
	}
	end := strings.LastIndexByte(authority, '@')
	if end <= 0 {
		return
	}
	user, password, ok := strings.Cut(authority[:end], ":")
	switch {
	case ok && password != "" && !isReference(password) && strings.Trim(password, "*x.") != "":
		add(from+len(user)+1, from+end, urlRule)
	case !ok && len(user) >= 20 && mixed(user):
		add(from, from+end, urlRule)
	}
}

// hostAfter says that the text goes on with @host:port or @host/ soon, as only an authority does.
func hostAfter(rest string) bool {
	_, host, ok := strings.Cut(rest, "@")
	if !ok || strings.ContainsAny(rest[:len(rest)-len(host)], "?#&=") {
		return false
	}
	n := span(host, 253, func(b byte) bool { return letter(b) || digit(b) || b == '.' || b == '-' })
	return n > 0 && n < len(host) && host[n] == ':' && n+1 < len(host) && digit(host[n+1])
}

// mixed says that a text has both letters and digits.
func mixed(s string) bool {
	l, d := false, false
	for i := range len(s) {
		l = l || letter(s[i])
		d = d || digit(s[i])
	}
	return l && d
}
