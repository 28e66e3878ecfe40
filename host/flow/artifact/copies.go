package artifact

import (
	"context"
	"errors"
	"fmt"

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
	if err != nil {
		return nil, "", err
	}
	if digest(content) != sha {
		return nil, "its copy does not match its hash", nil
	}
	return content, "", nil
}
