//go:build linux

package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// content is a file's bytes. What lies behind the data, up to the size, is zero.
type content struct {
	data []byte
	size int64
}

func (c content) clone() content { return content{slices.Clone(c.data), c.size} }

// apply changes the content as an operation on the file does; part of a write, from the front, when
// n is not negative.
func (c *content) apply(op *operation, n int) {
	switch op.Op {
	case opTruncate:
		c.data, c.size = c.data[:min(int64(len(c.data)), op.Size)], op.Size
	case opExtend:
		c.size = max(c.size, op.Size)
	case opWrite:
		data := op.data
		if n >= 0 {
			data = data[:n]
		}
		end := op.Offset + int64(len(data))
		if old := int64(len(c.data)); len(data) > 0 && end > old {
			c.data = slices.Grow(c.data, int(end-old))[:end]
			clear(c.data[old:end])
		}
		copy(c.data[min(op.Offset, int64(len(c.data))):], data)
		if len(data) > 0 {
			c.size = max(c.size, end)
		}
	}
}

// inode is a file or a folder, whatever its name.
type inode struct {
	folder bool
	link   string
	mode   uint32 // of the durable content

	kept    content     // durable
	pending []operation // on the file, not durable

	names   map[string]uint64 // as they are seen
	durable map[string]entry
	changes []*change // of the folder's names, not durable
}

// entry is what a name stands for since an operation; 0 for nothing.
type entry struct {
	id uint64
	n  int
}

// change is one operation on names. One that moves a name between folders is waited for in both and
// happens in both at once, as journaling file systems have it.
type change struct {
	n     int
	sets  []placed
	moves uint64 // the file
	done  bool
}

type placed struct {
	dir  uint64
	name string
	id   uint64
}

// timeline follows the operations up to one, and knows of each file what would survive a cut then.
type timeline struct {
	at      int
	ignores bool // fsync, as if nobody had asked for it
	inodes  map[uint64]*inode
}

// newTimeline begins with what was there before the first operation, all of it durable.
func newTimeline(base map[uint64]*inode, ignores bool) *timeline {
	t := &timeline{ignores: ignores, inodes: map[uint64]*inode{}}
	for id, x := range base {
		own := *x
		own.kept = x.kept.clone()
		own.names, own.durable = maps.Clone(x.names), map[string]entry{}
		for name, child := range x.names {
			own.durable[name] = entry{id: child}
		}
		t.inodes[id] = &own
	}
	return t
}

// advance carries the next operations out.
func (t *timeline) advance(ops []operation) error {
	for i := range ops {
		if err := t.step(&ops[i]); err != nil {
			return fmt.Errorf("operation %d (%s %s): %w", ops[i].N, ops[i].Op, ops[i].Path, err)
		}
		t.at = ops[i].N
	}
	return nil
}

func (t *timeline) step(op *operation) error {
	switch op.Op {
	case opWrite, opTruncate, opExtend, opChmod, opFsync:
		x := t.inodes[op.id]
		if x == nil {
			return fmt.Errorf("there is no file of number %d", op.id)
		}
		if op.Op != opFsync {
			x.pending = append(x.pending, *op)
			return nil
		}
		if !t.ignores {
			x.sync()
		}
		return nil
	case opFsyncdir:
		if !t.ignores {
			return t.syncNames(op.id)
		}
		return nil
	}
	return t.rename(op)
}

// sync makes a file's content durable.
func (x *inode) sync() {
	for i := range x.pending {
		x.apply(&x.kept, &x.pending[i], -1)
	}
	x.pending = nil
}

func (x *inode) apply(c *content, op *operation, n int) {
	if op.Op == opChmod {
		x.mode = x.mode&^0o7777 | op.mode&0o7777
		return
	}
	c.apply(op, n)
}

// rename is any operation on names.
func (t *timeline) rename(op *operation) error {
	dir := t.inodes[op.dir]
	if dir == nil || !dir.folder {
		return fmt.Errorf("there is no folder of number %d", op.dir)
	}
	c := &change{n: op.N}
	switch op.Op {
	case opCreate, opMkdir, opSymlink:
		x := &inode{mode: op.mode, link: op.link, folder: op.Op == opMkdir}
		if x.folder {
			x.names, x.durable = map[string]uint64{}, map[string]entry{}
		}
		t.inodes[op.id] = x
		c.sets = []placed{{op.dir, op.name, op.id}}
	case opLink:
		c.sets = []placed{{op.dir, op.name, op.id}}
	case opUnlink, opRmdir:
		c.sets = []placed{{op.dir, op.name, 0}}
	case opRename:
		to := t.inodes[op.toDir]
		if to == nil || !to.folder {
			return fmt.Errorf("there is no folder of number %d", op.toDir)
		}
		c.moves = dir.names[op.name]
		left := uint64(0)
		if op.swap {
			left = to.names[op.toName]
		}
		c.sets = []placed{{op.dir, op.name, left}, {op.toDir, op.toName, c.moves}}
	default:
		return errors.New("it is none that is known")
	}
	t.wait(c)
	return nil
}

// wait lets a change be seen, and waits with it for the folders' fsync.
func (t *timeline) wait(c *change) {
	for i, s := range c.sets {
		d := t.inodes[s.dir]
		if s.id == 0 {
			delete(d.names, s.name)
		} else {
			d.names[s.name] = s.id
		}
		if i == 0 || s.dir != c.sets[0].dir {
			d.changes = append(d.changes, c)
		}
	}
}

// syncNames makes a folder's names durable.
func (t *timeline) syncNames(id uint64) error {
	d := t.inodes[id]
	if d == nil || !d.folder {
		return fmt.Errorf("there is no folder of number %d", id)
	}
	for _, c := range d.changes {
		if c.done {
			continue
		}
		c.done = true
		for _, s := range c.sets {
			place(t.inodes[s.dir].durable, s, c.n)
		}
	}
	d.changes = nil
	return nil
}

// place sets a name, unless a later operation has set it already.
func place(names map[string]entry, s placed, n int) {
	if names[s.name].n <= n {
		names[s.name] = entry{s.id, n}
	}
}
