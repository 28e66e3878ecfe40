#!/usr/bin/env bash
# Promise: rows, indexes and views that are lost or changed beside the journal are found by doctor
# and rebuilt by doctor --fix; cancel ends every run before that too; nothing is executed twice
# because of them.
# Attack: with sqlite3, rows of every list are deleted or changed while runs wait, are interrupted,
# or are in doubt; then each is ended.
set -euo pipefail
. "$ATTACK_LIB/lib.bash"
command -v sqlite3 >/dev/null || untried 'there is no sqlite3'

mkdir "$WORK/site"
cd "$WORK/site"
S=$AGENT_HOME W=$WORK/witness
n=0
# book FILE: a run with a question between two steps, whose marks are its own.
book() {
	n=$((n + 1))
	runbook "$1" "echo b$n.one >> '$W'" ": >> began$n; while ! test -e go; do sleep 0.01; done; echo b$n.two >> '$W'"
	printf '\n- confirm_action "Go on?"\n\n```sh\necho b%s.three >> "%s"\n```\n' $n "$W" >>"$1"
}
touch go
for _ in 1 2; do
	book book.md
	expect 3 "$AGENT" run --runbook -f book.md
done
expect 0 "$AGENT" answer "$("$AGENT" pending | grep -oE 'p-[a-z0-9]+' | head -1)" yes
book book.md
expect 137 env AGENT_FAULT=call.after_started:2 AGENT_FAULT_UNSAFE=1 "$AGENT" run --runbook -f book.md
book book.md
rm go
start host "$AGENT" run --runbook -f book.md
wait_file began$n
kill_host host
kill_runners
touch go
expect 5 "$AGENT" resume "$(grep -oE '^run r-[a-z0-9]+' "$WORK/host.out" | cut -c5-)"
expect 0 "$AGENT" doctor
mapfile -t open < <("$AGENT" ls --all --json 2>/dev/null | grep -oE '"r-[a-z0-9]+","thread_id":"[^"]*","status":"(waiting|interrupted)' | grep -oE 'r-[a-z0-9]+')
[ ${#open[@]} = 3 ] || fail "${#open[@]} runs are open"
cp -a "$S" "$S.good"
uncopied "$S.good"
cp "$W" "$W.good"

damage=(
	'delete from pending_requests'
	"delete from pending_requests where status='open'"
	'delete from tool_executions'
	"delete from tool_executions where outcome='unknown'"
	"update tool_executions set outcome='ok', applied='yes' where outcome='unknown'"
	"update tool_executions set resolved='happened' where outcome='unknown'"
	"update tool_executions set phase='proposed', started_seq=0 where phase='started'"
	'update runs set unknown=0 where unknown>0'
	"update runs set status='queued' where status='waiting'"
	"update runs set status='completed', ended_at=1 where status<>'completed'"
	'update runs set epoch=0, claims=0'
	'update runs set last_seq=last_seq-1'
	'delete from threads'
	'drop index runs_one_unfinished'
	'drop index calls_unknown; drop index requests_by_id'
	'drop view checkpoints'
)
# hurt COMMAND: the state as it was, with damage.
hurt() {
	rm -rf "$S"
	cp -a "$S.good" "$S"
	unmarked
	cp "$W.good" "$W"
	sqlite3 "$S/agent.db" "PRAGMA foreign_keys=off; $1" >"$WORK/sql.out" 2>&1 || fail "$1: $(cat "$WORK/sql.out")"
}
for _ in 1 2 3; do
	sql=${damage[RANDOM % ${#damage[@]}]}
	hurt "$sql"
	expect '0 1' "$AGENT" doctor
	if grep -q '^nothing is wrong' "$WORK/last.out"; then broken "$sql: doctor finds nothing wrong"; fi
	for r in "${open[@]}"; do
		"$AGENT" cancel "$r" >"$WORK/cancel.out" 2>&1 </dev/null || broken "$sql: $r cannot be cancelled: $(cat "$WORK/cancel.out")"
	done

	hurt "$sql"
	expect '0 1' "$AGENT" doctor --fix
	"$AGENT" doctor >"$WORK/doctor.out" 2>&1 || broken "$sql: doctor --fix leaves it: $(grep -v '^ok' "$WORK/doctor.out")"
	expect '0 3 5' "$AGENT" resume --all
	for q in $("$AGENT" pending 2>/dev/null | grep -oE '^p-[a-z0-9]+' || true); do expect '0 3 5' "$AGENT" answer "$q" yes; done
	for q in $("$AGENT" pending 2>/dev/null | grep -oE '^p-[a-z0-9]+' || true); do expect '0 5' "$AGENT" answer "$q" yes; done
	if control; then echo b1.one >>"$W"; fi
	for m in b{1..4}.{one,two,three}; do once "$W" "$m" "$sql, then doctor --fix and resume"; done
	[ "$(wc -l <"$W")" = 11 ] || broken "$sql, then doctor --fix: $(wc -l <"$W") marks, expected 11"
	expect 0 "$AGENT" doctor
done
