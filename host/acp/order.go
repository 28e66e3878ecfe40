package acp

import (
	"context"
	"sync"

	protocol "github.com/coder/acp-go-sdk"
)

// order keeps prompts and cancels in the order in which an editor sent them: the library carries
// out side by side what it reads. A cancel is passed on once the prompts before it have begun, and
// a prompt once the cancels before it are done.
type order struct {
	mu      sync.Mutex
	changed sync.Cond
	prompts int // that were passed on and have not begun
	cancels int // that were passed on and are not done
	over    bool
}

// await waits until a message may be passed on.
func (o *order) await(method string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch method {
	case protocol.AgentMethodSessionPrompt:
		for o.cancels > 0 && !o.over {
			o.changed.Wait()
		}
		o.prompts++
	case protocol.AgentMethodSessionCancel:
		for (o.prompts > 0 || o.cancels > 0) && !o.over {
			o.changed.Wait()
		}
		o.cancels++
	}
}

type begunKey struct{}

// prompt is the context of a prompt that was passed on. begun says, once, that it has begun or came
// to nothing.
func (o *order) prompt(ctx context.Context) (with context.Context, begun func()) {
	begun = sync.OnceFunc(func() { o.less(&o.prompts) })
	return context.WithValue(ctx, begunKey{}, begun), begun
}

// begun says that the prompt of the context has begun.
func begun(ctx context.Context) {
	if f, ok := ctx.Value(begunKey{}).(func()); ok {
		f()
	}
}

// told says that a cancel is done.
func (o *order) told() { o.less(&o.cancels) }

func (o *order) less(n *int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	*n--
	o.changed.Broadcast()
}

// end lets everything pass.
func (o *order) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
	o.changed.Broadcast()
}
