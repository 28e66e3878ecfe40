package history

import (
	"container/heap"
	"context"
	"fmt"
	"slices"
)

// Bounds of a walk.
const (
	maxWalk  = 1_000   // commits that are returned
	maxSteps = 200_000 // commits that are looked at
	slop     = 256     // commits that are looked at beyond what their times ask for: clocks differ
)

// Walked is what a walk found.
type Walked struct {
	Commits []Commit // newest first
	More    bool     // there are more
	Missing []string // commits that others name as parents, or that were asked for, and that are gone
}

// Walk lists the commits that the tips lead to and what is known does not, newest first, at most so
// many (1,000 if limit is 0 or more than that). Tips and what is known may be tags. What is
// missing, as behind the border of a shallow clone, is named, and ends the walk there. As in git's
// own walk, times of commits that are far out of order may let through one that is known.
func (rd *Reader) Walk(ctx context.Context, tips, known []string, limit int) (Walked, error) {
	if limit <= 0 || limit > maxWalk {
		limit = maxWalk
	}
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	w := walk{rd: rd, nodes: map[string]*node{}}
	err := w.begin(ctx, tips, known)
	if err == nil {
		err = w.steps(ctx, limit)
	}
	if err != nil {
		return Walked{}, fmt.Errorf("walk from %d tips of %s: %w", len(tips), rd.repo.Common, err)
	}
	return w.found(limit), nil
}

// Reachable says whether one of the tips leads to a commit: ErrMissing where the commit is gone.
func (rd *Reader) Reachable(ctx context.Context, id string, tips []string) (bool, error) {
	found, err := rd.Walk(ctx, []string{id}, tips, 1)
	if err == nil {
		for _, m := range found.Missing {
			if m == id {
				err = ErrMissing
			}
		}
	}
	if err != nil {
		return false, fmt.Errorf("see whether a ref of %s leads to %.64s: %w", rd.repo.Common, id, err)
	}
	return len(found.Commits) == 0, nil
}

// node is a commit on the way.
type node struct {
	Commit
	known  bool // what is known leads to it
	passed bool // its parents were looked at
	at     int  // when it was met: commits of the same time stay in this order
}

type walk struct {
	rd      *Reader
	nodes   map[string]*node
	queue   queue
	asked   int // of the queue: those that are not known
	list    []*node
	open    int // of the list: those that are not known
	more    bool
	missing []string
}

func (w *walk) begin(ctx context.Context, tips, known []string) error {
	for _, side := range []struct {
		ids   []string
		known bool
	}{{known, true}, {tips, false}} {
		all, missing, err := w.rd.peeled(ctx, side.ids)
		if err != nil {
			return err
		}
		for _, c := range all {
			if w.nodes[c.ID] == nil {
				w.meet(c, side.known)
			}
		}
		if !side.known {
			w.missing = append(w.missing, missing...)
		}
	}
	return nil
}

func (w *walk) meet(c Commit, known bool) {
	n := &node{Commit: c, known: known, at: len(w.nodes)}
	w.nodes[c.ID] = n
	heap.Push(&w.queue, n)
	if !known {
		w.asked++
	}
}

// steps goes back in time until nothing that is not known is left, or enough was found.
func (w *walk) steps(ctx context.Context, limit int) error {
	left := slop
	for steps := 0; len(w.queue) > 0; steps++ {
		if w.asked == 0 {
			if w.open == 0 {
				return nil
			}
			if oldest := w.list[len(w.list)-1]; oldest.CommitTime.After(w.queue[0].CommitTime) {
				if left--; left < 0 {
					return nil
				}
			}
		}
		if w.open > limit+slop || steps >= maxSteps {
			w.more = w.more || w.asked > 0
			return nil
		}
		n := heap.Pop(&w.queue).(*node)
		n.passed = true
		if !n.known {
			w.asked--
			w.list = append(w.list, n)
			w.open++
		}
		if err := w.parents(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// parents takes in the parents of a commit.
func (w *walk) parents(ctx context.Context, n *node) error {
	var fresh []string
	for _, id := range n.Parents {
		p := w.nodes[id]
		if p == nil {
			fresh = append(fresh, id)
		} else if n.known {
			w.learn(p)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	all, missing, err := w.rd.Commits(ctx, fresh)
	if err != nil {
		return err
	}
	for _, id := range fresh {
		if c, ok := all[id]; ok && w.nodes[id] == nil {
			w.meet(c, n.known)
		}
	}
	if !n.known {
		w.missing = append(w.missing, missing...)
	}
	return nil
}

// learn makes a commit known, and all behind it that was met.
func (w *walk) learn(n *node) {
	for todo := []*node{n}; len(todo) > 0; {
		n, todo = todo[len(todo)-1], todo[:len(todo)-1]
		if n.known {
			continue
		}
		n.known = true
		if !n.passed {
			w.asked--
			continue
		}
		w.open--
		for _, id := range n.Parents {
			if p := w.nodes[id]; p != nil {
				todo = append(todo, p)
			}
		}
	}
}

func (w *walk) found(limit int) Walked {
	slices.Sort(w.missing)
	all := Walked{Missing: slices.Compact(w.missing), More: w.more}
	for _, n := range w.list {
		if n.known {
			continue
		}
		if len(all.Commits) == limit {
			all.More = true
			break
		}
		all.Commits = append(all.Commits, n.Commit)
	}
	return all
}

// queue has the newest commit first.
type queue []*node

func (q queue) Len() int      { return len(q) }
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(n any)   { *q = append(*q, n.(*node)) }

func (q queue) Less(i, j int) bool {
	if !q[i].CommitTime.Equal(q[j].CommitTime) {
		return q[i].CommitTime.After(q[j].CommitTime)
	}
	return q[i].at < q[j].at
}

func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
