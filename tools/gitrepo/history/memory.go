package history

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// Bounds of what a reader remembers; what is beyond one of them makes it forget the rest.
const (
	maxKnown      = 50_000   // commits
	maxKnownBytes = 32 << 20 // of their texts, and of messages
	maxAhead      = 16 << 20 // bytes of the changes that are listed ahead
)

// memory is what a reader has read: under an id nothing ever changes.
type memory struct {
	mutex    sync.Mutex
	bytes    int
	commits  map[string]Commit
	changes  map[string][]Change // as they were listed ahead
	patches  map[string]string   // "" is none
	trailers map[string][]Trailer
}

func (m *memory) commit(id string) (Commit, bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	c, ok := m.commits[id]
	return c, ok
}

func (m *memory) read(c Commit) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.room(len(c.Message) + len(c.AuthorLine) + len(c.Committer)); m.commits == nil {
		m.commits = map[string]Commit{}
	}
	m.commits[c.ID] = c
}

// room makes room for a text.
func (m *memory) room(size int) {
	if m.bytes += size; m.bytes > maxKnownBytes || len(m.commits) >= maxKnown || len(m.patches) >= maxKnown {
		m.commits, m.patches, m.trailers, m.bytes = nil, nil, nil, size
	}
}

func (m *memory) changesOf(id string) ([]Change, bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	list, ok := m.changes[id]
	return list, ok
}

// patchesOf takes in the patch ids that are known, and lists the commits whose are not.
func (m *memory) patchesOf(ids []string, all map[string]string) (rest []string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	for _, id := range ids {
		switch patch, ok := m.patches[id]; {
		case !ok:
			rest = append(rest, id)
		case patch != "":
			all[id] = patch
		}
	}
	return rest
}

func (m *memory) patched(ids []string, all map[string]string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.room(0); m.patches == nil {
		m.patches = map[string]string{}
	}
	for _, id := range ids {
		m.patches[id] = all[id]
	}
}

func (m *memory) trailersOf(message string) ([]Trailer, bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	list, ok := m.trailers[message]
	return list, ok
}

func (m *memory) told(message string, list []Trailer) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.room(len(message)); m.trailers == nil {
		m.trailers = map[string][]Trailer{}
	}
	m.trailers[message] = list
}

// Ahead has one git list what many commits changed, and lists the commits of which that is known
// then. Changes answers for these until Ahead is asked for others. One that it does not list has to
// be asked for alone, which says why.
func (rd *Reader) Ahead(ctx context.Context, ids []string) ([]string, error) {
	all, err := rd.ahead(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("list what %d commits of %s changed: %w", len(ids), rd.repo.Common, err)
	}
	var known []string
	for _, id := range ids {
		if _, ok := all[id]; ok {
			known = append(known, id)
		}
	}
	rd.memory.mutex.Lock()
	rd.memory.changes = all
	rd.memory.mutex.Unlock()
	return known, nil
}

func (rd *Reader) ahead(ctx context.Context, ids []string) (all map[string][]Change, err error) {
	commits, _, err := rd.Commits(ctx, ids)
	if err != nil {
		return nil, err
	}
	var parents []string
	for _, c := range commits {
		if len(c.Parents) == 1 {
			parents = append(parents, c.Parents[0])
		}
	}
	above, _, err := rd.Commits(ctx, parents)
	if err != nil {
		return nil, err
	}
	var asked []string
	for id, c := range commits {
		if len(c.Parents) == 0 || len(c.Parents) == 1 && above[c.Parents[0]].ID != "" {
			asked = append(asked, id)
		}
	}
	if len(asked) == 0 {
		return nil, nil
	}
	in := strings.Join(asked, "\n") + "\n"
	out, err := rd.run(ctx, maxAhead, []byte(in), "diff-tree", "--stdin", "-r", "-z", "--root", "--no-renames", "--no-ext-diff")
	if err != nil {
		return nil, err
	}
	if all, err = changesOf(string(out)); err != nil {
		return nil, err
	}
	for _, id := range asked {
		if _, named := all[id]; !named {
			all[id] = nil // it changed nothing
		}
	}
	return all, nil
}
