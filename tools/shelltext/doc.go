// Package shelltext reads shell text once, for everybody who decides by it, and prints what the
// shell is given.
//
// # Who reads
//
// Text for sh is read as POSIX and as bash, since sh may be either; text for bash as bash. What the
// readings have in common is trusted, and everything that one of them sees counts: the normal form
// must be equal in all, the commands are the union.
//
// # Text that is not read
//
// The parser does not always agree with the shells. Text that it may read differently is not read
// at all: characters that cannot be seen, a line that holds # and ends in a backslash (the parser
// takes the next line for a part of the comment, and every shell runs it) and what else is known to
// be read differently, nesting that the parser cannot bear, and what does not parse. Such text is
// opaque, has no normal form, and no rule by command can allow it.
//
// # Normal form
//
// A text has a normal form when it consists of pipelines of simple commands that are joined by
// newline, semicolon, && and ||, with words in which nothing is left to a shell: no expansion, no
// pattern, no assignment, and no redirection but of standard output and error to /dev/null or to
// each other. Print gives every word in single quotes, so that no shell, alias or setting can read
// it in another way; the form of a print is the form that was printed. The grammar of shells is in
// POSIX.1-2024, Shell & Utilities, chapter 2.
package shelltext
