// Package runbook is the built-in model: it carries out a Markdown runbook, step by step, and
// understands no prose. It needs no key and no network. Its answer is a function of the transcript
// alone: no state, no clock, nothing read.
//
// # What is a step
//
// A fenced block tagged sh or bash is one call of shell. After the tag, timeout=30m bounds it, and
// access=read or access=write keeps it to looking, or to the workspace; nothing else may stand
// there.
//
//	```sh timeout=30m
//	make release
//	```
//
// A list item (-, *, +, 1. and 1), with or without an open task box) that begins with a tool's name
// is one call of that tool. The call is the item's first line, alone or as one code span; further
// lines of the item are prose.
//
//   - read_file PATH [offset=N] [limit=N]
//   - list_dir [PATH]
//   - find_files PATTERN [PATH]
//   - search PATTERN [PATH] [glob=GLOB] [ignore_case=true] [max=N]
//   - fetch URL [method=POST] [headers=JSON] [body=TEXT] [timeout=30s] [max_bytes=N] [raw=true]
//   - write_file PATH the fenced block that follows, whatever its tag, is the file's text
//   - apply_patch the fenced block that follows, whatever its tag, is the patch
//   - edit_file PATH OLD NEW [all=true]
//   - shell COMMAND [shell=bash] [timeout=30m] [access=read|write|full]
//   - ask_user QUESTION [CHOICE ...]
//   - confirm_action QUESTION
//   - read_output CALL [offset=N] [limit=N]
//
// Words are split as a shell splits them: single quotes keep everything, double quotes keep all but
// \" \\ \$ and \`, a backslash outside quotes keeps the next character. Nothing is expanded. A word
// counts as an option only if its name and its equals sign are not quoted.
//
// Everything else is prose: other fences, quotes, indented code, HTML comments, front matter (whose
// line "agent: runbook" names the file a runbook: package input reads it). An item whose tool is
// known and whose arguments do not fit, an unknown attribute of a block, a fence or comment that is
// never closed: each refuses the whole runbook by its line number, before anything has run.
//
// # How it goes
//
// Each step is a turn. The headings that newly apply to a step are the text of its answer. After
// the last step comes a summary. A step that failed, was denied or was not carried out ends the run
// as failed; so does a no to confirm_action. A step whose outcome is unknown makes the model ask
// whether to go on, which never runs that step again. The prompt "continue" carries out what the
// thread's last runbook left undone, from the step that stopped it.
package runbook
