package custody_test

import (
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

// names of the engine that tests are easier to read without

const scheduleToStart = enums.TIMEOUT_TYPE_SCHEDULE_TO_START

type temporalContinue = workflow.ContinueAsNewError

var defaultConverter = converter.GetDefaultDataConverter()
