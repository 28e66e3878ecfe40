package objects

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Index is what git's index says of the files of a folder, in the order of their paths.
type Index struct {
	list       []record
	written    int64
	attributes map[string]Indexed // .gitattributes in the whole index, by path in the work tree
}

// Len is how many paths the index has.
func (ix Index) Len() int { return len(ix.list) }

// All goes through the paths.
func (ix Index) All() iter.Seq2[string, Indexed] {
	return func(yield func(string, Indexed) bool) {
		for i := range ix.list {
			if !yield(ix.list[i].name, ix.list[i].indexed(ix.written)) {
				return
			}
		}
	}
}

// at is where a path is, or would be.
func (ix Index) at(path string) (int, bool) {
	return slices.BinarySearchFunc(ix.list, path, func(r record, path string) int { return strings.Compare(r.name, path) })
}

// Has says whether the index has a path.
func (ix Index) Has(path string) bool {
	_, ok := ix.at(path)
	return ok
}

// Below says whether the index has a path below a folder.
func (ix Index) Below(folder string) bool {
	at, _ := ix.at(folder + "/")
	return at < len(ix.list) && strings.HasPrefix(ix.list[at].name, folder+"/")
}

// Finder finds paths. It is fastest if they are asked for in nearly the order of the index.
func (ix Index) Finder() func(path string) (Indexed, bool) {
	next := 0
	return func(path string) (Indexed, bool) {
		if next >= len(ix.list) || ix.list[next].name != path {
			at, ok := ix.at(path)
			if !ok {
				return Indexed{}, false
			}
			next = at
		}
		next++
		return ix.list[next-1].indexed(ix.written), true
	}
}

// Since lists the paths that an earlier index had not.
func (ix Index) Since(was Index) (added []string) {
	old := was.list
	for i := range ix.list {
		name := ix.list[i].name
		for len(old) > 0 && old[0].name < name {
			old = old[1:]
		}
		if len(old) == 0 || old[0].name != name {
			added = append(added, name)
		}
	}
	return added
}

// Index reads git's index: versions 2 to 4, also a split one. Paths are seen from the folder that
// the repository was found for; what is outside of it is left out, and so are folders of which the
// index holds no files (sparse index) and names that no file can have. Of a conflict the first
// stage is there. Without an index it is empty. Nothing is written, no lock is taken.
func (r Repository) Index() (Index, error) {
	ix, err := r.index()
	if err != nil {
		return Index{}, fmt.Errorf("read the index of %s: %w", r.Git, err)
	}
	return ix.below(r.Prefix), nil
}

// below are the files of a folder.
func (ix index) below(prefix string) Index {
	all := Index{written: ix.written, list: ix.list[:0], attributes: map[string]Indexed{}}
	if prefix != "" {
		prefix += "/"
	}
	sorted := true
	for _, e := range ix.list { // which is overwritten behind it
		if dir, is := strings.CutSuffix(e.name, ".gitattributes"); is && (dir == "" || strings.HasSuffix(dir, "/")) {
			all.attributes[e.name] = e.indexed(ix.written)
		}
		name, ok := strings.CutPrefix(e.name, prefix)
		if !ok || e.mode&0o170000 == modeFolder || !isPath(name) {
			continue
		}
		if n := len(all.list); n > 0 {
			last := all.list[n-1].name
			if last == name && e.flag&flagStage != 0 {
				continue
			}
			sorted = sorted && last < name
		}
		e.name = name
		all.list = append(all.list, e)
	}
	if !sorted { // a split one, or one that git would not have written
		slices.SortStableFunc(all.list, func(a, b record) int { return strings.Compare(a.name, b.name) })
		all.list = slices.CompactFunc(all.list, func(a, b record) bool { return a.name == b.name })
	}
	return all
}
