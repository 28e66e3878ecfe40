package db

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
	"syscall"

	"agent/db/dbsqlc"
	"agent/db/sqlitefile"
	"agent/tools/durable"
)

// Encodings of a stored blob.
const (
	EncodingPlain   = "plain"
	EncodingDeflate = "deflate"
	EncodingFile    = "file"
)

// blob is a large body by the SHA-256 of its bytes.
type blob struct {
	hash []byte
	data []byte
}

func newBlob(data []byte) *blob {
	sum := sha256.Sum256(data)
	return &blob{hash: sum[:], data: data}
}

// row is how the blob is stored, once spill has written what goes to a file.
func (b *blob) row() (encoding string, data []byte) {
	if len(b.data) > fileLimit {
		return EncodingFile, nil
	}
	if small, ok := deflate(b.data); ok {
		return EncodingDeflate, small
	}
	return EncodingPlain, b.data
}

// blobRow is a blob ready to be inserted.
type blobRow struct {
	hash     []byte
	size     int64
	encoding string
	data     []byte
}

// Bodies are what a fact's row has no room for: rows of the table blobs, and files beside the database.
type Bodies struct{ file *sqlitefile.File }

// Bodies are those of the store.
func (s *core) Bodies() Bodies { return Bodies{s.file} }

// Dir is the folder with the files.
func (o Bodies) Dir() string { return filepath.Join(o.file.Dir(), blobsName) }

// stage makes the files that a batch refers to durable, and compresses the rest, before any transaction begins.
func (o Bodies) stage(facts []fact) ([]blobRow, error) {
	var rows []blobRow
	for _, f := range facts {
		for _, b := range []*blob{f.external, f.output} {
			if b == nil {
				continue
			}
			if len(b.data) > fileLimit {
				if err := o.spill(b); err != nil {
					return nil, err
				}
			}
			encoding, data := b.row()
			rows = append(rows, blobRow{b.hash, int64(len(b.data)), encoding, data})
		}
	}
	return rows, nil
}

// spill writes a blob's file: durable under its content's name, or an error. A full disk costs the ballast.
func (o Bodies) spill(b *blob) error {
	err := o.write(b)
	if errors.Is(err, syscall.ENOSPC) && o.file.GiveUpBallast() {
		err = o.write(b)
	}
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("store a body of %d bytes: %w: %w", len(b.data), ErrDiskFull, err)
	}
	if err != nil {
		return fmt.Errorf("store a body of %d bytes: %w", len(b.data), err)
	}
	return nil
}

func (o Bodies) write(b *blob) error {
	path := o.path(b.hash)
	dir := filepath.Dir(path)
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := sqlitefile.MakeDir(d); err != nil {
			return err
		}
	}
	if o.Check(b.hash, int64(len(b.data))) != "" {
		temp, err := durable.Temp(dir, ".new-*", 0o600, bytes.NewReader(b.data))
		if err != nil {
			return err
		}
		if err := os.Rename(temp, path); err != nil {
			return errors.Join(err, os.Remove(temp))
		}
	}
	// Also for a file that is there: whoever wrote it may have ended before this.
	return errors.Join(durable.SyncDir(dir), durable.SyncDir(filepath.Dir(dir)), durable.SyncDir(o.file.Dir()))
}

func (o Bodies) path(hash []byte) string {
	name := hex.EncodeToString(hash)
	return filepath.Join(o.Dir(), name[:2], name)
}

// Open gives back the bytes of a blob after comparing them with their hash. What does not match is a damage.
func (o Bodies) Open(hash []byte, size int64, encoding string, data []byte) ([]byte, error) {
	name := hex.EncodeToString(hash)
	switch encoding {
	case EncodingPlain:
	case EncodingDeflate:
		var err error
		if data, err = Inflate(data, size); err != nil {
			return nil, damage{fmt.Sprintf("its body %.12s cannot be unpacked: %v", name, err)}
		}
	case EncodingFile:
		var err error
		data, err = os.ReadFile(o.path(hash))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, damage{fmt.Sprintf("its body is missing: %s", o.path(hash))}
		}
		if err != nil {
			return nil, fmt.Errorf("read body: %w", err)
		}
	default:
		return nil, fmt.Errorf("body %.12s: it is encoded as %q, which this binary does not know", name, encoding)
	}
	if sum := sha256.Sum256(data); !bytes.Equal(sum[:], hash) {
		return nil, damage{fmt.Sprintf("its body %.12s does not match its hash", name)}
	}
	return data, nil
}

// Inflate unpacks a body of a known size.
func Inflate(data []byte, size int64) ([]byte, error) {
	out := make([]byte, 0, size)
	b := bytes.NewBuffer(out)
	_, err := io.Copy(b, io.LimitReader(flate.NewReader(bytes.NewReader(data)), size+1))
	return b.Bytes(), err
}

// addBlobs inserts what is not there yet.
func addBlobs(t *tx, rows []blobRow) error {
	for _, r := range rows {
		if err := t.q.AddBlob(context.Background(), r.hash, r.size, r.encoding, r.data); err != nil {
			return fmt.Errorf("store a body of %d bytes: %w", r.size, err)
		}
	}
	return nil
}

// named reads a blob by the name that a result carries.
func (o Bodies) named(ctx context.Context, q *dbsqlc.Queries, name string) ([]byte, error) {
	hash, err := hex.DecodeString(name)
	if err != nil || len(hash) != sha256.Size {
		return nil, fmt.Errorf("body %q: this is not the name of one", name)
	}
	r, err := q.GetBlob(ctx, hash)
	if err != nil {
		return nil, err
	}
	return o.Open(r.Hash, r.Size, r.Encoding, r.Data)
}

// Check reads a body's file and compares it with the hash that is its name; "" when it is whole.
func (o Bodies) Check(hash []byte, size int64) string {
	path := o.path(hash)
	if have := sizeOf(path); have != size {
		return fmt.Sprintf("body %s has %d bytes and not %d", path, have, size)
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

// sizeOf is a file's size; 0 when it is not there.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
