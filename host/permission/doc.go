// Package permission says whether a call may run: it knows the modes and the rules that a person
// and a workspace wrote, and decides from its arguments alone.
//
// # Order
//
// A deny rule beats an ask rule, which beats an allow rule; a rule beats the mode. Plan refuses
// whatever writes, allow rule or not. Deny and ask hold in yolo too. A step that the person wrote
// (a runbook's) needs no yes, but a deny rule still beats it. A call that carries something out of
// this machine is asked about in every mode but yolo, though it only reads.
//
// # Shell commands
//
// A script is read as the shell will that runs it (tools/shelltext); what sh will run is read as
// POSIX and as bash, since sh may be either, and has to be covered in both. Nothing is matched as
// text.
//
// An allow rule covers a simple command whose words are all literal and equal to the rule's; "*" as
// the rule's last word stands for any further words. A script is allowed only when every simple
// command in it is covered, wherever it stands: in a list, a pipeline, a subshell, a substitution,
// a loop, a condition. These are never covered, whatever the rules say: an expansion in any word
// (but a file pattern or ~/ after the beginning of a name, which cannot become an option), an
// assignment, a function, an alias, eval, source and their like, a redirection into anything but
// /dev/null or another descriptor, an array, arithmetic, [[ ]], a coprocess, a here-document with
// expansions, a character that cannot be seen, and what does not parse.
//
// The words under a "*" are looked at by program (programs.go): what runs its arguments (env,
// xargs, sudo, ssh, sh -c ...) is covered word by word only, and options by which other programs
// run code or write elsewhere (git -c, find -exec, rg --pre, tar --checkpoint-action ...) must
// stand in the rule itself.
//
// A deny or ask rule for commands is matched generously: by the last part of the command's path,
// with its words as a beginning, and through everything that is known to run other commands, up to
// the text given to sh -c. Where it may match and that cannot be seen, and where a command cannot
// be seen at all (its word is an expansion, or it comes from eval or a pipe into sh) while a deny
// rule for commands stands, a person is asked, in yolo too. What a program does that is named by a
// file (a script, a Makefile) is beyond any rule: the sandbox bounds that.
package permission
