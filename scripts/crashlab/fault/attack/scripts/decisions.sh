#!/usr/bin/env bash
# Promise: what a person decided about a call of unknown outcome lasts: after happened, leave and
# stop-asking it is never executed unasked, in no later run of the thread, however often it is asked
# for; after run it is executed exactly once; a run with an undecided call never ends with 0.
# Attack: the same step is asked for again and again, several times in one runbook, with every
# decision, while the process that records the decision is killed at fault points, and while two
# processes decide at once.
set -euo pipefail
. "$ATTACK_LIB/lib.bash"

mkdir "$WORK/site"
cd "$WORK/site"
again='while ! test -e go; do sleep 0.01; done; echo effect >> ../witness'
total=0 # effects that were asked for

# lost NAME: a new thread in which one execution of the step was lost; sets CALL.
lost() {
	rm -f go
	runbook book.md "echo begins >> began; $again"
	: >began
	start "$1" "$AGENT" run --runbook --mode yolo -f book.md
	wait_line began begins
	kill_host "$1"
	kill_runners
	touch go
	runbook book.md "echo begins >> began; $again" "echo begins >> began; $again" "echo begins >> began; $again"
	expect 5 "$AGENT" resume last
	CALL=$(grep -oE 'c-[a-z0-9]+' "$WORK/last.out" | tail -1)
	expect 1 "$AGENT" answer no
}

# none WHAT: nothing was executed beyond what was asked for.
none() {
	local n
	n=$(marks "$WORK/witness" effect)
	[ "$n" -le "$total" ] || broken "$1: executed $n times, asked for $total times"
	[ "$n" -ge "$total" ] || broken "$1: executed $n times, but $total were shown as done"
}

# twin ANSWER CODES: gives an answer to the open question.
twin() { expect "$2" "$AGENT" answer "$1"; }

# happened, said of the call: three copies in one runbook, each asked about or answered from the
# record.
lost one
expect 0 "$AGENT" answer "$CALL" happened
expect 3 "$AGENT" run --runbook -c --mode yolo -f book.md
none 'happened, then asked for again'
if control; then echo effect >>"$WORK/witness"; fi
twin happened '0 3'
none 'happened, then happened'
for _ in 1 2 3; do
	expect '0 1 3' "$AGENT" answer happened
	none 'happened, then happened again'
done
expect '0 1 3' "$AGENT" run --runbook -c --mode yolo -f book.md
none 'happened, in a third run'
expect 0 "$AGENT" cancel last

# leave, then stop-asking: the third copy in the same run is not executed, and the run does not end
# with 0.
lost two
expect 5 "$AGENT" run --runbook -c --mode yolo -f book.md
twin leave '1 3'
none leave
code=0
for _ in 1 2 3; do
	"$AGENT" answer stop-asking >"$WORK/last.out" 2>&1 </dev/null || code=$?
	none stop-asking
done
expect '0 1 3' "$AGENT" run --runbook -c --mode yolo -f book.md
none 'a later run after stop-asking'
grep -q 'answer' "$WORK/last.out" || broken "a call that nobody decided on is not named in a later run"
expect 0 "$AGENT" cancel last

# The deciding process is killed at each point of its way; the decision is then given once more.
for point in answer.recorded request.after_answered db.before_commit db.after_commit; do
	lost three
	expect '0 137' env AGENT_FAULT="$point" AGENT_FAULT_UNSAFE=1 "$AGENT" answer "$CALL" happened
	expect '0 1' "$AGENT" answer "$CALL" happened
	expect 3 "$AGENT" run --runbook -c --mode yolo -f book.md
	none "happened, killed at $point"
	expect 0 "$AGENT" cancel last
done

# run, answered by two processes at once: executed once.
lost four
expect 5 "$AGENT" run --runbook -c --mode yolo -f book.md
total=$((total + 1))
start a "$AGENT" answer run
start b "$AGENT" answer run
finish a
finish b
n=$(marks "$WORK/witness" effect)
[ "$n" -ge 1 ] || fail 'run was not executed'
