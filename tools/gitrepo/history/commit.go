package history

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// maxCommit bounds a commit's object, in bytes.
const maxCommit = 4 << 20

// maxPeel is how many tags may lead to one another.
const maxPeel = 5

// Commit is a commit's object. Its texts are as they lie there, in whatever encoding.
type Commit struct {
	ID         string
	Tree       string
	Parents    []string
	Author     string // name and address
	AuthorLine string // with seconds and zone
	AuthorTime time.Time
	Committer  string
	CommitTime time.Time
	Encoding   string // "" is UTF-8
	ChangeID   string // the header change-id, which jj writes
	Message    string
}

// Subject is the first line of the message.
func (c Commit) Subject() string {
	line, _, _ := strings.Cut(strings.TrimLeft(c.Message, "\n"), "\n")
	return line
}

// Commits reads commits. Those that are missing, or are no commits that can be read, are named.
func (rd *Reader) Commits(ctx context.Context, ids []string) (all map[string]Commit, missing []string, err error) {
	all = make(map[string]Commit, len(ids))
	var asked []string
	for _, id := range ids {
		if c, ok := rd.memory.commit(id); ok {
			all[id] = c
			continue
		}
		asked = append(asked, id)
	}
	if len(asked) == 0 {
		return all, nil, ctx.Err()
	}
	err = rd.each(ctx, asked, maxCommit, func(o object) {
		if c, ok := commitOf(o); ok {
			all[o.id] = c
			rd.memory.read(c)
			return
		}
		missing = append(missing, o.id)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read %d commits of %s: %w", len(ids), rd.repo.Common, err)
	}
	return all, missing, nil
}

// commitOf takes a commit apart: gitformat and git-commit-tree. A line that begins with a space
// goes on with the header before it, such as a signature.
func commitOf(o object) (c Commit, ok bool) {
	if o.kind != "commit" || o.large {
		return c, false
	}
	head, message, _ := strings.Cut(string(o.content), "\n\n")
	c = Commit{ID: o.id, Message: message}
	for line := range strings.Lines(head) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch key {
		case "tree":
			c.Tree = value
		case "parent":
			c.Parents = append(c.Parents, value)
		case "author":
			c.AuthorLine = value
			c.Author, c.AuthorTime, _ = whoWhen(value) // one that cannot be read is the oldest
		case "committer":
			c.Committer, c.CommitTime, _ = whoWhen(value)
		case "encoding":
			c.Encoding = value
		case "change-id":
			c.ChangeID = value
		}
	}
	return c, isID(c.Tree)
}

// peeled reads the commits that ids lead to, also through tags; what leads to none is left out, and
// named if it is missing.
func (rd *Reader) peeled(ctx context.Context, ids []string) (all []Commit, missing []string, err error) {
	for range maxPeel {
		var asked, next []string
		for _, id := range ids {
			if c, ok := rd.memory.commit(id); ok {
				all = append(all, c)
				continue
			}
			asked = append(asked, id)
		}
		err := rd.each(ctx, asked, maxCommit, func(o object) {
			switch c, ok := commitOf(o); {
			case ok:
				all = append(all, c)
				rd.memory.read(c)
			case o.kind == "tag" && !o.large:
				line, _, _ := strings.Cut(string(o.content), "\n")
				next = append(next, strings.TrimPrefix(line, "object "))
			case o.kind == "":
				missing = append(missing, o.id)
			}
		})
		if err != nil {
			return nil, nil, err
		}
		if ids = next; len(ids) == 0 {
			break
		}
	}
	return all, missing, nil
}
