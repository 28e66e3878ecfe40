// Package fork makes a folder of its own for a thread that begins at a position: a worktree of git
// at the commit where HEAD was then, with the files laid over it as they were. The folder that the
// position is of stays as it is.
//
// Plan finds out everything and refuses before anything is made. Make adds the worktree, locked,
// and lays the files; Begun unlocks it once the run that works there is recorded. A process that is
// killed in between leaves a locked worktree, which the same command finds and makes anew.
package fork
