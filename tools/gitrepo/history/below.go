package history

import (
	"container/heap"
	"context"
	"fmt"
)

// Below is what some tips lead to. It goes back as far as somebody asks, and once for all who do.
// It is not for several at once.
type Below struct {
	rd    *Reader
	tips  []string
	queue queue
	met   map[string]bool // nil: nobody has asked
}

// Below are the commits that tips lead to. Tips may be tags.
func (rd *Reader) Below(tips []string) *Below { return &Below{rd: rd, tips: tips} }

// Has is as [Reader.Reachable] of the tips.
func (b *Below) Has(ctx context.Context, id string) (bool, error) {
	all, _, err := b.rd.Commits(ctx, []string{id})
	if err == nil {
		err = b.reach(ctx, all[id])
	}
	if err != nil {
		return false, fmt.Errorf("see whether a ref of %s leads to %.64s: %w", b.rd.repo.Common, id, err)
	}
	if all[id].ID != "" && b.met[id] {
		return true, nil
	}
	return b.rd.Reachable(ctx, id, b.tips) // the times of commits may be out of order
}

// reach goes back until a commit is met, or none of its time or a later one is left.
func (b *Below) reach(ctx context.Context, c Commit) error {
	if b.met == nil {
		tips, _, err := b.rd.peeled(ctx, b.tips)
		if err != nil {
			return err
		}
		b.met = map[string]bool{}
		for _, one := range tips {
			b.meet(one)
		}
	}
	for len(b.queue) > 0 && len(b.met) < maxSteps && !b.met[c.ID] && !b.queue[0].CommitTime.Before(c.CommitTime) {
		n := heap.Pop(&b.queue).(*node)
		above, _, err := b.rd.Commits(ctx, n.Parents)
		if err != nil {
			heap.Push(&b.queue, n)
			return err
		}
		for _, id := range n.Parents {
			if p, ok := above[id]; ok {
				b.meet(p)
			}
		}
	}
	return nil
}

func (b *Below) meet(c Commit) {
	if b.met[c.ID] {
		return
	}
	b.met[c.ID] = true
	heap.Push(&b.queue, &node{Commit: c, at: len(b.met)})
}
