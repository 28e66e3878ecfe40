package export

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"agent/tools/durable"
)

// Save writes a file where nothing is yet: it is there whole or not at all. Only its owner reads
// it.
func Save(path string, content []byte) error {
	err := durable.Free(path)
	var temp string
	if err == nil {
		temp, err = durable.Temp(filepath.Dir(path), ".agent-export-*", 0o600, bytes.NewReader(content))
	}
	if err == nil {
		err = durable.Link(temp, path)
	}
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("export to %s: a file is there already; choose another name", path)
	}
	if err != nil {
		return fmt.Errorf("export to %s: %w", path, err)
	}
	return nil
}
