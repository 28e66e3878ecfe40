package redact

import (
	"encoding/base64"
	"strings"
)

// ownRules are those that gitleaks does not have, or has only for keys that look random.
func ownRules(add func(r *rule, keywords []string)) {
	code := func(id string, find func(text string, from, to int, add func(from, to int, rule string)), words ...string) {
		add(&rule{id: id, find: find}, words)
	}
	code(urlRule, func(text string, from, _ int, add func(from, to int, rule string)) { findURLPasswords(text, from, add) }, "://")
	code(pemRule, func(text string, from, _ int, add func(from, to int, rule string)) { findPEM(text, from, add) }, "private key")
	code("authorization", findAuthorization, "authorization")
	code("authorization", findScheme, "bearer ", "basic ")
	code("assignment", findAssignment, "pass", "pwd", "secret", "token", "key", "auth", "credential", "creds", "dsn")
	code("aws-secret-access-key", findAWSSecret, "akia", "asia")
	code("netrc", findNetrc, "machine ", "login ")
	code("pgpass", findPgpass, ":5432:", ":*:")
	for _, k := range prefixes() {
		least := k.least
		code(k.rule, func(text string, from, to int, add func(from, to int, rule string)) {
			findPrefixed(k.rule, k.text, least, text, from, to, add)
		}, strings.ToLower(k.text))
	}
}

// prefix is how the keys of one issuer begin, and how many bytes follow at least. They are taken
// for secrets whatever follows, since a key that looks little random is a key too.
type prefix struct {
	text, rule string
	least      int
}

func prefixes() []prefix {
	return []prefix{
		{"sb_secret_", "supabase-secret-key", 8}, {"sbp_", "supabase-token", 32}, {"hf_", "huggingface-token", 16},
		{"sk-ant-", "anthropic-key", 12}, {"sk-proj-", "openai-key", 12}, {"sk-or-", "openrouter-key", 12}, {"sk-", "secret-key", 20},
		{"whsec_", "webhook-secret", 12}, {"glpat-", "gitlab-token", 12}, {"gldt-", "gitlab-token", 12}, {"glrt-", "gitlab-token", 12},
		{"glptt-", "gitlab-token", 12}, {"npm_", "npm-token", 24}, {"dckr_pat_", "docker-token", 12}, {"dckr_oat_", "docker-token", 12},
		{"ghp_", "github-token", 20}, {"gho_", "github-token", 20}, {"ghu_", "github-token", 20}, {"ghs_", "github-token", 20},
		{"ghr_", "github-token", 20}, {"github_pat_", "github-token", 20}, {"xoxb-", "slack-token", 12}, {"xoxp-", "slack-token", 12},
		{"xapp-", "slack-token", 12}, {"sk_live_", "stripe-key", 8}, {"rk_live_", "stripe-key", 8}, {"sk_test_", "stripe-key", 8},
		{"gsk_", "groq-key", 20}, {"xai-", "xai-key", 20}, {"r8_", "replicate-token", 20}, {"pplx-", "perplexity-key", 20},
		{"nvapi-", "nvidia-key", 20}, {"tvly-", "tavily-key", 16}, {"lsv2_", "langsmith-key", 20},
		{"GOCSPX-", "google-secret", 20}, {"ya29.", "google-token", 20}, {"pypi-AgEI", "pypi-token", 16}, {"shpat_", "shopify-token", 16},
		{"dop_v1_", "digitalocean-token", 16}, {"SG.", "sendgrid-key", 32}, {"AGE-SECRET-KEY-1", "age-key", 32},
	}
}

// findPrefixed finds a key by what its issuer lets it begin with.
func findPrefixed(rule, lead string, least int, text string, from, to int, add func(from, to int, rule string)) {
	if text[from:to] != lead || from > 0 && (wordByte(text[from-1]) || text[from-1] == '-' && text[max(0, from-2)] != '-') {
		return
	}
	n := span(text[to:], mostRun, func(b byte) bool { return idByte(b) || b == '.' && strings.Contains(lead, ".") })
	rest := strings.TrimRight(text[to:to+n], "-_.")
	if len(rest) < least || distinct(rest) < 4 || !hasDigit(rest) && ordinaryIdentifier(rest) && (len(rest) < 16 || strings.ContainsAny(rest, "-_")) {
		return
	}
	switch lead {
	case "sk-", "hf_", "npm_", "gsk_", "r8_", "xai-":
		// Names in code begin so too.
		if !hasDigit(rest) || strings.Count(rest, "-")+strings.Count(rest, "_") > 3 {
			return
		}
	}
	add(from, to+len(rest), rule)
}

func hasDigit(s string) bool { return strings.ContainsAny(s, "0123456789") }

// ordinaryIdentifier says that a text is words of one case, joined.
func ordinaryIdentifier(s string) bool {
	return strings.ToLower(s) == s || strings.ToUpper(s) == s
}

// findAuthorization finds the credentials of an Authorization header (RFC 9110, section 11.6.2), in
// HTTP, code and JSON.
func findAuthorization(text string, from, to int, add func(from, to int, rule string)) {
	i := to + span(text[to:], 12, func(b byte) bool {
		return passed(b) && b != '+' || b == ':' || b == '=' || b == ',' || b == '>' || b == ')' || b == ']'
	})
	if i == to {
		return
	}
	n := span(text[i:], 40, func(b byte) bool { return letter(b) || digit(b) || b == '-' })
	scheme := strings.ToLower(text[i : i+n])
	switch scheme {
	case "bearer", "basic", "token", "digest", "apikey", "api-key", "key", "negotiate", "bot", "dpop":
		i += n + span(text[i+n:], 4, func(b byte) bool { return b == ' ' || b == '\t' })
	default:
		scheme = ""
	}
	n = span(text[i:], mostRun, credentialByte)
	value := strings.TrimRight(text[i:i+n], ".,:")
	if len(value) >= 6 && plausible(value) && (scheme != "" && (mixed(value) || len(value) >= 16 && !ordinaryIdentifier(value)) || len(value) >= 12 && mixed(value) && !identifier(value)) {
		add(i, i+len(value), "authorization")
	}
}

func credentialByte(b byte) bool {
	return base64Byte(b) || b == '.' || b == '~' || b == '=' || b == ':'
}

// findScheme finds "Bearer x" and "Basic x" where no header's name stands before.
func findScheme(text string, from, to int, add func(from, to int, rule string)) {
	if from > 0 && wordByte(text[from-1]) {
		return
	}
	n := span(text[to:], mostRun, credentialByte)
	value := strings.TrimRight(text[to:to+n], ".,:")
	if strings.EqualFold(text[from:to], "bearer ") {
		if len(value) >= 16 && mixed(value) && plausible(value) && !identifier(value) {
			add(to, to+len(value), "authorization")
		}
		return
	}
	decoded, err := base64.StdEncoding.DecodeString(value)
	if err == nil && len(decoded) >= 5 && strings.Contains(string(decoded), ":") && printable(decoded) { // else it is another word
		add(to, to+len(value), "authorization")
	}
}

func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c == 127 {
			return false
		}
	}
	return true
}

const awsNear = 300 // bytes between an AWS access key id and its secret

// findAWSSecret finds the 40 characters that stand beside an AWS access key id.
func findAWSSecret(text string, from, to int, add func(from, to int, rule string)) {
	if text[from:to] != strings.ToUpper(text[from:to]) || span(text[to:], 17, func(b byte) bool { return upper(b) || digit(b) }) != 16 {
		return
	}
	at, end := max(0, from-awsNear), min(len(text), to+16+awsNear)
	for at < end {
		n := span(text[at:], 64, secretKeyByte)
		if n == 40 && (at == 0 || !secretKeyByte(text[at-1])) && awsSecret(text[at:at+40]) {
			add(at, at+40, "aws-secret-access-key")
		}
		at += max(n, 1)
	}
}

// openAWS is where 40 such characters stand beside which an access key id may still come: len(text)
// if nowhere.
func openAWS(text string) int {
	const window = awsNear + 24
	from := max(0, len(text)-window)
	if from > 0 {
		from += span(text[from:], window, secretKeyByte)
	}
	for at := from; at < len(text); {
		n := span(text[at:], 64, secretKeyByte)
		if n == 40 && awsSecret(text[at:at+40]) {
			return at
		}
		at += max(n, 1)
	}
	return len(text)
}

func secretKeyByte(b byte) bool { return letter(b) || digit(b) || b == '+' || b == '/' }

// awsSecret tells a secret from a path and from a hash.
func awsSecret(s string) bool {
	return entropy(s) > 3.9 && hasDigit(s) && strings.ToLower(s) != s && strings.ToUpper(s) != s
}

// findNetrc finds the password of an entry in a .netrc: machine H login L password P, in one line
// or several.
func findNetrc(text string, _, to int, add func(from, to int, rule string)) {
	end := min(len(text), to+300)
	at := strings.Index(text[to:end], "password")
	if at < 0 || strings.ContainsAny(text[to:to+at], "=:;(){}\"") {
		return
	}
	from := to + at + len("password")
	gap := span(text[from:], 8, blank)
	n := span(text[from+gap:], 256, func(b byte) bool { return !blank(b) && b < eastAsian })
	if value := text[from+gap : from+gap+n]; gap > 0 && plausible(value) && !dummy(value) && len(value) >= 4 && strings.Contains(text[to:to+at], " ") {
		if strings.Contains(text[max(0, to-8):to+at], "machine ") || strings.Contains(text[max(0, to-80):to], "machine ") {
			add(from+gap, from+gap+n, "netrc")
		}
	}
}

const pgpassLine = 512 // bytes of an entry

// findPgpass finds the last field of host:port:database:user:password.
func findPgpass(text string, from, to int, add func(from, to int, rule string)) {
	start := max(0, from-pgpassLine)
	start += strings.LastIndexAny(text[start:from], " \t\r\n\"'") + 1
	n := span(text[start:], pgpassLine, func(b byte) bool { return !blank(b) && b != '"' && b != '\'' })
	fields := strings.SplitN(text[start:start+n], ":", 5)
	if len(fields) != 5 || fields[0] == "" || fields[1] != "*" && !digits(fields[1]) || fields[3] == "" || len(fields[4]) < 4 || strings.Contains(text[start:start+n], "://") {
		return
	}
	if plausible(fields[4]) {
		add(start+n-len(fields[4]), start+n, "pgpass")
	}
}
