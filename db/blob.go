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
	"agent/durable"
)

// Encodings of a stored blob.
const (
	encodingPlain   = "plain"
	encodingDeflate = "deflate"
	encodingFile    = "file"
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
		return encodingFile, nil
	}
	if small, ok := deflate(b.data); ok {
		return encodingDeflate, small
	}
	return encodingPlain, b.data
}

// blobRow is a blob ready to be inserted.
type blobRow struct {
	hash     []byte
	size     int64
	encoding string
	data     []byte
}

// stage makes the files that a batch refers to durable, and compresses the rest, before any transaction begins.
func (s *Store) stage(facts []fact) ([]blobRow, error) {
	var rows []blobRow
	for _, f := range facts {
		for _, b := range []*blob{f.external, f.output} {
			if b == nil {
				continue
			}
			if len(b.data) > fileLimit {
				if err := s.spill(b); err != nil {
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
func (s *Store) spill(b *blob) error {
	err := s.writeBlobFile(b)
	if errors.Is(err, syscall.ENOSPC) && s.file.GiveUpBallast() {
		err = s.writeBlobFile(b)
	}
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("store a body of %d bytes: %w: %w", len(b.data), ErrDiskFull, err)
	}
	if err != nil {
		return fmt.Errorf("store a body of %d bytes: %w", len(b.data), err)
	}
	return nil
}

func (s *Store) writeBlobFile(b *blob) error {
	path := s.blobPath(b.hash)
	dir := filepath.Dir(path)
	for _, d := range []string{filepath.Dir(dir), dir} {
		if err := sqlitefile.MakeDir(d); err != nil {
			return err
		}
	}
	if s.checkBlobFile(b.hash, int64(len(b.data))) != "" {
		temp, err := durable.Temp(dir, ".new-*", 0o600, bytes.NewReader(b.data))
		if err != nil {
			return err
		}
		if err := os.Rename(temp, path); err != nil {
			return errors.Join(err, os.Remove(temp))
		}
	}
	// Also for a file that is there: whoever wrote it may have ended before this.
	return errors.Join(durable.SyncDir(dir), durable.SyncDir(filepath.Dir(dir)), durable.SyncDir(s.file.Dir()))
}

func (s *Store) blobPath(hash []byte) string {
	name := hex.EncodeToString(hash)
	return filepath.Join(s.file.Dir(), blobsName, name[:2], name)
}

// open gives back the bytes of a blob after comparing them with their hash. What does not match is a damage.
func (s *Store) open(hash []byte, size int64, encoding string, data []byte) ([]byte, error) {
	name := hex.EncodeToString(hash)
	switch encoding {
	case encodingPlain:
	case encodingDeflate:
		var err error
		if data, err = inflate(data, size); err != nil {
			return nil, damage{fmt.Sprintf("its body %.12s cannot be unpacked: %v", name, err)}
		}
	case encodingFile:
		var err error
		data, err = os.ReadFile(s.blobPath(hash))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, damage{fmt.Sprintf("its body is missing: %s", s.blobPath(hash))}
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

func inflate(data []byte, size int64) ([]byte, error) {
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

// blobOf reads a blob by the name that a result carries.
func (s *Store) blobOf(ctx context.Context, q *dbsqlc.Queries, name string) ([]byte, error) {
	hash, err := hex.DecodeString(name)
	if err != nil || len(hash) != sha256.Size {
		return nil, fmt.Errorf("body %q: this is not the name of one", name)
	}
	r, err := q.GetBlob(ctx, hash)
	if err != nil {
		return nil, err
	}
	return s.open(r.Hash, r.Size, r.Encoding, r.Data)
}
