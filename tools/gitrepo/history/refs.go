package history

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agent/tools/gitrepo/gitconfig"
	"agent/tools/gitrepo/objects"
)

// Bounds of refs.
const (
	maxRef     = 300      // bytes of a loose one that count
	maxPacked  = 32 << 20 // bytes of packed-refs
	maxFollow  = 5        // refs that lead to one another, as git has it
	maxTables  = 1 << 20  // bytes of the list of reftables
	maxListing = 64 << 20 // bytes of refs that git lists
)

// Tip is a ref, or the HEAD of a worktree, and the object that it leads to.
type Tip struct {
	Name string // refs/…, HEAD, or worktrees/x/HEAD
	ID   string // a commit's, or a tag's that leads to one
}

// Tips lists where the refs of a repository lead, and where HEAD of each worktree does. Refs in
// reftables are listed by git.
func Tips(ctx context.Context, r objects.Repository) ([]Tip, error) {
	list, err := refTips(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("list the refs of %s: %w", r.Common, err)
	}
	trees, cut, err := worktrees(r, nil)
	if err == nil && cut != "" {
		err = fmt.Errorf("%s", cut)
	}
	if err != nil {
		return nil, fmt.Errorf("list the worktrees of %s: %w", r.Common, err)
	}
	for _, w := range trees {
		at := r
		at.Git = w.git
		head, err := at.Head()
		if err != nil && w.git == r.Git {
			return nil, err
		}
		if err == nil && head.Commit != "" {
			list = append(list, Tip{strings.TrimPrefix("worktrees/"+w.name+"/HEAD", "worktrees//"), head.Commit})
		}
	}
	return list, nil
}

func refTips(ctx context.Context, r objects.Repository) (list []Tip, err error) {
	if r.Reftable() {
		out, err := run(ctx, r.Git, maxListing, nil, "for-each-ref", "--format=%(objectname) %(refname)")
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(out)) {
			if id, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok && idOf(id, r) != "" {
				list = append(list, Tip{name, id})
			}
		}
		return list, nil
	}
	refs, cut, err := readRefs(r, nil)
	if err == nil && cut != "" {
		err = fmt.Errorf("%s", cut)
	}
	for _, f := range refs {
		if id := idOf(f.value, r); id != "" {
			if f.peeled != "" {
				id = f.peeled
			}
			list = append(list, Tip{f.name, id})
		}
	}
	return list, err
}

// ref is a ref as it is stored: an id, "ref: " and another ref, or what there is instead.
type ref struct{ name, value, peeled string }

// readRefs lists all refs by name, the loose ones before packed-refs: gitrepository-layout. Of
// reftables it is their list, which each change writes anew.
func readRefs(r objects.Repository, l *looked) (list []ref, cut string, err error) {
	if r.Reftable() {
		return readTables(r, l)
	}
	loose := map[string]bool{}
	t := tree{left: maxEntries, looked: l, visit: func(name string, in *os.File, d fs.DirEntry) {
		if strings.HasSuffix(name, ".lock") {
			return
		}
		f := ref{name: name, value: "odd " + d.Type().String()}
		if d.Type()&fs.ModeSymlink != 0 {
			if to, err := os.Readlink(filepath.Join(in.Name(), d.Name())); err == nil {
				f.value = "ref: " + to
			}
		} else if d.Type().IsRegular() {
			text, err := readSmallIn(in, d.Name())
			if absent(err) {
				return // it was packed or removed meanwhile
			}
			if err == nil {
				f.value = strings.TrimSpace(string(text))
			}
		}
		loose[name] = true
		list = append(list, f)
	}}
	if err := t.walk(filepath.Join(r.Common, "refs"), "refs", 0); err != nil {
		return nil, "", err
	}
	l.at(filepath.Join(r.Common, "packed-refs"))
	packed, err := readPacked(r)
	if err != nil {
		return nil, "", err
	}
	for _, f := range packed {
		if !loose[f.name] {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b ref) int { return strings.Compare(a.name, b.name) })
	return list, t.cut, nil
}

// readPacked reads packed-refs.
func readPacked(r objects.Repository) (list []ref, err error) {
	text, err := gitconfig.ReadFile(filepath.Join(r.Common, "packed-refs"), maxPacked)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list = make([]ref, 0, bytes.Count(text, []byte{'\n'}))
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "^"):
			if len(list) > 0 {
				list[len(list)-1].peeled = idOf(line[1:], r)
			}
		default:
			if id, name, ok := strings.Cut(line, " "); ok {
				list = append(list, ref{name: name, value: id})
			}
		}
	}
	return list, nil
}

// readTables stands for refs in reftables: each of them is in a table, and the list of tables names
// those that count.
func readTables(r objects.Repository, l *looked) (list []ref, cut string, err error) {
	trees, cut, err := worktrees(r, l)
	if err != nil {
		return nil, "", err
	}
	for _, w := range trees {
		file := filepath.Join(w.git, "reftable", "tables.list")
		l.at(file)
		text, err := gitconfig.ReadFile(file, maxTables)
		if err != nil && !absent(err) {
			return nil, "", err
		}
		list = append(list, ref{name: "reftable/" + w.name, value: string(text)})
	}
	slices.SortFunc(list, func(a, b ref) int { return strings.Compare(a.name, b.name) })
	return list, cut, nil
}

func digestRefs(list []ref) string {
	h := sha256.New()
	for _, f := range list {
		fmt.Fprintf(h, "%s\x00%s\n", f.name, f.value)
	}
	return short(h.Sum(nil))
}

// follow is the commit that a ref leads to, "" where it leads to none.
func follow(list []ref, name string) string {
	for range maxFollow {
		i, ok := slices.BinarySearchFunc(list, name, func(f ref, name string) int { return strings.Compare(f.name, name) })
		if !ok {
			return ""
		}
		to, symbolic := strings.CutPrefix(list[i].value, "ref:")
		if !symbolic {
			value, _, _ := strings.Cut(list[i].value, " ")
			return value
		}
		name = strings.TrimSpace(to)
	}
	return ""
}

// idOf is a text that is an object's id in that repository, else "".
func idOf(text string, r objects.Repository) string {
	size := 40
	if r.SHA256 {
		size = 64
	}
	if _, err := hex.DecodeString(text); err != nil || len(text) != size || strings.Trim(text, "0") == "" {
		return ""
	}
	return text
}

// linkTarget is the ref that a HEAD names that is a link.
func linkTarget(file string) (string, bool) {
	to, err := os.Readlink(file)
	return to, err == nil && strings.HasPrefix(to, "refs/")
}
