// Package drive carries one run: it performs what package recovery decides, and records what
// happened. It owns the goroutines, the clock, the lock and the effects of a run; one driver
// carries one run, and any number of drivers share a Process.
//
// To drive a run is to read its journal, fold it, ask recovery.Next, perform, record, and ask
// again. A new run is a journal with one fact, a crashed run is a journal that stops somewhere:
// both take this one path. The order of effects, whose numbers the functions name that perform a
// step:
//
//  1. Claim. Take the run's lock, then raise its epoch (run.claimed). A new run takes its lock
//     before its row exists; creation and claim are one commit. Nothing claims without the lock.
//  2. Fold the journal. Settle every call without a result by its verdict before anything else.
//  3. Ask the model. Text goes to observers and the live file, not to the database. A request that
//     brings no answer is a fact, and so is a summary that stands for older messages: what follows
//     from them is decided by the facts.
//  4. Commit A: the answer, its calls as records with fingerprints and effects, and the start of
//     the first to act. Permission is decided before. If the commit fails, nothing runs.
//  5. Calls act in the model's order: neighbouring reads side by side, any other call alone. Where
//     a person must be asked, the commit that would have started the call opens its request
//     instead.
//  6. Commit B: a call's result, and in the same transaction the start of the next.
//  7. The commit that settles a turn holds its checkpoint, and the request for the next turn, or
//     the limit's question, or the end of the run. What is durable is then shown to observers. Go
//     to 3.
//
// A run that has a witness tells it what a commit announces before that begins: a claim, the start
// of a call that acts, a question, the end.
//
// An effect is started only after the commit that records its start came back without an error. A
// commit that fails has an unknown outcome: nothing is started and nothing further is written; the
// next start reads the truth.
package drive
