// Package relate decides what a commit has to do with runs, from what is known of it and of the
// commits and runs before it alone. It reads no repository and mints no id: the same input has the
// same [Verdict].
//
// # The rows
//
// Section 4.4 of the design of checkpoints; the first that fits wins.
//
//	(as it is) it is linked already; the shares of runs that are not on record yet are added
//	same       the same id is linked in another repository
//	(none)     a merge gets no id (C6), nor does an amended one
//	made       a call was under way when the reflog line of a commit was written (C1), and it
//	           has something that is not in linked commits alone (C6: merge --squash and reset
//	           --soft get no new id)
//	amended    an amend line names a linked commit as what was replaced, and a file of that is
//	           still changed; where all of another linked commit went in, too, it is squashed
//	rebased    an id of ours in the last block of the message (C5), and content of its commit
//	picked     here; which of the three, the verb of the reflog line says. Two ids that are both
//	rewritten  proved are squashed
//	rebased    the same patch id in the same repository; or picked, or rewritten
//	squashed   the patch id of a range of linked commits, the tree at the end of one where it
//	           starts from the same tree, or changes that lead path by path over linked ones
//	rewritten  an id anywhere in the message, a Change-Id or change-id, or author, time and
//	squashed   subject select a linked commit, and content of it is here: n of m files
//	made       by a person, with a line of a run's in it that no commit had (C1, C8)
//	none
//
// # What proves
//
// An id in a text selects and never proves (C5): whoever copies one has copied a text. Content
// proves, within one repository:
//
//   - a path whose blob after the commit is the one after the linked commit. The empty blob and a
//     path that has gone prove only with the same blob before: every file is empty in one way.
//   - a path that a linked commit led from one blob to the next, and further ones on to what is
//     here: what came between is in here, though its blob is nowhere any more
//   - a line that the linked commit added and this one adds, as package origin finds it
//     ([Commit.Held]; [Wants] lists where to look)
//
// A revert names what it takes back, and its blobs are those of the commit before that. So of a
// revert only the patch id counts: a revert of a revert is the first patch again, and is picked.
// By the same reason nothing is rewritten by a commit that stands on it, unless git itself
// applied it again (cherry-pick, revert): what was reverted and written anew by hand is not linked
// (C8).
//
// # Two into one
//
// A commit has one checkpoint. Where work of several is squashed into one commit, it is that of the
// newest of them, which is what the message of most squashes ends with, and [Verdict.Also] names
// the others, oldest first. The shares are those of all. What is made from a commit that was
// squashed itself keeps all of its checkpoints.
//
// # Windows
//
// A commit in the window of a call is the call's, unless it is shown to be somebody else's work:
// all paths were judged and none has a line of a run's, and the call does not run git by its own
// arguments. A person who commits their own work while tests run in a call gets no checkpoint; an
// agent that is asked to commit a person's work does.
//
// # Cost
//
// A verdict takes time in proportion to the changes of the commit, times the linked commits of the
// repository, and compares no contents: of those, the caller compares what [Wants] lists. Who has
// thousands of linked commits gives those that share a path, an id, a patch, a change id or an
// identity with the commit, and those of the ranges: no others have a say.
//
// # What is not found
//
// The test by real git states how much is found (TestCorpus): no link is false. Not found is a
// squash that kept no more than a title and whose lines a formatter changed, or a commit that came
// by a pull with another patch, author, time and subject, and no id.
package relate
