package config

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"agent/recovery/journal"
)

// Dollars reads an amount of US dollars, such as 2.50, into millionths of one.
func Dollars(text string) (int64, error) {
	bad := fmt.Errorf("%q is no amount of US dollars, such as 2.50", text)
	whole, part, dot := strings.Cut(strings.TrimPrefix(text, "$"), ".")
	if whole == "" || len(whole) > 9 || len(part) > 6 || dot && part == "" {
		return 0, bad
	}
	n := int64(0)
	for _, c := range whole + part + strings.Repeat("0", 6-len(part)) {
		if c < '0' || c > '9' {
			return 0, bad
		}
		n = 10*n + int64(c-'0')
	}
	return n, nil
}

// CheckURL says what is wrong with the address of a provider. The error does not repeat it: it may
// hold a password.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("this is no address of the form https://host/path")
	case u.User != nil:
		return errors.New("a name or password in an address would be kept and shown; use api_key_env or api_key_cmd")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("an address with ? or # cannot be extended to the provider's paths")
	}
	return nil
}

func isVariable(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
	return name != "" && strings.Trim(name, letters+"0123456789") == "" && strings.ContainsRune(letters, rune(name[0]))
}

// limits reads what both files may say.
func (c *checker) limits(k limitKeys) Limits {
	l := Limits{
		Mode:    journal.Mode(oneOf(c, "mode", k.Mode, journal.Modes())),
		Timeout: c.duration("timeout", k.Timeout),
	}
	if n := c.count("max_turns", k.MaxTurns); n != nil {
		turns := int(*n)
		l.MaxTurns = &turns
	}
	l.MaxTokens = c.count("max_tokens", k.MaxTokens)
	if k.MaxCost != nil {
		cost, err := Dollars(*k.MaxCost)
		if err != nil {
			c.wrong([]string{"max_cost"}, "max_cost: %v", err)
		}
		l.MaxCost = &cost
	}
	return l
}

func (c *checker) count(key string, n *int64) *int64 {
	if n != nil && (*n < 0 || key == "max_turns" && *n > 1<<30) {
		c.wrong([]string{key}, "%s wants a count from 0; 0 is no limit", key)
	}
	return n
}

func (c *checker) duration(key string, s *string) *time.Duration {
	if s == nil {
		return nil
	}
	d, err := time.ParseDuration(*s)
	if err != nil || d < 0 || d == 0 && key == "idle" {
		c.wrong([]string{key}, "%s: %q is no time, such as 30s, 2m or 1h30m", key, *s)
	}
	return &d
}

// oneOf reads a word of a list.
func oneOf[T ~string](c *checker, key string, s *string, words []T) string {
	if s == nil {
		return ""
	}
	if !slices.Contains(words, T(*s)) {
		var all []string
		for _, w := range words {
			all = append(all, string(w))
		}
		c.wrong([]string{key}, "there is no %s %q; choose %s", key, *s, orList(all))
	}
	return *s
}

// orList writes two words or more of which one is to be chosen.
func orList(words []string) string {
	end := len(words) - 1
	return strings.Join(words[:end], ", ") + " or " + words[end]
}
