package custody

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// alphabet is that of ids: Crockford's base 32 without the letters that are taken for digits.
var alphabet = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// RunID makes the id of a run of what is random, or stands for something.
func RunID(of []byte) string { return "r-" + alphabet.EncodeToString(of[:5]) }

// Digest tells requests apart, and nothing else to who has no key.
func (r Run) Digest(mac func(string) []byte) []byte {
	r.By, r.Was = "", nil // whoever asks again asks for the same
	b, err := json.Marshal(r)
	if err != nil {
		panic(err) // it holds texts and numbers
	}
	return mac("agent-fleet request\n" + string(b))
}

// KeyedRunID makes the id of the run that a start key stands for in a namespace. The MAC is that of
// the fleet's key.
func KeyedRunID(key, namespace string, mac func(text string) []byte) string {
	return RunID(mac("agent-fleet run\n" + namespace + "\n" + key))
}

// scheduledRunID makes the id of a run that a schedule starts: its workflow's id holds the
// schedule's name and the time, so the same occasion is the same run.
func scheduledRunID(workflowID string) string {
	sum := sha256.Sum256([]byte("agent-fleet run\n" + workflowID))
	return RunID(sum[:])
}

// IsRunID reports whether a text has the form of a run's id.
func IsRunID(text string) bool {
	id, ok := strings.CutPrefix(text, "r-")
	if !ok || len(id) != 8 {
		return false
	}
	_, err := alphabet.DecodeString(id)
	return err == nil
}

// Pool names the queue of the hosts that have all of the labels.
func Pool(labels []string) string {
	labels = slices.Clone(labels)
	slices.Sort(labels)
	return PoolQueue + strings.Join(slices.Compact(labels), ",")
}

// Repository is the address of a repository in a URL@COMMIT, without what it may hold of secrets.
func Repository(git string) string {
	address, _, _ := cutLast(git, "@")
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil { // such as git@host:path
		_, rest, found := strings.Cut(address, "@")
		if !found {
			return address
		}
		return rest
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
