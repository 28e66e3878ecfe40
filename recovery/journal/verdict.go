package journal

// Verdict is what recovery does with a call that was started and has no result.
type Verdict string

// The verdicts.
const (
	VerdictReplay Verdict = "replay" // its result is in the journal and is used again
	VerdictWait   Verdict = "wait"   // a question stands for it
	VerdictSkip   Verdict = "skip"   // reported as not executed, or as outcome unknown
	VerdictRun    Verdict = "run"    // it never started, or it was seen not to have happened
	VerdictAgain  Verdict = "again"  // running it twice does no harm
	VerdictAttach Verdict = "attach" // its process is still running
	VerdictAdopt  Verdict = "adopt"  // its result was found outside the journal
)

// WaitsForPeople begins the reason of a verdict to attach where what carries the call out waits for
// nothing but answers of people. What is behind it says which.
const WaitsForPeople = "waits for people: "
