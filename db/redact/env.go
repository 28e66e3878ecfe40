package redact

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// FromEnvironment gives the values of an environment (NAME=value) that are secret: those of
// variables whose names say so (KEY, TOKEN, SECRET, PASSWORD, PASSWD, PASS, CREDENTIALS, AUTH, DSN
// …, as words of the name), passwords inside URLs and connection strings whatever the variable is
// called, and the secret members of a value that is JSON. A variable whose name only sounds so
// (SSH_AUTH_SOCK, PUBLIC_KEY, ..._KEY_FILE) or whose value is a path is none.
func FromEnvironment(environ []string) []Known {
	var found []Known
	for _, pair := range environ {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			continue
		}
		rule := ruleName("env-" + strings.ReplaceAll(strings.ToLower(name), "_", "-"))
		for _, v := range secretsOf(name, strings.TrimSpace(value)) {
			if Unusable(v) == "" {
				found = append(found, Known{Rule: rule, Value: v})
			}
		}
	}
	return found
}

func secretsOf(name, value string) []string {
	found := passwordsIn(value)
	if strings.HasPrefix(value, "{") {
		var members any
		if json.Unmarshal([]byte(value), &members) == nil { // else it is a value like any other
			found = secretMembers(found, "", members)
			slices.Sort(found)
		}
	}
	if environmentName(name) && len(found) == 0 {
		found = append(found, value)
	}
	return found
}

// SecretVariable says whether a variable of an environment is secret: by its name, unless what it
// holds is a path or a reference, or by its value.
func SecretVariable(name, value string) bool {
	v := strings.TrimSpace(value)
	if v == "" || isPath(v) || isReference(v) {
		return false
	}
	return len(secretsOf(name, v)) > 0 || len(New(nil).Find("", v)) > 0
}

// environmentName is kindOf for variables, where a name that is one word is as good as any.
func environmentName(name string) bool {
	return kindOf(name) != plain || strings.EqualFold(name, "key")
}

// connection finds the password in what is no URL: user:password@tcp(host)/db, and password=… of
// libpq and ADO.
var connection = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^[\w.-]+:([^@\s/]+)@(?:tcp|unix|[\w.-]+:\d)|\b(?:password|pwd|accountkey|sharedaccesskey)=('[^']*'|[^;\s&]+)`)
})

func passwordsIn(value string) []string {
	var found []string
	if at := strings.Index(value, "://"); at >= 0 {
		findURLPasswords(value, at, func(from, to int, _ string) {
			password := value[from:to]
			found = append(found, password)
			if decoded, err := url.PathUnescape(password); err == nil && decoded != password { // else it is not encoded
				found = append(found, decoded)
			}
		})
	}
	for _, m := range connection().FindAllStringSubmatch(value, -1) {
		found = append(found, strings.Trim(m[1]+m[2], "'"))
	}
	return found
}

func secretMembers(found []string, name string, v any) []string {
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			found = secretMembers(found, name, member)
		}
	case []any:
		for _, member := range v {
			found = secretMembers(found, name, member)
		}
	case string:
		if kindOf(name) != plain {
			found = append(found, v)
		}
	}
	return found
}

// Unusable says why a value cannot be looked for as a known value, or "": it would be found all
// over ordinary text.
func Unusable(value string) string {
	switch {
	case len(value) < leastKnown:
		return "shorter than 8 bytes"
	case distinct(value) < 4:
		return "fewer than 4 different characters"
	case isReference(value):
		return "a reference to a value"
	case isPath(value):
		return "a path"
	case strings.Contains(value, "://"):
		return "a URL"
	case len(value) < 16 && strings.Trim(value, "0123456789.,:;-_/ ") == "":
		return "a number, date or address"
	case len(value) < 16 && ordinary(value):
		return "an ordinary word"
	}
	return ""
}

func distinct(s string) int {
	var seen [256]bool
	n := 0
	for i := range len(s) {
		if !seen[s[i]] {
			seen[s[i]] = true
			n++
		}
	}
	return n
}

// isReference says that a text stands for a value that is elsewhere, or is yet to be filled in:
// $NAME, ${{ x }}, <key>, %s.
func isReference(s string) bool {
	return strings.HasPrefix(s, "$") && (len(s) < 2 || !digit(s[1])) || strings.HasPrefix(s, "{{") || strings.HasPrefix(s, "%(") ||
		len(s) == 2 && s[0] == '%' ||
		len(s) > 1 && s[0] == '<' && s[len(s)-1] == '>' || len(s) > 1 && s[0] == '{' && s[len(s)-1] == '}' && !strings.Contains(s, `"`) ||
		len(s) > 2 && s[0] == '%' && s[len(s)-1] == '%'
}

func isPath(s string) bool {
	for _, prefix := range []string{"~/", "./", "../", "file:", `.\`, `\\`} {
		if strings.HasPrefix(s, prefix) {
			return true
		}
	}
	if len(s) > 2 && letter(s[0]) && s[1] == ':' && (s[2] == '\\' || s[2] == '/') {
		return true
	}
	if s == "" || s[0] != '/' {
		return false
	}
	first, _, _ := strings.Cut(s[1:], "/")
	return strings.Trim(first, "abcdefghijklmnopqrstuvwxyz._-") == "" || first == "Users" || first == "Library"
}

// ordinary says that a text is words as people write them: letters of one case, or with a capital
// first, and what joins them.
func ordinary(s string) bool {
	for _, w := range strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("-_. /:,", r) }) {
		rest := w[1:]
		if !letter(w[0]) || strings.ToLower(rest) != rest && strings.ToUpper(w) != w ||
			strings.IndexFunc(rest, func(r rune) bool { return !unicodeLetter(r) }) >= 0 {
			return false
		}
	}
	return true
}

func unicodeLetter(r rune) bool { return r < 128 && letter(byte(r)) || r >= 128 }
