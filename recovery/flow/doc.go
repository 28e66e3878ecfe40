// Package flow decides what a flow does next, from its journal and one look at its artifacts
// alone.
//
// A flow is a file of phases ([Definition]). It is a run whose journal holds no turns of a model
// but facts about phases and artifacts; every part of a phase (its work, its checks, its skip-if)
// is a run of its own below it, a child. Fold reads the facts to a [State], [Next] says what the
// flow needs, given how its children stand, and [State.Cascade] says what becomes of artifacts
// that were looked at. All three are pure, so that the same facts give the same decisions in a
// process that never ended, after a crash, in a dry run, and in a test.
//
//	journal --Fold--> State --Next--> Action --the host performs it--> facts --Apply--> State ...
//
// A phase has one instance, or one an item (each), known by the item's name and digest.
//
// # What resume does with what was made
//
//	R1  done, its outputs intact, its inputs those it was made from: nothing
//	R2  what is lost is put back from its copy, once by itself, before anything is made anew
//	R3  a redo is a new run; where the phase acted, in the conversation of the one before
//	R4  a phase that did more than write its outputs is done again only by a person's decision, or
//	    where its author says that it may be; any other twice at most by the host. That holds for
//	    what an earlier flow of the thread did, too ([AskRepeat])
//	R5  equal bytes end the cascade; others make stale what the old ones were read for
//	R6  an edit is never a reason to redo by itself: it counts, and a person decides what
//	    becomes of what was made from the version before
//	R7  a phase that goes back, as its file says, asks nobody; what lies between follows R1 and R5
//
// A phase is judged only when all before it are settled. A person's answer is bound to the
// versions that the question named: where others count by the time it is used, it is asked again.
// A rewind is recorded before anything of it is redone.
package flow
