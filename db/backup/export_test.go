package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"

	"agent/db/sqlitefile"
)

// EditForTest changes the database of a backup as somebody can who has no key.
func EditForTest(path string, do func(conn *sql.Conn) error) error {
	whole, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	ft, err := readFoot(f)
	if err := errors.Join(err, f.Close(), os.WriteFile(path, whole[:ft.database], 0o600)); err != nil {
		return err
	}
	if err := sqlitefile.Edit(context.Background(), path, do); err != nil {
		return err
	}
	database, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, SealForTest(database, whole[ft.database:ft.size]), 0o600)
}

// SealForTest is a backup as somebody can make it who has no key.
func SealForTest(database, files []byte) []byte {
	all := append(append([]byte(nil), database...), files...)
	sum := newSummed()
	if _, err := sum.copy(io.Discard, bytes.NewReader(all)); err != nil {
		panic(err) // it is in memory
	}
	foot := fmt.Sprintf(footForm, version, len(database), len(all), sum.end(), make([]byte, sha256.Size))
	return append(all, fmt.Sprintf("%-*s\n", footSize-1, foot)...)
}

// FootSize is how long the line at the end is.
const FootSize = footSize
