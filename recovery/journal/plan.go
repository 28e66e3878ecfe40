package journal

// RequestPlan asks what becomes of the plan that a run in mode plan ends with. Its request belongs
// to no call.
const RequestPlan RequestKind = "plan"

// The answers to it, beside AnswerYes, which has the plan carried out in mode ask. Any other text
// has the plan changed.
const (
	AnswerAuto = "auto" // has it carried out in mode auto
	AnswerEnds = "stop" // ends the run with the plan as its answer
)
