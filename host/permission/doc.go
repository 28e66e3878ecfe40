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
// POSIX and as bash, since sh may be either. Nothing is matched as text.
//
// An allow rule with text or command covers only a script in normal form, in which nothing is left
// to a shell, and which is what the shell is given. Text names one complete script; in it {number}
// means any digits. Command names simple commands, each of which has to be covered; a last *
// means any further words. A rule without either covers every script.
//
// How far what is covered may go depends on how much of it somebody has seen. A whole text, or a
// command word by word, may have full access: the words were approved. Behind a * stand words that
// nobody has seen, and no list of the options by which programs run others or write elsewhere is
// complete; so such a rule grants access write, to which the system keeps the command, unless the
// person writes that it is to have full powers. For the same reason a command with full access is
// covered word by word only outside of pipelines, in which others feed it, and not behind another
// command where its name depends on the folder. Where the system keeps nothing to an access, every
// call counts as one with full access.
//
// A command that requests full access and is covered by rules about commands that grant write runs
// with write. What to do when it requests it again is for whoever knows the result.
//
// A deny or ask rule for commands is matched generously: by the last part of the command's path,
// with its words as a beginning, and through everything that is known to run other commands
// (programs.go), up to the text given to sh -c. Where it may match and that cannot be seen, and
// where a command cannot be seen at all (its word is an expansion, or it comes from eval or a pipe
// into sh) while a deny rule for commands stands, a person is asked, in yolo too. What a program
// does that is named by a file (a script, a Makefile) is beyond any rule: the sandbox bounds that.
package permission
