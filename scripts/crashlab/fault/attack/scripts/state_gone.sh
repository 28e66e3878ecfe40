#!/usr/bin/env bash
# Promise: a host whose database or state folder was removed, moved or replaced while it works
# starts no further effect and does not report success; what is left is reported by the next
# command, never "no runs yet".
# Attack: while a step waits, parts of the state folder are removed, renamed, or replaced by a copy,
# a symbolic or a hard link; then the step is let go.
set -euo pipefail
. "$ATTACK_LIB/lib.bash"

mkdir "$WORK/site"
cd "$WORK/site"
S=$AGENT_HOME

# attack NAME COMMAND: a run in a state of its own, the command against it, and what came of it.
attack() {
	local name=$1 why
	rm -rf "$S" "$S".* began go after
	runbook book.md "echo $name >> began; while ! test -e go; do sleep 0.01; done" "echo $name >> after"
	start "$name" "$AGENT" run --runbook -f book.md
	wait_line began "$name"
	if ! control; then eval "$2" || fail "$2"; fi
	touch go
	finish "$name"
	if [ "$CODE" = 0 ]; then broken "$name: the host ended with 0: $(tail -1 "$WORK/$name.out")"; fi
	if [ -e after ]; then broken "$name: the next step was executed without a record"; fi
	if grep -q '^panic:\|goroutine ' "$WORK/$name.out"; then broken "$name: the host panicked"; fi
	CODE=0
	"$AGENT" ls >"$WORK/ls.out" 2>&1 </dev/null || CODE=$?
	if [ "$3" = noticed ] && [ "$CODE" = 0 ] && ! grep -q 'interrupted (store' "$WORK/ls.out"; then broken "$name: the next command notices nothing: $(head -3 "$WORK/ls.out")"; fi
	kill_runners
}

attack database 'rm "$S"/agent.db' noticed
attack all 'rm "$S"/agent.db*' noticed
attack folder 'rm -rf "$S" || rm -rf "$S"' any # the host may make a file in it meanwhile
attack moved 'mv "$S" "$S.moved"' any
attack copied 'cp -a "$S" "$S.copy"; mv "$S" "$S.moved"; mv "$S.copy" "$S"' any
attack file 'cp "$S/agent.db" "$S/x"; mv "$S/x" "$S/agent.db"' noticed
attack symlink 'mv "$S/agent.db" "$S/x"; cp "$S/x" "$S/y"; ln -s y "$S/agent.db"' noticed
attack hardlink 'cp "$S/agent.db" "$S/x"; ln -f "$S/x" "$S/agent.db"' noticed
