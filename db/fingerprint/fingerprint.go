// Package fingerprint tells whether two calls ask for the same: a keyed hash of a tool's name and
// its arguments in the canonical form of JSON (RFC 8785).
package fingerprint

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"sort"
	"strconv"
	"strings"

	"github.com/gowebpki/jcs"
)

const prefix = "hmac-sha256:v1:"

// Of is a hash of a tool's name and its arguments in canonical form: the order of members and the
// spelling of numbers and strings do not count. Numbers that the canonical form rounds, as it may
// any beyond 2^53, count by their digits. Arguments that are no JSON with a canonical form (a
// member that is there twice, half a character, a number beyond any double) count byte by byte.
func Of(key []byte, tool string, args json.RawMessage) string {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(tool)) // a hash takes everything without an error
	m.Write([]byte{0})
	if canonical, err := jcs.Transform(args); err == nil {
		m.Write(canonical)
		m.Write([]byte{0})
		m.Write([]byte(roundedNumbers(args)))
	} else {
		m.Write([]byte{0})
		m.Write(args)
	}
	return prefix + hex.EncodeToString(m.Sum(nil))
}

// roundedNumbers lists path and digits of each number that a double does not hold, in an order that
// does not depend on that of the members.
func roundedNumbers(args json.RawMessage) string {
	if !mayRound(args) {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "" // jcs read it, so there is nothing that would not be read here
	}
	var found []string
	collectRounded(v, "", &found)
	sort.Strings(found)
	return strings.Join(found, "\x00")
}

// mayRound says whether JSON has a number with more digits than a double always holds, a fraction
// or an exponent. Most arguments have none and need not be read once more.
func mayRound(args []byte) bool {
	quoted, digits := false, 0
	for i := 0; i < len(args); i++ {
		c := args[i]
		switch {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted, digits = !quoted, 0
		case quoted:
		case '0' <= c && c <= '9':
			if digits++; digits > 15 {
				return true
			}
		case digits > 0 && (c == '.' || c == 'e' || c == 'E'):
			return true
		default:
			digits = 0
		}
	}
	return false
}

func collectRounded(v any, path string, found *[]string) {
	switch v := v.(type) {
	case json.Number:
		if digits := rounded(v.String()); digits != "" {
			*found = append(*found, path+"="+digits)
		}
	case []any:
		for i, e := range v {
			collectRounded(e, path+"/"+strconv.Itoa(i), found)
		}
	case map[string]any:
		for k, e := range v {
			collectRounded(e, path+"/"+strconv.Quote(k), found)
		}
	}
}

// rounded gives the digits of a number that is an integer beyond 2^53 or another number than the
// double which is written for it, in one spelling; "" for any other.
func rounded(number string) string {
	digits, exp := decimal(number)
	if zeros, err := strconv.Atoi(exp); err == nil && zeros >= 0 && zeros <= maxZeros {
		whole := digits + strings.Repeat("0", zeros)
		n, err := strconv.ParseInt(whole, 10, 64)
		if err != nil || n > 1<<53 || n < -1<<53 {
			return whole
		}
		return ""
	}
	f, err := strconv.ParseFloat(number, 64)
	if err == nil {
		if d, e := decimal(strconv.FormatFloat(f, 'e', -1, 64)); d == digits && e == exp {
			return ""
		}
	}
	return digits + "e" + exp
}

// maxZeros is how many zeros an integer that has a canonical form may end with.
const maxZeros = 400

// decimal takes a number of JSON apart: its digits, with the sign, from the first to the last that
// is no zero, and the power of ten of the last one. The digits of zero are 0. A power of more than
// 18 digits, which makes any number zero, is left as it is written.
func decimal(number string) (digits, exp string) {
	rest, sign := strings.CutPrefix(number, "-")
	mantissa, power := rest, ""
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		mantissa, power = rest[:i], strings.TrimPrefix(rest[i+1:], "+")
	}
	whole, part, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+part, "0")
	if digits == "" {
		return "0", "0"
	}
	shift := len(strings.TrimRight(digits, "0")) - len(digits) + len(part)
	digits = strings.TrimRight(digits, "0")
	if sign {
		digits = "-" + digits
	}
	if power == "" {
		power = "0"
	}
	n, err := strconv.ParseInt(power, 10, 62)
	if err != nil {
		return digits, power + "/" + strconv.Itoa(shift)
	}
	return digits, strconv.FormatInt(n-int64(shift), 10)
}
