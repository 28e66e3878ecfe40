package client

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"agent/fleet/custody"
)

// Started is a run that was begun, or that was there under its key.
type Started struct {
	Run     string
	Existed bool
}

// KeyReusedError says that a start key stands for a run of another request.
type KeyReusedError struct{ Key, Run string }

func (e *KeyReusedError) Error() string {
	return fmt.Sprintf("the key %s stands for run %s, which was asked for in other words: another prompt, folder, label or option needs another key", e.Key, e.Run)
}

// Start begins a run. One with a start key is begun once: asked for again, it is the same run, and
// another request with the key is refused.
func (c *Client) Start(ctx context.Context, r custody.Run) (Started, error) {
	if r.Key == "" {
		random := make([]byte, 5)
		rand.Read(random) // never fails
		r.ID = custody.RunID(random)
	} else {
		r.ID = custody.KeyedRunID(r.Key, c.namespace, c.key.MAC)
	}
	digest := r.Digest(c.key.MAC)
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	_, err := c.engine.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: custody.RunWorkflow + r.ID, TaskQueue: custody.CustodyQueue,
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowIDConflictPolicy:                 enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		TypedSearchAttributes:                    custody.Attributes(r),
		Memo:                                     map[string]any{custody.MemoDigest: digest},
	}, custody.Custody, r)
	if errors.As(err, new(*serviceerror.WorkflowExecutionAlreadyStarted)) {
		return Started{Run: r.ID, Existed: true}, c.same(ctx, r, digest)
	}
	if err != nil {
		return Started{}, fmt.Errorf("begin run %s: %w; it is not known whether it began, unless it has a key: then give the command again", r.ID, err)
	}
	return Started{Run: r.ID}, nil
}

// same refuses a request that is another than the one that began the run.
func (c *Client) same(ctx context.Context, r custody.Run, digest []byte) error {
	d, err := c.describe(ctx, r.ID)
	if err != nil {
		return fmt.Errorf("begin run %s: it is there, and what began it cannot be read: %w", r.ID, err)
	}
	var first []byte
	if err := c.memo(d.GetWorkflowExecutionInfo().GetMemo(), custody.MemoDigest, &first); err != nil {
		return fmt.Errorf("begin run %s: it is there: read what began it: %w", r.ID, err)
	}
	if subtle.ConstantTimeCompare(first, digest) != 1 {
		return &KeyReusedError{Key: r.Key, Run: r.ID}
	}
	return nil
}
