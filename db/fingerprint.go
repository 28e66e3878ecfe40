package db

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/gowebpki/jcs"
)

const fingerprintPrefix = "hmac-sha256:v1:"

// Fingerprint is a keyed hash of a tool's name and its arguments in canonical form: the order of members and the spelling of
// numbers and strings do not count. Integers beyond 2^53, which the canonical form rounds, count by their digits. Arguments
// that are no JSON with a canonical form count byte by byte.
func (s *Store) Fingerprint(tool string, args json.RawMessage) (string, error) {
	if s.key == nil {
		return "", fmt.Errorf("fingerprint a call of %s: the key is not open (the store was opened for reading)", tool)
	}
	m := hmac.New(sha256.New, s.key)
	m.Write([]byte(tool)) // a hash takes everything without an error
	m.Write([]byte{0})
	if canonical, err := jcs.Transform(args); err == nil {
		m.Write(canonical)
		m.Write([]byte{0})
		m.Write([]byte(largeIntegers(args)))
	} else {
		m.Write([]byte{0})
		m.Write(args)
	}
	return fingerprintPrefix + hex.EncodeToString(m.Sum(nil)), nil
}

// largeIntegers lists path and digits of each integer that a double does not hold, in an order that does not depend on
// that of the members.
func largeIntegers(args json.RawMessage) string {
	if !manyDigits(args) {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "" // jcs read it, so there is nothing that would not be read here
	}
	var found []string
	collectLarge(v, "", &found)
	sort.Strings(found)
	return strings.Join(found, "\x00")
}

// manyDigits says whether as many digits follow each other as the least integer has that a double may not hold.
func manyDigits(args json.RawMessage) bool {
	n := 0
	for _, c := range args {
		if c < '0' || c > '9' {
			n = 0
		} else if n++; n >= leastLarge {
			return true
		}
	}
	return false
}

const leastLarge = len("9007199254740993") // 2^53 + 1

func collectLarge(v any, path string, found *[]string) {
	switch v := v.(type) {
	case json.Number:
		if digits := v.String(); isLarge(digits) {
			*found = append(*found, path+"="+digits)
		}
	case []any:
		for i, e := range v {
			collectLarge(e, path+"/"+strconv.Itoa(i), found)
		}
	case map[string]any:
		for k, e := range v {
			collectLarge(e, path+"/"+strconv.Quote(k), found)
		}
	}
}

func isLarge(number string) bool {
	if strings.ContainsAny(number, ".eE") {
		return false
	}
	n, err := strconv.ParseInt(number, 10, 64)
	return err != nil || n > 1<<53 || n < -1<<53
}
