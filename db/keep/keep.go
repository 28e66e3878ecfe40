// Package keep keeps contents that can be given back byte for byte: files of a workspace, each
// once however many facts name it. A content is deflated and sealed (AES-256-GCM, under a key that
// is worked out from the key of the state folder), so nothing of it lies in the clear and nothing
// of it is redacted. Its name is the beginning of a keyed hash, which says nothing to whoever
// cannot open it.
//
// The order is that of bodies (package blob): [Contents.Stage] makes what goes to a file durable
// and gives a row, the row is inserted in the transaction of the fact that names the content
// ([Add]), and a file without a row is a leftover that does no harm. What is read is compared with
// its name ([Contents.Get]); a content that cannot be given back is a [LostError].
package keep

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"agent/db/dbsqlc"
	"agent/db/sqlitefile"
	"agent/db/vault"
)

// Folder holds the files, in the state folder.
const Folder = "keep"

const (
	idSize = 16 // of a name, bytes

	// fileLimit is how long a sealed content may be that stays in the database, bytes: up to here
	// its copy costs no fsync beside the commit's.
	fileLimit = 256 << 10
)

// RowLimit is how many bytes a content may have that surely stays in the database: to stage it
// leaves nothing behind.
const RowLimit = fileLimit - 4<<10

// errNoKey is for whoever reads a folder without its key.
var errNoKey = errors.New("there is no key")

// Contents are those of one state folder.
type Contents struct {
	file  *sqlitefile.File
	read  func(ctx context.Context, what string, do func(q *dbsqlc.Queries) error) error
	box   *vault.Box // nil without the key: nothing is sealed and nothing opened
	names []byte     // key of the names
}

// Row is a content ready to be inserted with the facts that name it.
type Row struct {
	Name string // what a fact calls it: 32 hex digits
	Size int64  // of the content

	id      []byte
	data    []byte // sealed; nil where it is in a file
	replace bool   // what is there under this name cannot be opened
}

// LostError says that no usable copy of a content is there. Whoever has the content may stage it
// again.
type LostError struct {
	Name string
	Why  string
	Gone bool // it is in no list of contents any more: it had to make room
}

func (e *LostError) Error() string { return fmt.Sprintf("no usable copy of %.12s: %s", e.Name, e.Why) }

// New works the keys out from the key of the state folder; nil is read from the folder, as far as
// it is there.
func New(file *sqlitefile.File, key []byte, read func(ctx context.Context, what string, do func(q *dbsqlc.Queries) error) error) (*Contents, error) {
	c := &Contents{file: file, read: read}
	if key == nil {
		var err error
		if key, err = os.ReadFile(filepath.Join(file.Dir(), vault.KeyName)); err != nil || len(key) != vault.KeySize {
			return c, nil
		}
	}
	var err error
	if c.names, err = hkdf.Key(sha256.New, key, nil, "agent: names of contents", sha256.Size); err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	if c.box, err = vault.NewBox(key, "agent: sealed contents"); err != nil {
		return nil, err
	}
	return c, nil
}

// id is what a content is called.
func (c *Contents) id(content []byte) []byte {
	m := hmac.New(sha256.New, c.names)
	m.Write(content) // a hash takes everything without an error
	return m.Sum(nil)[:idSize]
}

// Name is what a content is called, whether or not it is kept; "" without the key.
func (c *Contents) Name(content []byte) string {
	if c.box == nil {
		return ""
	}
	return hex.EncodeToString(c.id(content))
}

// level deflates nearly as well as flate's default, in little more than the time of its fastest.
const level = 5

// Stage seals a content and, where it is long, makes its file durable, before any transaction
// begins. What was sealed is opened once and compared. A copy that is there and cannot be opened is
// replaced.
func (c *Contents) Stage(ctx context.Context, content []byte) (Row, error) {
	return c.stage(ctx, content, level)
}

// StageDense is Stage of a long content that deflating would hardly make smaller.
func (c *Contents) StageDense(ctx context.Context, content []byte) (Row, error) {
	return c.stage(ctx, content, flate.NoCompression)
}

func (c *Contents) stage(ctx context.Context, content []byte, level int) (Row, error) {
	r, err := c.row(ctx, content, level)
	if err != nil {
		return Row{}, fmt.Errorf("keep a content of %d bytes: %w", len(content), err)
	}
	return r, nil
}

func (c *Contents) row(ctx context.Context, content []byte, level int) (Row, error) {
	if c.box == nil {
		return Row{}, errNoKey
	}
	id := c.id(content)
	r := Row{Name: hex.EncodeToString(id), Size: int64(len(content)), id: id}
	sealed, err := c.seal(id, content, level)
	if err != nil {
		return r, err
	}
	if back, why := c.open(id, r.Size, sealed); why != "" || !bytes.Equal(back, content) {
		return r, fmt.Errorf("what was sealed does not open as it was: %s", why)
	}
	_, err = c.Get(ctx, r.Name)
	usable := err == nil
	if r.replace = errors.As(err, new(*LostError)); err != nil && !r.replace {
		return r, err
	}
	if len(sealed) <= fileLimit {
		r.data = sealed
		return r, nil
	}
	return r, sqlitefile.Place(c.file, c.Path(r.Name), sealed, func() bool { return usable })
}

// Add inserts contents in the transaction of the facts that name them.
func Add(ctx context.Context, q *dbsqlc.Queries, rows []Row) error {
	for _, r := range rows {
		add := q.AddKept
		if r.replace {
			add = q.ReplaceKept
		}
		if err := add(ctx, r.id, r.Size, r.data); err != nil {
			return fmt.Errorf("keep a content of %d bytes: %w", r.Size, err)
		}
	}
	return nil
}

// AddAhead inserts contents before any fact names them, and notes when: nobody removes them until
// the fact had its time to come.
func AddAhead(ctx context.Context, q *dbsqlc.Queries, rows []Row, now time.Time) error {
	for _, r := range rows {
		if r.replace {
			if err := q.ReplaceKept(ctx, r.id, r.Size, r.data); err != nil {
				return fmt.Errorf("keep a content of %d bytes: %w", r.Size, err)
			}
		}
		if err := q.AddKeptAhead(ctx, r.id, r.Size, r.data, now.UnixMicro()); err != nil {
			return fmt.Errorf("keep a content of %d bytes: %w", r.Size, err)
		}
	}
	return nil
}

// Staged is the content of a row that is not stored yet.
func (c *Contents) Staged(row Row) ([]byte, error) { return c.opened(row.Name, row.Size, row.data) }

// Get gives a content back after comparing it with its name. *LostError says that it cannot be;
// another error that nobody knows.
func (c *Contents) Get(ctx context.Context, name string) ([]byte, error) {
	own, row, err := c.find(ctx, name)
	if err != nil {
		return nil, err
	}
	return c.opened(own, row.Size, row.Data)
}

// opened gives the content of a row back.
func (c *Contents) opened(name string, size int64, data []byte) (content []byte, err error) {
	id, err := parse(name)
	if err != nil {
		return nil, err
	}
	where := ""
	if data == nil {
		where = ": " + c.Path(name)
		if data, err = os.ReadFile(c.Path(name)); errors.Is(err, fs.ErrNotExist) {
			return nil, &LostError{Name: name, Why: "its file is missing" + where}
		} else if err != nil {
			return nil, fmt.Errorf("read the copy %.12s: %w", name, err)
		}
	}
	if c.box == nil {
		return nil, fmt.Errorf("open the copy %.12s: %w", name, errNoKey)
	}
	content, why := c.open(id, size, data)
	if why != "" {
		return nil, &LostError{Name: name, Why: why + where}
	}
	return content, nil
}

// Has says whether a copy is there, without opening it.
func (c *Contents) Has(ctx context.Context, name string) (bool, error) {
	own, row, err := c.find(ctx, name)
	if err == nil && row.Data == nil {
		_, err = os.Stat(c.Path(own))
	}
	if errors.As(err, new(*LostError)) || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// parse gives the bytes of a name.
func parse(name string) ([]byte, error) {
	id, err := hex.DecodeString(name)
	if err != nil || len(id) != idSize {
		return nil, &LostError{Name: name, Why: "this is not the name of one"}
	}
	return id, nil
}

// find reads the row of a name, which may be one that the content had in another store. own is the
// name that it has here.
func (c *Contents) find(ctx context.Context, name string) (own string, row dbsqlc.GetKeptRow, err error) {
	id, err := parse(name)
	if err != nil {
		return "", row, err
	}
	err = c.read(ctx, "read a kept content", func(q *dbsqlc.Queries) error {
		row, err = q.GetKept(ctx, id)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		here, nameErr := q.KeptName(ctx, id)
		if nameErr != nil {
			return err // of a format without such names too
		}
		id = here
		row, err = q.GetKept(ctx, id)
		return err
	})
	own = hex.EncodeToString(id)
	if errors.Is(err, sql.ErrNoRows) {
		return own, row, &LostError{Name: name, Why: "none is recorded", Gone: true}
	}
	return own, row, err
}

// Path is where a content in a file lies.
func (c *Contents) Path(name string) string {
	return filepath.Join(c.file.Dir(), Folder, name[:2], name)
}

// seal makes ciphertext that only this id can be opened with.
func (c *Contents) seal(id, content []byte, level int) ([]byte, error) {
	var small bytes.Buffer
	w, err := flate.NewWriter(&small, level)
	if err == nil {
		_, err = w.Write(content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("deflate it: %w", err)
	}
	return c.box.Seal(id, small.Bytes()), nil
}

// open gives the content of a sealed one, or why it has none.
func (c *Contents) open(id []byte, size int64, sealed []byte) (content []byte, why string) {
	small, err := c.box.Open(id, sealed)
	if err != nil {
		return nil, err.Error()
	}
	var b bytes.Buffer // it grows with what comes: size is not sealed
	if _, err := io.Copy(&b, io.LimitReader(flate.NewReader(bytes.NewReader(small)), size+1)); err != nil {
		return nil, fmt.Sprintf("it cannot be unpacked: %v", err)
	}
	if int64(b.Len()) != size {
		return nil, fmt.Sprintf("it does not have the %d bytes that are recorded", size)
	}
	if !hmac.Equal(c.id(b.Bytes()), id) {
		return nil, "it is another content than its name says"
	}
	return b.Bytes(), ""
}
