package file

import (
	"bytes"
	"errors"
	"sort"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// kind is the type of a value.
type kind int

const (
	kindText kind = iota
	kindWhole
	kindFraction
	kindSwitch
	kindList
	kindTable
	kindOther // dates and times
)

// value is a value of TOML with its place in the Markdown file.
type value struct {
	at    place
	kind  kind
	text  string // of a text; of all else but lists and tables as it is written
	list  []*value
	table *table
}

// table is a table of TOML in the order in which it is written.
type table struct{ entries []*entry }

type entry struct {
	name  string
	at    place
	value *value
}

func (t *table) get(name string) *entry {
	for _, e := range t.entries {
		if e.name == name {
			return e
		}
	}
	return nil
}

// builder makes a tree of what the parser reads.
type builder struct {
	fence fence
	text  []byte
	ends  []int // where each line ends, its line end among them
}

// maxFence bounds the TOML of one fence, in bytes.
const maxFence = 64 << 10

// tree reads the TOML of a fence. What it does not understand is a mistake, and there is no tree.
func (r *reader) tree(f fence) *table {
	b := builder{fence: f, text: []byte(strings.Join(f.lines, "\n") + "\n")}
	if len(b.text) > maxFence {
		r.wrong(f.at, "keep prompts and lists in files", "the fence has more than %d KiB", maxFence>>10)
		return nil
	}
	for line := range bytes.Lines(b.text) {
		end := len(line)
		if n := len(b.ends); n > 0 {
			end += b.ends[n-1]
		}
		b.ends = append(b.ends, end)
	}
	var broken *toml.DecodeError
	if err := toml.Unmarshal(b.text, &map[string]any{}); errors.As(err, &broken) {
		row, column := broken.Position()
		r.wrong(b.shift(row, column), "the fence holds TOML: lines such as mode = \"plan\"", "%s", strings.TrimPrefix(broken.Error(), "toml: "))
		return nil
	} else if err != nil {
		r.wrong(f.at, "the fence holds TOML: lines such as mode = \"plan\"", "%s", strings.TrimPrefix(err.Error(), "toml: "))
		return nil
	}
	var p unstable.Parser
	p.Reset(b.text)
	root := &table{}
	into := root
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table:
			into = b.descend(root, e, false)
		case unstable.ArrayTable:
			into = b.descend(root, e, true)
		case unstable.KeyValue:
			b.pair(into, e)
		}
	}
	return root
}

// shift is the place in the Markdown file of a place in the fence.
func (b *builder) shift(row, column int) place {
	if row = min(max(row, 1), len(b.fence.lines)); row < 1 {
		return b.fence.at
	}
	return place{b.fence.at.line + row, max(column, 1) + b.fence.cut[row-1]}
}

// start is where a node begins.
func (b *builder) start(offset int) place {
	line := sort.SearchInts(b.ends, offset+1)
	if line > 0 {
		offset -= b.ends[line-1]
	}
	return b.shift(line+1, offset+1)
}

// pair puts a key and its value into a table.
func (b *builder) pair(t *table, e *unstable.Node) {
	var last *entry
	for it := e.Key(); it.Next(); {
		if last != nil {
			t = last.value.table
		}
		if last = b.entry(t, it.Node()); last.value == nil {
			last.value = &value{at: last.at, kind: kindTable, table: &table{}}
		} else if last.value.table == nil {
			return // the decoder refuses it
		}
	}
	last.value = b.value(e.Value(), last.at)
}

// entry finds a key, or puts it there.
func (b *builder) entry(t *table, key *unstable.Node) *entry {
	name := string(key.Data)
	if e := t.get(name); e != nil {
		return e
	}
	e := &entry{name: name, at: b.start(int(key.Raw.Offset))}
	t.entries = append(t.entries, e)
	return e
}

// descend follows the name of a [table], or of a [[list of tables]], to the table that the next
// lines fill.
func (b *builder) descend(t *table, e *unstable.Node, item bool) *table {
	var last *entry
	for it := e.Key(); it.Next(); {
		if last != nil {
			t = last.value.inner()
		}
		if last = b.entry(t, it.Node()); last.value == nil {
			last.value = &value{at: last.at, kind: kindTable, table: &table{}}
			if item && it.IsLast() {
				last.value = &value{at: last.at, kind: kindList}
			}
		}
	}
	if item {
		last.value.list = append(last.value.list, &value{at: last.at, kind: kindTable, table: &table{}})
	}
	return last.value.inner()
}

// inner is the table that lines below a header fill.
func (v *value) inner() *table {
	if n := len(v.list); n > 0 && v.list[n-1].table != nil {
		return v.list[n-1].table
	}
	if v.table == nil {
		return &table{} // the decoder refuses it
	}
	return v.table
}

// value reads a value; at is where its key stands, since a list has no place of its own.
func (b *builder) value(n *unstable.Node, at place) *value {
	v := &value{at: at, text: string(n.Data)}
	if n.Raw.Length > 0 {
		v.at = b.start(int(n.Raw.Offset))
	}
	switch n.Kind {
	case unstable.String:
		v.kind = kindText
	case unstable.Integer:
		v.kind = kindWhole
	case unstable.Float:
		v.kind = kindFraction
	case unstable.Bool:
		v.kind = kindSwitch
	case unstable.Array:
		v.kind = kindList
		for it := n.Children(); it.Next(); {
			v.list = append(v.list, b.value(it.Node(), at))
		}
	case unstable.InlineTable:
		v.kind, v.table = kindTable, &table{}
		for it := n.Children(); it.Next(); {
			b.pair(v.table, it.Node())
		}
	default:
		v.kind = kindOther
	}
	return v
}
