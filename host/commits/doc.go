// Package commits links commits of git with the runs whose work they hold.
//
// # Who finds what
//
// [Watcher] is between a driver and the keeper of its files. Right before a call that may write
// anywhere it takes the marks of the repository (where its logs end), which are recorded with the
// call's start; behind the call it reads what the logs have since, and what package relate says of
// those commits is recorded beside the call's result, in the run's own journal. So neither a hook
// nor a host that lives on is needed, and a process that takes the run over finds the same.
//
// [CatchUp] does the rest: commits of a person, and what a person makes of linked commits (amend,
// rebase, squash). It reads the logs from where it last stopped, and records into the journals of
// runs that nobody drives. It is asked by whoever shows commits.
//
// # Ids
//
// A new checkpoint has the id in the commit's own trailer, if that is minted nowhere else, or one
// that is worked out from the commit under the key of the store. So two processes that find the
// same commit at once give it the same id.
package commits
