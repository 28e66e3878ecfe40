// Package recovery decides what a run does next, from its journal alone.
//
// A run is one prompt carried to its end. Its journal is an ordered list of facts (type
// [journal.Event]); nothing else is true about it. Fold reads the facts to a [State], [Next] says
// what the state needs, and [Judge] says what to do with a call that an earlier owner left without
// a result. All three are pure: time, identity and evidence are arguments, so the same facts give
// the same decisions in a process that never ended, in one that was started after a crash, and in a
// test.
//
//	journal --Fold--> State --Next--> Action --the host performs it--> facts --Apply--> State ...
//
// There is no other path: a new run is a journal of one fact, and a crashed run is a journal that
// stops somewhere. The facts and what they speak of are package journal's; what follows from them
// is decided here and nowhere else.
//
// # Words
//
// A turn is one answer of the model with the calls that it asked for. A call is recorded (proposed)
// before it may act, marked started in a commit of its own right before it acts, and settled once,
// with one result. Its effect says what it may change, and so what recovery may do; its decision
// says whether a person must be asked. The owner is the one process that drives a run; each claim
// raises the epoch, and a call that was started under an earlier epoch and has no result is lost:
// Judge gives a verdict on it, the first that fits of
//
//	replay   its result is on record: it is used again
//	wait     a request stands for it
//	skip     it provably never started and cannot be made: reported as not executed
//	run      it provably never started, or was seen not to have happened: it takes the ordinary
//	         path
//	attach   its process is still running: wait for it
//	adopt    its result was found outside the journal, or its effect was seen
//	again    it only reads, or running it twice does no harm, then and now
//	skip     anything else: outcome unknown, reported to the model and to the person, never
//	         repeated
//
// A verdict is no permission to act. The twin guard keeps a call from starting while its thread
// holds a call that may have done the same: one whose outcome is unknown, or of which a person said
// that it happened. It compares by what acts ([State.Acting]), while replay, approvals and what a
// journal may hold go by the fingerprint alone. A person says what to do, and that lasts:
//
//	happened     it is not run; asked for again, also in a later run, it is asked about, and in
//	             one run answered from the record then
//	run          it runs; its success settles the doubt, and later calls follow the ordinary rules
//	leave        it is not run; asked for again, it is asked about once more in the run
//	stop-asking  it is not run, and nobody is asked about it again in the run
//
// Where happened is said of the first call while the question stands, the question is closed and
// counts as answered so.
//
// # Statuses
//
//	queued       created, and nobody drove it yet
//	running      an owner drives it, or was driving it and left no word
//	waiting      a request stands: nothing goes on before a person answers
//	interrupted  it was going, its owner is gone or was asked to stop, and it can be resumed
//	completed    the model gave its last answer
//	failed       it ended for a reason that is no person's word
//	cancelled    a person ended it
//
// The last three are final; after them only a person's decision on an unknown call is recorded.
// Every status and every fact: what is not listed is refused by [State.Apply], with an error that
// names both.
//
//	(none)      -> queued      on run.created
//	queued      -> running     on run.claimed
//	queued      -> interrupted on run.interrupted, run.restored
//	running     -> running     on run.claimed (nothing asked), run.noted, run.stopping,
//	                              model.requested, model.answered, model.failed,
//	                              context.compacted, call.judged, call.started, call.settled,
//	                              call.resolved, approval.voided, request.answered,
//	                              request.closed, turn.settled, message.added, phase.started,
//	                              phase.ended, artifacts.checked, artifact.restored,
//	                              phase.rewound, files.base, files.changed, commit.seen
//	running     -> waiting     on run.claimed (a request stands), request.opened, run.parked
//	running     -> interrupted on run.interrupted, run.restored
//	running     -> completed   on run.completed
//	running     -> failed      on run.failed
//	running     -> cancelled   on run.cancelled
//	waiting     -> running     on run.claimed (nothing asked), run.stopping, request.answered,
//	                              request.closed
//	waiting     -> waiting     on run.claimed (a request stands), run.noted, call.resolved,
//	                              message.added, files.base, files.changed, commit.seen
//	waiting     -> interrupted on run.interrupted, run.restored
//	interrupted -> running     on run.claimed (nothing asked)
//	interrupted -> waiting     on run.claimed (a request stands)
//	interrupted -> interrupted on call.resolved, request.closed, run.restored, run.exported,
//	                              workspace.behind, commit.seen
//	completed   -> completed   on call.resolved, commit.seen
//	failed      -> failed      on call.resolved, commit.seen
//	cancelled   -> cancelled   on call.resolved, commit.seen
package recovery
