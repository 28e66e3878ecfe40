package sqlitefile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
)

const (
	headerSize = 100
	magic      = "SQLite format 3\x00"
)

// checkHeader reads the beginning of the database file, before SQLite sees it: a file that is not
// ours must not even get a log beside it. ErrNoState says that there is no file.
func (f *File) checkHeader() error {
	info, err := os.Lstat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.Format.Missing(f.path); err != nil {
			return err
		}
		info, err = os.Lstat(f.path)
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", f.path, err)
	}
	if !info.Mode().IsRegular() {
		return &ForeignError{Path: f.path, What: "it is not a regular file"}
	}
	head, err := readHeader(f.path)
	if err != nil {
		return fmt.Errorf("open %s: %w", f.path, err)
	}
	if len(head) < headerSize || string(head[:len(magic)]) != magic {
		return &ForeignError{Path: f.path, What: "it is not a database"}
	}
	// Both numbers are in the file from its first moment (createDatabase), so no log can be ahead
	// of them unless a newer agent was ended while it brought the file up to date; verify looks
	// again, through the log.
	stamp := int(binary.BigEndian.Uint32(head[60:]))
	app := int(binary.BigEndian.Uint32(head[68:]))
	return f.checkIdentity(app, stamp)
}

// CheckFormat compares the format of the open file, as it is by now, with what this binary knows:
// *NewerError where a newer one has brought it up to date since.
func (f *File) CheckFormat(ctx context.Context) error {
	var app, stamp int
	err := f.Read(ctx, func() error {
		row := f.readers.QueryRowContext(ctx, "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version)")
		return row.Scan(&app, &stamp)
	})
	if err != nil {
		return fmt.Errorf("read the format of %s: %w", f.path, err)
	}
	return f.checkIdentity(app, stamp)
}

func (f *File) checkIdentity(app, stamp int) error {
	if app != f.Format.ApplicationID {
		return &ForeignError{Path: f.path, What: "it is a database of another program"}
	}
	version, layout := stampParts(stamp)
	if version > len(f.Format.Layouts) && !slices.Contains(f.Format.TrialLayouts, layout) {
		return &NewerError{Path: f.path, Have: version, Know: len(f.Format.Layouts)}
	}
	if version < 1 {
		return &CorruptError{Path: f.path, What: "it says that it is ours and has no format"}
	}
	if version > len(f.Format.Layouts) || layout != f.Format.Layouts[version-1] {
		return &ForeignError{Path: f.path, What: "it was made by an unreleased build of agent with another layout"}
	}
	return nil
}

// readHeader opens and closes the file. With locks by open file description that frees none of
// SQLite's own.
func readHeader(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	head := make([]byte, headerSize)
	n, err := io.ReadFull(f, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil // a short file is known by what was read
	}
	return head[:n], errors.Join(err, f.Close())
}

func (f *File) walEmpty() bool {
	info, err := os.Stat(f.path + "-wal")
	return err != nil || info.Size() == 0
}
