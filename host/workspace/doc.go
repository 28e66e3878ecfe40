// Package workspace keeps what calls may destroy of the files of their workspace, and finds what
// they changed. A driver asks it around every call that may write (drive.Files); what it says is
// recorded in the run's journal, and package recovery/workspace reads it back from there.
//
// The order is fixed:
//
//  1. Before the first call of a process that may write anywhere, all of the workspace is listed
//     ([scan.Tree] says what is in scope). A file that git tracks and that is its blob, byte for
//     byte, is pinned: its object gets another name, by hard link, that no command below the
//     workspace can remove. Every other content is sealed. The list itself, the manifest, is a
//     content too, and files.base names it. Where a model is asked, this is made meanwhile, up to
//     what would be durable ([Keeper.Ahead]), and the call takes it.
//  2. Before each such call a look finds what changed since the look before: nobody's of ours,
//     unless another run of the family has a call under way. What is new is sealed, and durable
//     in the commit that starts the call, before anything acts.
//  3. After the call a look finds what it changed, with the content of before and after. It is in
//     the commit that settles the call.
//
// A file tool names its paths: then only those are looked at, and no list is made.
//
// A process that takes over a run reads the manifest and what was recorded since, so a call that
// was under way when its host died is looked at against what was there before it.
//
// Of a large workspace a look goes by what the system says that happened in its folders
// ([scan.Tree.Watch]), where it does, and looks only there. That is not all that can happen, so a
// look at everything judges before the end of a run is recorded ([Keeper.Last]) and where a process
// takes a run over; what only that one finds is nobody's of ours. Plans and differences read the
// paths themselves.
//
// Looks go by lstat(2): an entry whose inode, size, mode and times are as they were is not read.
// One that was changed so shortly before a look that the clock of the file system may not tell a
// later write apart is read again at the next.
package workspace
