// Package transcript is what the model of a run is shown: the thread's earlier runs, the prompt,
// the answers and results of every turn, and what a person added, or the summary that stands for
// older messages. The same facts give the same messages, to the byte, before and after a crash.
//
// It also estimates how many tokens a request has, where no provider counted them, and says what a
// summary would stand for once the window is nearly full. Whether one is asked for is decided in
// package recovery.
package transcript
