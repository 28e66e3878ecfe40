// Package terminal is where front doors show things to a person and ask: streams, the screen with
// its line of progress, the printer that puts facts into lines, the renderer that shows runs while
// they go on, tables, and questions.
//
// Activity goes to stderr, the answer and what a command was asked to print go to stdout. Colour
// and motion appear only on a terminal, and NO_COLOR is honoured. Text of models and tools is
// stripped of control sequences before it is shown.
//
// Questions are put to the controlling terminal, so a piped stdin still works, and only where a
// person can be thought to sit: stderr is a terminal too, this process is in its foreground, and no
// program reads the output as JSON. What was typed before a question stood there is no answer to
// it. The whole question is shown, with what each answer does. Ctrl-C and Ctrl-D leave it open. The
// terminal keeps its own line editing, so nothing has to be restored.
package terminal
