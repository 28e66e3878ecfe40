package redact

import (
	"strings"
	"unicode"
)

// words takes a name apart: OPENAI_API_KEY, openaiApiKey and openai-api-key are the same three.
func words(name string) []string {
	var out []string
	start := -1
	end := func(i int) {
		if start >= 0 {
			out = append(out, strings.ToLower(name[start:i]))
		}
		start = -1
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case !letter(c) && !digit(c):
			end(i)
			continue
		case start >= 0 && upper(c) && (!upper(name[i-1]) || i+1 < len(name) && lower(name[i+1])):
			end(i)
		}
		if start < 0 {
			start = i
		}
	}
	end(len(name))
	return out
}

func lower(c byte) bool  { return c >= 'a' && c <= 'z' }
func upper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func letter(c byte) bool { return lower(c) || upper(c) }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// kind says what a name promises of its value.
type kind int

const (
	plain    kind = iota
	tokenish      // a key, token or secret: made by a machine
	password      // chosen by a person: may look like anything
)

// kindOf judges a name: of a variable of the environment, of a JSON member, left of an assignment.
func kindOf(name string) kind {
	w := words(name)
	for len(w) > 1 && (len(w[len(w)-1]) == 1 || digits(w[len(w)-1])) {
		w = w[:len(w)-1]
	}
	if len(w) == 0 || len(w) > 12 || harmless(w) {
		return plain
	}
	found := plain
	for i, word := range w {
		switch {
		case passwordWord(word):
			return password
		case word == "key" && i == 0 && len(w) == 1:
			found = max(found, plain)
		case tokenWord(word):
			found = max(found, tokenish)
		}
	}
	return found
}

// secretNames are in every name that is not plain.
func secretNames() []string {
	return []string{"pass", "pw", "key", "token", "secret", "credential", "creds", "auth", "dsn", "bearer"}
}

func passwordWord(w string) bool {
	switch w {
	case "pass", "pwd", "pw", "passphrase", "passcode", "passwort", "sshpass", "dbpass", "userpass":
		return true
	}
	return strings.HasSuffix(w, "password") || strings.HasSuffix(w, "passwd") || strings.HasSuffix(w, "pwd")
}

func tokenWord(w string) bool {
	switch w {
	case "key", "token", "secret", "secrets", "credential", "credentials", "creds", "auth", "authorization", "dsn", "bearer":
		return true
	}
	return strings.HasSuffix(w, "apikey") || strings.HasSuffix(w, "token") || strings.HasSuffix(w, "secret") ||
		strings.HasSuffix(w, "secretkey") || strings.HasSuffix(w, "accesskey") || strings.HasSuffix(w, "privatekey")
}

// harmless says that a name only sounds like a secret's.
func harmless(w []string) bool {
	switch w[len(w)-1] {
	case "id", "ids", "name", "names", "type", "types", "kind", "file", "files", "filename", "path", "paths", "dir",
		"endpoint", "host", "hostname", "port", "size", "length", "len", "count", "limit", "max", "min", "budget", "expiry",
		"expires", "expiration", "ttl", "timeout", "at", "in", "sock", "socket", "pid", "method", "mode", "algorithm", "alg",
		"format", "version", "prefix", "suffix", "header", "headers", "field", "label", "usage", "hint", "policy", "rotation",
		"enabled", "required", "command", "cmd", "helper", "program", "provider", "scheme", "domain", "server", "audience",
		"scope", "scopes", "status", "index", "fingerprint", "thumbprint", "digest", "tty", "map", "layout", "board",
		"location", "schema", "description", "placeholder", "regex", "pattern", "rules", "rule", "set", "ref", "encoding",
		"askpass", "store", "ring", "code", "url", "uri", "tokens", "keys", "env", "var", "variable", "level", "function":
		return true
	}
	for i, word := range w {
		switch word {
		case "public", "pub", "publishable", "keyboard", "csrf", "xsrf", "max", "num", "author", "authors", "tokens", "tokenizer":
			return true
		case "primary", "foreign", "sort", "partition", "cache", "bucket", "idempotency", "start", "hot", "routing", "row", "object",
			"group", "natural", "sequence", "page", "next", "continuation", "cancellation", "cancel", "cursor", "sync", "dedupe",
			"unique", "map", "registry", "event", "shortcut", "index":
			if i+1 < len(w) && (w[i+1] == "key" || w[i+1] == "token") {
				return true
			}
		}
	}
	return false
}

func digits(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsDigit(r) }) < 0
}
