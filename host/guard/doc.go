// Package guard says what of a call acts, so that the twin guard knows one call again in another
// that is spelled differently. It reads arguments and decides nothing: recovery compares, and a
// person answers. Fingerprints, replay and approvals stay exact.
//
// Of any tool: defaults of its schema are filled in, arguments that only bound the call are left
// out (tools.Bounded), and white space, the order of keys, the spelling of numbers, and empty lists
// and objects do not count. Of a file tool a path is the same however it is written, and a URL of
// fetch.
//
// Of a shell call the command acts, whatever shell, access and time it is given. It is parsed, and
// its simple commands are compared: through lists, pipes, subshells, loops, substitutions and
// functions, through programs that run their arguments (env, timeout, nohup, nice, sudo ...) and
// through text given to a shell. Quotes that change nothing, redirections, assignments and a
// shell's flags do not count. A script is the same one when it is run by path or given to an
// interpreter, by a path from the workspace, an absolute path or behind a cd. A command that
// changes nothing by itself (echo, cd, cat ...) is not needed for two scripts to be alike, unless
// it writes a file. A script that cannot be read (tools/shelltext) may do again what any other did,
// also where it is only a part of what runs.
//
// Beyond it are names that only a shell knows (a variable that is not set to a plain word in the
// script), and the same effect by other commands.
package guard
