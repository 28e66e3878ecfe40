// Package witness has a driver tell somebody else what its runs did before they act: a witness
// beside it, which keeps the facts in a log that other machines read too. It is the driver's side;
// what both say to each other is in package line.
//
// A family of runs, which one process drives, has one log. At the first word about it the witness
// says how far that is. What is in the log has to be the beginning of what is recorded here; else
// another host has gone on with the family, and nothing of it may start here. From then on each
// entry holds what was recorded since, with all that the facts name but copies of files: the log
// is enough to go on from, on any machine that has the workspace.
package witness
