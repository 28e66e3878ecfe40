package lab

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Forms are how a text may stand in a file: as it is, in hexadecimal digits, and in base64 of both
// alphabets, whatever stands before it and behind it.
func Forms(text string) (out [][]byte) {
	digits := hex.EncodeToString([]byte(text))
	out = append(out, []byte(text), []byte(digits), []byte(strings.ToUpper(digits)))
	for before, mixed := range []int{0, 2, 3} { // letters that what stands before has a part in
		padded := append(make([]byte, before), text...)
		for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			whole := e.EncodeToString(padded)[:len(padded)*8/6]
			out = append(out, []byte(whole[mixed:]))
		}
	}
	return out
}

// Found lists the files that hold a text in one of its forms: those whose paths begin with path,
// and those below them.
func (l *Lab) Found(text, path string) (out []string) {
	l.Helper()
	tops, err := filepath.Glob(path + "*")
	if err != nil || len(tops) == 0 {
		l.Fatalf("search in %s: nothing is there: %v", path, err)
	}
	forms := Forms(text)
	for _, top := range tops {
		err := filepath.WalkDir(top, func(name string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) { // it was temporary
				return nil
			}
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(name)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			for _, form := range forms {
				if bytes.Contains(b, form) {
					out = append(out, name)
					break
				}
			}
			return err
		})
		if err != nil {
			l.Fatal(err)
		}
	}
	return out
}
