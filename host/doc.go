// Package host is the service that every front door calls: Start, Resume, Answer, Resolve, Cancel,
// DryRun and State of runs, and what keeps a state folder in order beside them. It decides who
// drives a run; the driving itself is package drive.
//
// Only the process that holds a run's lock and its current epoch writes to its journal. Everybody
// else leaves a row (an answer, a cancel, a decision about a call of unknown outcome) and sees to
// it that an owner takes it: the one there is, or this process, once it holds the lock.
package host
