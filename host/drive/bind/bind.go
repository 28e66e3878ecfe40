// Package bind writes down what a person's yes to a call is bound to: if one part of it changes,
// the yes is void.
package bind

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"agent/recovery/journal"
)

// To is what a yes is bound to.
type To struct {
	Call      []string // its tool and its fingerprint
	Folder    string
	Mode      journal.Mode
	Variables []string // that a command's environment passes on, by name
	Level     string   // what the system confines the call to
	Rules     string   // digest of those that restrict
	Tools     string   // digest of all of the run's
}

// String is a digest of each part.
func (t To) String() string {
	parts := []any{t.Call, t.Folder, t.Mode, t.Variables, t.Level, t.Rules, t.Tools}
	var digests []string
	for _, p := range parts {
		text, err := json.Marshal(p)
		if err != nil {
			panic(err) // strings always encode
		}
		digests = append(digests, Digest(text)[:32])
	}
	return strings.Join(digests, ".")
}

// Changes says what differs between two bindings, as [To] writes them; "" when nothing does.
func Changes(then, now string) string {
	if then == now {
		return ""
	}
	names := []string{
		"the call", "the folder", "the mode", "the environment of commands", "what the system confines it to", "the rules", "the tools",
	}
	was, is := strings.Split(then, "."), strings.Split(now, ".")
	if len(was) != len(names) || len(is) != len(names) {
		return "it was given to another version of agent"
	}
	var changed []string
	for i, name := range names {
		if was[i] != is[i] {
			changed = append(changed, name)
		}
	}
	return strings.Join(changed, ", ") + " changed"
}

// Digest is the SHA-256 of a text, in hexadecimal digits.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// FileDigest is the Digest of what a file holds now.
func FileDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read %s: %v", path, err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("read %s: %v", path, err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
