// Package copies makes backups of a state folder and state folders of backups, and carries out what
// a person decides about a folder that may not hold all that happened: one that was restored, one
// that is a copy, one whose database is older than the folder around it.
//
// What a copy does not record may have happened all the same, after it was made. So a run that had
// not ended asks before each call that acts (recovery, State.Restored), unless a person says that
// nothing happened since; and a copy whose original went on is only read.
package copies
