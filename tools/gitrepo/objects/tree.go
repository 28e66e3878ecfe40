package objects

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // git's names of objects; nothing is protected by it
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"agent/tools/gitrepo/gitconfig"
)

// IndexTree is the id of the tree that a commit of the index has. An index with a conflict, with
// something that is only meant to be added, or of which a part lies elsewhere is refused.
func (r Repository) IndexTree() (string, error) {
	ix, err := r.wholeIndex()
	if err == nil {
		var id string
		if id, err = r.treeID(ix.list); err == nil {
			return id, nil
		}
	}
	return "", fmt.Errorf("read the index of %s: %w", r.Git, err)
}

// wholeIndex is an index that a commit can be made of.
func (r Repository) wholeIndex() (index, error) {
	ix, err := r.index()
	if err != nil {
		return ix, err
	}
	if ix.base != "" || ix.sparse {
		return ix, fmt.Errorf("%w: a part of it lies elsewhere", errIndex)
	}
	for _, e := range ix.list {
		if e.more&moreIntent != 0 {
			return ix, fmt.Errorf("%w: a file is only meant to be added", errIndex)
		} else if e.flag&flagStage != 0 {
			return ix, fmt.Errorf("%w: there is a conflict", errIndex)
		}
	}
	return ix, nil
}

func (r Repository) treeID(list []record) (string, error) {
	id, rest := treeOf(list, "", r.SHA256)
	if len(rest) > 0 {
		return "", errIndex
	}
	return hex.EncodeToString(id), nil
}

// treeOf makes the tree of the files below a folder and returns the files after them. The index has
// git's order.
func treeOf(files []record, prefix string, sha256 bool) ([]byte, []record) {
	var body bytes.Buffer
	for len(files) > 0 && strings.HasPrefix(files[0].name, prefix) {
		f := files[0]
		name, _, below := strings.Cut(f.name[len(prefix):], "/")
		if !below {
			id, _ := hex.DecodeString(f.id) // it was made from bytes
			fmt.Fprintf(&body, "%o %s\x00", f.mode, name)
			body.Write(id)
			files = files[1:]
			continue
		}
		var id []byte
		id, files = treeOf(files, prefix+name+"/", sha256)
		fmt.Fprintf(&body, "40000 %s\x00", name)
		body.Write(id)
	}
	return objectID("tree", body.Bytes(), sha256), files
}

// objectID is the id of an object.
func objectID(kind string, content []byte, sha256 bool) []byte {
	h := newHash(sha256)
	fmt.Fprintf(h, "%s %d\x00", kind, len(content))
	h.Write(content) // a hash returns no error
	return h.Sum(nil)
}

func newHash(long bool) hash.Hash {
	if long {
		return sha256.New()
	}
	return sha1.New() //nolint:gosec // as above
}

// BlobID is the id of the blob that holds a content, in hex.
func BlobID(content []byte, sha256 bool) string {
	return ID("blob", content, sha256)
}

// ID is the id of an object of a kind (blob, tree, commit or tag) that holds a content, in hex.
func ID(kind string, content []byte, sha256 bool) string {
	return hex.EncodeToString(objectID(kind, content, sha256))
}

// Commit is a commit's object.
type Commit struct {
	Tree, Message string
	Parents       []string
	When          int64 // of the committer, seconds since 1970; 0 where it is no number
	Encoded       bool  // its message names an encoding
}

// maxCommit bounds a commit's object, in bytes.
const maxCommit = 32 << 20

// FreshCommit reads a commit that was just made, and so lies alone in its file.
func (r Repository) FreshCommit(id string) (Commit, error) {
	if err := r.isID(id); err != nil {
		return Commit{}, err
	}
	packed, err := gitconfig.ReadFile(filepath.Join(r.Common, "objects", id[:2], id[2:]), maxCommit)
	if err != nil {
		return Commit{}, err
	}
	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return Commit{}, err
	}
	text, err := io.ReadAll(io.LimitReader(z, maxCommit))
	if err != nil {
		return Commit{}, err
	}
	kind, body, _ := strings.Cut(string(text), "\x00")
	if !strings.HasPrefix(kind, "commit ") {
		return Commit{}, fmt.Errorf("%.12s is no commit", id)
	}
	return commitOf(body), nil
}

// FreshBlob reads a blob of at most so many bytes that was just staged, and so lies alone in its
// file: ErrTooLarge. What it returns has the id that was asked for.
func (r Repository) FreshBlob(id string, limit int64) ([]byte, error) {
	if err := r.isID(id); err != nil {
		return nil, err
	}
	content, err := readLoose(filepath.Join(r.Common, "objects", id[:2], id[2:]), limit)
	if err == nil && BlobID(content, r.SHA256) != id {
		err = errDamaged
	}
	if err != nil {
		return nil, fmt.Errorf("read blob %.64s of %s: %w", id, r.Common, err)
	}
	return content, nil
}

func commitOf(body string) Commit {
	head, message, _ := strings.Cut(body, "\n\n")
	c := Commit{Message: message}
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch key {
		case "tree":
			c.Tree = value
		case "parent":
			c.Parents = append(c.Parents, value)
		case "encoding":
			c.Encoded = true
		case "committer":
			if words := strings.Fields(value); len(words) > 1 {
				c.When, _ = strconv.ParseInt(words[len(words)-2], 10, 64) // one that is no number counts as the oldest
			}
		}
	}
	return c
}
