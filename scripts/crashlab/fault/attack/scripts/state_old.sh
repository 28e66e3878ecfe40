#!/usr/bin/env bash
# Promise: a database that is older than the folder around it drives nothing before a person
# decided, whatever of the folder was put back with it; nothing that the lost record says was done
# is done again unasked; reading and cancel work.
# Attack: agent.db is put back from every stage of a run, with and without its log, with the mark of
# that time, without a mark, with a torn log; then everything that drives is tried.
set -euo pipefail
. "$ATTACK_LIB/lib.bash"

mkdir "$WORK/site"
cd "$WORK/site"
S=$AGENT_HOME
cat >book.md <<'END'
```sh
echo one >> ../witness
```

- confirm_action "Go on?"

```sh
echo two >> ../witness
```

- confirm_action "More?"

```sh
echo three >> ../witness
```
END

# stage N: a run that went so far; copies of the state are in $S.1 and so on.
stage() {
	rm -rf "$S" "$S".* "$WORK/witness"
	expect 3 "$AGENT" run --runbook -f book.md
	RUN=$(grep -oE 'r-[a-z0-9]+' "$WORK/last.out" | head -1)
	cp -a "$S" "$S.1"
	expect 3 "$AGENT" answer yes
	cp -a "$S" "$S.2"
	[ "$1" -ge 3 ] || return 0
	if [ "$1" = 3 ]; then
		expect 137 env AGENT_FAULT=run.before_terminal AGENT_FAULT_UNSAFE=1 "$AGENT" answer yes # the log is not written back
	else
		expect 0 "$AGENT" answer yes
	fi
}

# drive NAME: everything that may drive.
drive() {
	local mark id
	if control; then echo two >>"$WORK/witness"; fi
	"$AGENT" ls >"$WORK/ls.out" 2>&1 </dev/null || true
	for id in $("$AGENT" pending 2>/dev/null </dev/null | grep -oE 'p-[a-z0-9]+' | sort -u || true) last; do
		"$AGENT" answer "$id" yes >>"$WORK/drive.out" 2>&1 </dev/null || true
	done
	"$AGENT" resume "$RUN" >>"$WORK/drive.out" 2>&1 </dev/null || true
	"$AGENT" resume --all >>"$WORK/drive.out" 2>&1 </dev/null || true
	"$AGENT" run -c continue >>"$WORK/drive.out" 2>&1 </dev/null || true
	"$AGENT" answer yes >>"$WORK/drive.out" 2>&1 </dev/null || true
	"$AGENT" doctor --fix >>"$WORK/drive.out" 2>&1 </dev/null || true
	"$AGENT" resume "$RUN" >>"$WORK/drive.out" 2>&1 </dev/null || true
	"$AGENT" answer yes >>"$WORK/drive.out" 2>&1 </dev/null || true
	for mark in one two three; do once "$WORK/witness" "$mark" "$1"; done
}

# old N NAME COMMAND: a run of that stage, what is done to its state, and what drives.
old() {
	stage "$1"
	: >"$WORK/drive.out"
	eval "$3" || fail "$3"
	drive "$2"
	expect '0 1' "$AGENT" cancel "$RUN"
}

case $((${SEED:-1} % 4)) in
1)
	old 2 'agent.db alone' 'rm -f "$S"/agent.db-*; cp "$S.1/agent.db" "$S"'
	old 2 'agent.db beside the newer log' 'cp "$S.1/agent.db" "$S"'
	old 4 'agent.db and its log after the end' 'rm -f "$S"/agent.db-*; cp "$S.1"/agent.db* "$S"'
	;;
2)
	old 2 'without a mark' 'rm -f "$S"/agent.db-* "$S/marks/last"; cp "$S.1"/agent.db* "$S"'
	old 4 'without a mark, after the end' 'rm -f "$S"/agent.db-* "$S/marks/last"; cp "$S.1"/agent.db* "$S"'
	;;
3)
	old 3 'the log is lost' 'rm -f "$S"/agent.db-*'
	old 3 'the log is empty' ': > "$S/agent.db-wal"'
	old 3 'the log is torn' 'truncate -s -5000 "$S/agent.db-wal"'
	;;
0)
	old 3 'the log is torn in the middle' 'printf XXXXXXXX | dd of="$S/agent.db-wal" bs=1 seek=9000 conv=notrunc status=none'
	old 3 'the index of the log is lost' 'rm -f "$S/agent.db-shm"'
	old 3 'the mark is damaged, the log lost' 'printf XXXX > "$S/marks/last"; rm -f "$S"/agent.db-*'
	;;
esac
