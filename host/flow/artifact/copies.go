package artifact

import (
	"context"
	"errors"
	"fmt"

	"agent/db"
	"agent/db/keep"
)

// Copies keeps the bytes of artifacts. One that only looks keeps nothing and changes nothing.
type Copies struct {
	Contents *keep.Contents
	Room     int64 // that the flow has left, of FlowLimit; what is kept is taken off
	Looks    bool

	rows []keep.Row
}

// Rows are the contents that were kept since it was last asked: they go into the commit of the
// facts that name them.
func (c *Copies) Rows() []keep.Row {
	rows := c.rows
	c.rows = nil
	return rows
}

// keep seals a content, and gives its name or why it has no copy.
func (c *Copies) keep(ctx context.Context, size int64, content []byte) (name, why string, err error) {
	switch {
	case c.Looks:
		return "", "", nil
	case content == nil:
		return "", fmt.Sprintf("it has %d bytes, and at most %d are copied", size, CopyLimit), nil
	case size > c.Room:
		return "", fmt.Sprintf("the flow has %d bytes left for copies, and it has %d", c.Room, size), nil
	}
	row, err := c.Contents.Stage(ctx, content)
	if damaged(err) {
		return "", "the copy that is there cannot be replaced: " + pageDamaged, nil
	}
	if err != nil {
		return "", "", err
	}
	c.Room -= size
	c.rows = append(c.rows, row)
	return row.Name, "", nil
}

// open gives the bytes of a version back; why says that there are none that could be used. What is
// kept is compared with the record, too.
func (c *Copies) open(ctx context.Context, name, sha string) (content []byte, why string, err error) {
	if name == "" {
		return nil, "it has no copy", nil
	}
	content, err = c.Contents.Get(ctx, name)
	if lost := (*keep.LostError)(nil); errors.As(err, &lost) {
		return nil, lost.Error(), nil
	}
	if damaged(err) {
		return nil, "its copy cannot be read: " + pageDamaged, nil
	}
	if err != nil {
		return nil, "", err
	}
	if digest(content) != sha {
		return nil, "its copy does not match its hash", nil
	}
	return content, "", nil
}

// pageDamaged is why there is no copy, and what a person can do about it.
const pageDamaged = "the database is damaged there; see how far with: agent doctor"

// damaged says that the database cannot be read where a copy lies. Another copy, and the record,
// may be whole: they are read, and compared, by themselves.
func damaged(err error) bool { return errors.As(err, new(*db.CorruptError)) }
