// Package diff shows what runs changed in files as a diff in git's format: the content before the
// first change of a path against the content after the last one, so that
//
//	agent diff last | git apply -R
//
// takes text back. It changes nothing.
//
// Contents are the true bytes that the store keeps. Whatever of them is shown goes through
// redaction first, so that a secret that stands over several lines is found too; a diff that shows
// a placeholder cannot be applied where it stands, and says so.
//
// What git has no words for stands in lines that begin with #, before the header of the file: who
// else changed it, modes beyond the executable bit, folders, sizes. git apply passes over them. A
// content that is not kept, or is no text, makes git refuse the whole diff, rather than apply a
// part of it.
package diff
