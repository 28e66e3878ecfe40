package backup

import (
	"crypto/sha256"
	"fmt"
	"os"
)

// FootSize is how long the line behind the database is.
const FootSize = footSize

// SealForTest puts a line behind a database as somebody can who has no key.
func SealForTest(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	foot := fmt.Sprintf(footForm, version, len(b), sha256.Sum256(b), make([]byte, sha256.Size))
	return os.WriteFile(path, append(b, fmt.Sprintf("%-*s\n", footSize-1, foot)...), 0o600)
}
