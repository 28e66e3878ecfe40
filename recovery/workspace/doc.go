// Package workspace decides what a rewind writes, from what looks at a workspace saw alone.
//
// Looks before and after calls leave facts about paths that changed ([journal.FilesChanged]).
// Whoever plans a rewind lists them as [Step] values, oldest first over all runs that worked in the
// folder, and marks those that are to be taken back. [NewPlan] says what becomes of each path of
// theirs. It reads no file: what is on disk is given ([Paths] says of which paths it must be), so
// that a dry run, a question and the act have the same plan.
//
// # What becomes of a path
//
// A path is in a plan if a step that is taken back changed it. What only others changed never is.
//
//	same     it already is as it was before the first of these steps
//	git      git moved it, and nothing else is to be taken back: the git command that goes back
//	         does that
//	yours    somebody else changed it from the first of these steps on. Any other step of the path
//	         says so; so does a gap, where a step found something else than the one before it had
//	         left; so does a disk that has something else than the last of them left; so does
//	         what is there and cannot be kept, as it is too large: a rewind that writes over it
//	         could not be undone. It is left alone, unless it is asked for by name
//	lost     it would be given back, and the content is not kept. Nothing at all is to be carried
//	         out while a plan has one, but for what is left out by name
//	restore  its content, mode or link is given back
//	remove   a call made it, and it goes
//
// # Git
//
// A step has the proof git where git moved HEAD and this path with it, from its clean version in
// the one commit to its clean version in the other. Such a step put away nothing that git does not
// have, and HEAD stays where it is: so if what was there before the steps is what one of git's
// steps put away, or nothing was there, it is git's to give back. What the run changed on top of
// git's last step is still the run's, and is taken back to what git left, which is what HEAD has.
// Without any such change the path is left alone as git's, whoever else changed it meanwhile, and
// also if it is asked for by name.
//
// Everything else is given back as it was, also over what git put there later: a call's edit that
// was committed and then moved away stood on something that git may never have had. Work that was
// not committed and was lost while git moved HEAD is no clean version of the old commit: its step
// has the proof while, and it is given back.
//
// # Folders
//
// A folder that a call made is removed if nothing is left in it as far as the plan knows; the act
// looks at the real one. The same goes for a folder where something else was before. One in which
// something stays is yours, or git's where a call made it and only git's paths stay in it. One that
// a call made, in which somebody else then put something that a call removed with it, is given back
// for what was put there. A path below something that is no folder and stays cannot be given back
// yet, and is yours too.
//
// # Two names for one content
//
// A version names its content by what the store keeps it under, or by git's object id. Whether one
// of each are the same cannot be told from the names. Where both bear the same stamp nobody touched
// the file between the two looks, and they are. Otherwise they count as different, which makes a
// path yours at worst. A caller who knows both names of a content gives both.
package workspace
