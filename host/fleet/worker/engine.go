package worker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"agent/fleet/custody"
)

// engine notes when the engine was last heard of.
type engine struct {
	begun time.Time
	heard atomic.Int64 // after begun, of the monotonic clock
}

func newEngine() *engine { return &engine{begun: time.Now()} }

// silent is for how long the engine has not been heard of.
func (e *engine) silent() time.Duration {
	return time.Since(e.begun) - time.Duration(e.heard.Load())
}

// intercept is an interceptor of calls.
func (e *engine) intercept(ctx context.Context, method string, q, r any, c *grpc.ClientConn, call grpc.UnaryInvoker, o ...grpc.CallOption) error {
	err := call(ctx, method, q, r, c, o...)
	if err == nil {
		e.heard.Store(int64(time.Since(e.begun)))
	}
	return err
}

// attributes are those that lists of runs ask for, with their types.
func attributes() map[string]enums.IndexedValueType {
	return map[string]enums.IndexedValueType{
		custody.AttrStatus.GetName():   custody.AttrStatus.GetValueType(),
		custody.AttrHost.GetName():     custody.AttrHost.GetValueType(),
		custody.AttrRepo.GetName():     custody.AttrRepo.GetValueType(),
		custody.AttrUser.GetName():     custody.AttrUser.GetValueType(),
		custody.AttrQuestion.GetName(): custody.AttrQuestion.GetValueType(),
	}
}

// checkTime bounds the look at the engine at the start.
const checkTime = 20 * time.Second

// checkNamespace refuses a namespace that is not there or is not made for a fleet.
func checkNamespace(ctx context.Context, c client.Client, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	_, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("look at the namespace %s: %w", namespace, err)
	}
	has, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("look at the search attributes of the namespace %s: %w", namespace, err)
	}
	var missing []string
	for name, kind := range attributes() {
		if got, ok := has.GetCustomAttributes()[name]; !ok || got != kind {
			missing = append(missing, fmt.Sprintf("--name %s --type %s", name, kind))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return fmt.Errorf("the namespace %s lacks search attributes: temporal operator search-attribute create --namespace %s %s",
		namespace, namespace, strings.Join(missing, " "))
}
