package openai

import (
	"net/url"
	"regexp"
	"strings"

	"agent/recovery/journal"
)

// own says whether the base URL is OpenAI's: its newer models refuse what compatible servers want,
// and the reverse.
func own(base string) bool {
	return base == "" || at(base, "openai.com")
}

// at says whether the base URL is at the domain or below it.
func at(base string, domains ...string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	for _, d := range domains {
		if host := strings.ToLower(u.Hostname()); host == d || strings.HasSuffix(host, "."+d) {
			return true
		}
	}
	return false
}

// family is the model's name without the vendor that a router puts before it and without the mark
// of a fine-tuned one.
func family(name string) string {
	name = strings.TrimPrefix(strings.ToLower(name), "ft:")
	return name[strings.LastIndexByte(name, '/')+1:]
}

// plain says whether the model is one of OpenAI's that do not reason. They refuse the parameters of
// reasoning and, with "Encrypted content is not supported with this model", to include its
// encrypted form. The list is closed: every later model reasons.
func plain(name string) bool {
	name = family(name)
	for _, p := range []string{"gpt-3", "gpt-4", "chatgpt-4o", "gpt-5-chat", "davinci", "babbage"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// effort is the provider's word. The earliest reasoning models cannot leave thinking out; theirs is
// the smallest that they take.
func effort(name string, e journal.Effort) string {
	if e != journal.EffortNone {
		return string(e)
	}
	name = family(name)
	switch {
	case regexp.MustCompile(`^(o\d|codex-|gpt-oss|gpt-5-codex)`).MatchString(name):
		return "low"
	case regexp.MustCompile(`^gpt-5(-mini|-nano)?(-\d|$)`).MatchString(name):
		return "minimal"
	}
	return "none"
}
