package custody

import (
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Scheduled is the workflow that a schedule starts: it begins a run of its own and waits for its
// end, so that a schedule sees that the last one is not over yet.
func Scheduled(ctx workflow.Context, r Run) (Outcome, error) {
	r.ID = scheduledRunID(workflow.GetInfo(ctx).WorkflowExecution.ID)
	child := workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:            RunWorkflow + r.ID,
		TaskQueue:             CustodyQueue,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		ParentClosePolicy:     enums.PARENT_CLOSE_POLICY_ABANDON,
		TypedSearchAttributes: Attributes(r),
	})
	var out Outcome
	err := workflow.ExecuteChildWorkflow(child, Custody, r).Get(ctx, &out)
	return out, err
}

// Attributes are the search attributes with which a run begins.
func Attributes(r Run) temporal.SearchAttributes {
	with := []temporal.SearchAttributeUpdate{AttrStatus.ValueSet("queued")}
	if r.By != "" {
		with = append(with, AttrUser.ValueSet(r.By))
	}
	if repo := Repository(r.Git); repo != "" {
		with = append(with, AttrRepo.ValueSet(repo))
	}
	return temporal.NewSearchAttributes(with...)
}
