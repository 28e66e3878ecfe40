// Package blob keeps large bodies outside of the rows that name them: as rows of the table blobs,
// packed where that makes them smaller, and the largest as files beside the database. The name of a
// body is the SHA-256 of its bytes.
package blob

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"agent/db/dbsqlc"
	"agent/db/sqlitefile"
)

// Encodings of a stored blob.
const (
	Plain   = "plain"
	Deflate = "deflate"
	InFile  = "file"
)

// Folder holds the files, in the state folder.
const Folder = "blobs"

// fileLimit is how long a body may be that stays in the database, bytes.
const fileLimit = 256 << 10

// Blob is a large body by the SHA-256 of its bytes.
type Blob struct {
	Hash []byte
	Data []byte
}

// New works out the body's name.
func New(data []byte) *Blob {
	sum := sha256.Sum256(data)
	return &Blob{Hash: sum[:], Data: data}
}

// row is how the blob is stored, once spill has written what goes to a file.
func (b *Blob) row() (encoding string, data []byte) {
	if len(b.Data) > fileLimit {
		return InFile, nil
	}
	if small, ok := deflate(b.Data); ok {
		return Deflate, small
	}
	return Plain, b.Data
}

// Row is a body ready to be inserted into the table blobs.
type Row struct {
	Hash     []byte
	Size     int64
	Encoding string
	Data     []byte // none where it is in a file
}

// Files are the bodies of the database in File.
type Files struct{ File *sqlitefile.File }

// Dir is the folder with the files.
func (o Files) Dir() string { return filepath.Join(o.File.Dir(), Folder) }

// Stage makes what goes to a file durable, and compresses the rest, before any transaction begins.
func (o Files) Stage(b *Blob) (Row, error) {
	if len(b.Data) > fileLimit {
		if err := o.spill(b); err != nil {
			return Row{}, err
		}
	}
	encoding, data := b.row()
	return Row{b.Hash, int64(len(b.Data)), encoding, data}, nil
}

// spill writes a blob's file: durable under its content's name, or an error.
func (o Files) spill(b *Blob) error {
	whole := func() bool { return o.Check(b.Hash, int64(len(b.Data))) == "" }
	if err := sqlitefile.Place(o.File, o.Path(b.Hash), b.Data, whole); err != nil {
		return fmt.Errorf("store a body of %d bytes: %w", len(b.Data), err)
	}
	return nil
}

// Path is where a body in a file lies.
func (o Files) Path(hash []byte) string {
	name := hex.EncodeToString(hash)
	return filepath.Join(o.Dir(), name[:2], name)
}

// Add inserts the bodies that are not there yet.
func Add(ctx context.Context, q *dbsqlc.Queries, rows []Row) error {
	for _, r := range rows {
		if err := q.AddBlob(ctx, r.Hash, r.Size, r.Encoding, r.Data); err != nil {
			return fmt.Errorf("store a body of %d bytes: %w", r.Size, err)
		}
	}
	return nil
}

// DamageError says that a body is not what was stored.
type DamageError struct{ What string }

func (d DamageError) Error() string { return d.What }

// Open gives back the bytes of a blob after comparing them with their hash. What does not match is
// a DamageError.
func (o Files) Open(hash []byte, size int64, encoding string, data []byte) ([]byte, error) {
	name := hex.EncodeToString(hash)
	switch encoding {
	case Plain:
	case Deflate:
		var err error
		if data, err = Inflate(data, size); err != nil {
			return nil, DamageError{fmt.Sprintf("its body %.12s cannot be unpacked: %v", name, err)}
		}
	case InFile:
		var err error
		data, err = os.ReadFile(o.Path(hash))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, DamageError{fmt.Sprintf("its body is missing: %s", o.Path(hash))}
		}
		if err != nil {
			return nil, fmt.Errorf("read body: %w", err)
		}
	default:
		return nil, fmt.Errorf("body %.12s: it is encoded as %q, which this binary does not know", name, encoding)
	}
	if sum := sha256.Sum256(data); !bytes.Equal(sum[:], hash) {
		return nil, DamageError{fmt.Sprintf("its body %.12s does not match its hash", name)}
	}
	return data, nil
}

// deflate compresses data when that makes it smaller.
func deflate(data []byte) ([]byte, bool) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		return nil, false // the level is a constant that exists
	}
	if _, err := w.Write(data); err != nil {
		return nil, false // a buffer takes everything; stored as it is in any case
	}
	if err := w.Close(); err != nil {
		return nil, false // as above
	}
	return b.Bytes(), b.Len() < len(data)
}

// Inflate unpacks a body of a known size.
func Inflate(data []byte, size int64) ([]byte, error) {
	out := make([]byte, 0, size)
	b := bytes.NewBuffer(out)
	_, err := io.Copy(b, io.LimitReader(flate.NewReader(bytes.NewReader(data)), size+1))
	return b.Bytes(), err
}

// Check reads a body's file and compares it with the hash that is its name; "" when it is whole.
func (o Files) Check(hash []byte, size int64) string {
	path := o.Path(hash)
	if info, err := os.Stat(path); err == nil && info.Size() != size {
		return fmt.Sprintf("body %s has %d bytes and not %d", path, info.Size(), size)
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Sprintf("body %s cannot be read: %v", path, err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return fmt.Sprintf("body %s cannot be read: %v", path, err)
	}
	if have := sum.Sum(nil); !bytes.Equal(have[:len(hash)], hash) {
		return fmt.Sprintf("body %s is not what was stored: its hash is another", path)
	}
	return ""
}
