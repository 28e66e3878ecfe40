package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"agent/fleet/codec"
	"agent/fleet/custody"
)

// Retention is how long the engine is to keep runs that have ended: as long is a start key known.
const Retention = 30 * 24 * time.Hour

const (
	markID   = "fleet"      // the workflow whose memo says whose namespace it is
	markType = "FleetMark"  // nobody carries it out
	markMemo = "fleet"      // sealed: the fleet's id
	markedBy = "fleet-mark" // the queue that nobody asks
)

// needed are the search attributes of a fleet.
func needed() map[string]enums.IndexedValueType {
	out := map[string]enums.IndexedValueType{}
	for _, name := range []string{
		custody.AttrStatus.GetName(), custody.AttrHost.GetName(), custody.AttrRepo.GetName(), custody.AttrUser.GetName(),
	} {
		out[name] = enums.INDEXED_VALUE_TYPE_KEYWORD
	}
	out[custody.AttrQuestion.GetName()] = enums.INDEXED_VALUE_TYPE_KEYWORD_LIST
	return out
}

// check refuses a namespace that is not there, that lacks the search attributes, or that is another
// fleet's.
func (c *Client) check(ctx context.Context) error {
	ns, err := c.describeNamespace(ctx)
	if err != nil {
		return err
	}
	if ns == nil {
		return fmt.Errorf("the engine %s has no namespace %s: %s makes it, --namespace names another", c.address, c.namespace, c.setup())
	}
	missing, err := c.missing(ctx)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("the namespace %s of the engine %s lacks the search attributes %s: %s adds them",
			c.namespace, c.address, strings.Join(slices.Sorted(maps.Keys(missing)), ", "), c.setup())
	}
	return c.mark(ctx)
}

func (c *Client) setup() string {
	return fmt.Sprintf("agent-fleet setup --engine %s --namespace %s", c.address, c.namespace)
}

// missing are the search attributes that the namespace lacks. An engine that does not tell has none
// missing.
func (c *Client) missing(ctx context.Context) (map[string]enums.IndexedValueType, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	have, err := c.engine.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: c.namespace})
	if errors.As(err, new(*serviceerror.Unimplemented)) || errors.As(err, new(*serviceerror.PermissionDenied)) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the search attributes of the namespace %s: %w", c.namespace, err)
	}
	out := needed()
	for name, want := range out {
		is, there := have.GetCustomAttributes()[name]
		if there && is != want {
			return nil, finalError{fmt.Errorf("the search attribute %s of the namespace %s is a %s, and a fleet needs a %s: give the fleet a namespace of its own",
				name, c.namespace, is, want)}
		}
		if there {
			delete(out, name)
		}
	}
	return out, nil
}

// mark compares the fleet's id with that of the one whose namespace it is. The first one that comes
// leaves its own.
func (c *Client) mark(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	what := "look whose namespace " + c.namespace + " is"
	d, err := c.engine.DescribeWorkflowExecution(ctx, markID, "")
	if errors.As(err, new(*serviceerror.NotFound)) {
		_, err = c.engine.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: markID, TaskQueue: markedBy, Memo: map[string]any{markMemo: c.key.Fleet()},
			WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
			WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		}, markType)
		if err != nil {
			return fmt.Errorf("%s: leave this fleet's mark: %w", what, err)
		}
		d, err = c.engine.DescribeWorkflowExecution(ctx, markID, "")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	payload := d.GetWorkflowExecutionInfo().GetMemo().GetFields()[markMemo]
	if payload == nil {
		return finalError{fmt.Errorf("%s: its workflow %s has no mark of a fleet; give the fleet a namespace of its own", what, markID)}
	}
	var fleet string
	err = c.data.FromPayload(payload, &fleet)
	if foreign, ok := errors.AsType[*codec.ForeignError](err); ok {
		return finalError{fmt.Errorf("the namespace %s of the engine %s is that of fleet %s, and this key is that of fleet %s: --key-file names the right one",
			c.namespace, c.address, foreign.Fleet, foreign.Own)}
	}
	if err == nil && fleet != c.key.Fleet() {
		err = finalError{fmt.Errorf("it says %s, and the key here is that of %s", fleet, c.key.Fleet())}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// finalError says what no waiting changes.
type finalError struct{ error }

// Setup makes the namespace, unless it is there, adds what it lacks, and says what it did.
func Setup(ctx context.Context, o Options, say func(string)) (*Client, error) {
	c, err := dial(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := c.prepare(ctx, say); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Client) prepare(ctx context.Context, say func(string)) error {
	ns, err := c.describeNamespace(ctx)
	if err != nil {
		return err
	}
	if ns == nil {
		_, err = c.engine.WorkflowService().RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace: c.namespace, WorkflowExecutionRetentionPeriod: durationpb.New(Retention),
			Description: "runs of agent-fleet",
		})
		if err != nil && !errors.As(err, new(*serviceerror.NamespaceAlreadyExists)) {
			return fmt.Errorf("make the namespace %s: %w", c.namespace, err)
		}
		say("made the namespace " + c.namespace)
	}
	// the engine's parts learn of a new namespace one after another
	err = c.eventually(ctx, func() error {
		missing, err := c.missing(ctx)
		if err != nil || len(missing) == 0 {
			return err
		}
		_, err = c.engine.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
			Namespace: c.namespace, SearchAttributes: missing,
		})
		if err == nil || errors.As(err, new(*serviceerror.AlreadyExists)) {
			say("added the search attributes " + strings.Join(slices.Sorted(maps.Keys(missing)), ", "))
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("add the search attributes of a fleet to the namespace %s: %w", c.namespace, err)
	}
	return c.eventually(ctx, func() error { return c.check(ctx) })
}

// settled is how long the engine has to take over what was set up.
const settled = 30 * time.Second

func (c *Client) eventually(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, settled)
	defer cancel()
	for {
		err := try()
		if err == nil || errors.As(err, new(finalError)) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(500 * time.Millisecond):
		}
	}
}
