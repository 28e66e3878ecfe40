package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agent/tools/durable"
)

// AnswerFile is a file that the answer of a run is to be written to.
type AnswerFile struct{ path string }

// NewAnswerFile refuses a path at which no file can be, before anything is carried out. An empty
// path is no file.
func NewAnswerFile(path string) (AnswerFile, error) {
	if path == "" {
		return AnswerFile{}, nil
	}
	real, err := filepath.Abs(path)
	if to, linked := filepath.EvalSymlinks(real); linked == nil {
		real = to // a link to where a person keeps it stays one
	}
	var info, dir fs.FileInfo
	if err == nil {
		if info, err = os.Stat(real); errors.Is(err, fs.ErrNotExist) {
			dir, err = os.Stat(filepath.Dir(real))
		}
	}
	switch {
	case err != nil:
		err = errors.Unwrap(err)
	case info != nil && info.IsDir():
		err = errors.New("it is a folder")
	case dir != nil && !dir.IsDir():
		err = errors.New("what is to hold it is no folder")
	}
	if err != nil {
		return AnswerFile{}, Usage(fmt.Errorf("--output %s: %v", path, err))
	}
	return AnswerFile{real}, nil
}

// Write writes an answer with a line end behind it. A file is replaced as a whole or stays as it
// was; anything else, such as a pipe, is written to.
func (f AnswerFile) Write(text string) error {
	if f.path == "" {
		return nil
	}
	text = strings.TrimSuffix(text, "\n") + "\n"
	info, err := os.Stat(f.path)
	if err == nil && !info.Mode().IsRegular() {
		err = os.WriteFile(f.path, []byte(text), 0)
	} else {
		mode := fs.FileMode(0o644)
		if info != nil {
			mode = info.Mode().Perm()
		}
		var temp string
		if temp, err = durable.Temp(filepath.Dir(f.path), ".answer-*", mode, strings.NewReader(text)); err == nil {
			err = durable.Rename(temp, f.path)
		}
	}
	if err != nil {
		return fmt.Errorf("write the answer to %s: %v", f.path, err)
	}
	return nil
}
