#!/usr/bin/env bash
# Promise: a run with a call of unknown outcome never looks done: no command that shows or drives it
# ends with 0 or says completed without naming the call, in words and in --json, until a person
# decided on that call; then it ends with 0.
# Attack: a step is lost at the beginning, in the middle or at the end of a runbook, in several
# ways; the run is carried to its end by answers, resume, resume --all, cancel, another run of the
# thread, and everything that shows it is read.
set -euo pipefail
. "$ATTACK_LIB/lib.bash"

mkdir "$WORK/site"
cd "$WORK/site"
slow=': >> ../began; while ! test -e go; do sleep 0.01; done; echo slow >> ../witness'
ways=('kill_host host; kill_runners' 'kill_runners; finish host' 'kill_runners; kill_host host')

# names WHAT FILE: the file names the call whose outcome is unknown.
names() { grep -q "$CALL" "$2" || broken "$1: the call is not named: $(tail -c 400 "$2")"; }

# shown WHAT: what shows the run or the folder says that something is unknown.
shown() {
	expect 0 "$AGENT" ls --all
	grep "^$RUN " "$WORK/last.out" | grep -q 'unknown' || broken "$1: ls: $(cat "$WORK/last.out")"
	expect 0 "$AGENT" ls --all --json
	names "$1: ls --json" "$WORK/last.out"
	expect 0 "$AGENT" show "$RUN"
	grep -q '1 unknown\|unknown outcome' "$WORK/last.out" || broken "$1: show: $(head -3 "$WORK/last.out")"
	expect 0 "$AGENT" show --json "$RUN"
	grep -q '"num_unknown":1' "$WORK/last.out" || broken "$1: show --json"
	expect '1 5 6' "$AGENT" show --follow "$RUN" # 1 where it failed
	names "$1: show --follow" "$WORK/last.out"
}

# lost PLACE WAY: a run whose step at that place (0, 1, 2) is lost; sets RUN and CALL.
lost() {
	local steps=('echo a >> ../witness' 'echo b >> ../witness' 'echo c >> ../witness')
	rm -f go ../began
	steps[$1]=$slow
	runbook book.md "${steps[@]}"
	pick ask yolo
	start host "$AGENT" run --runbook --mode "$ONE" -f book.md
	wait_file ../began
	eval "$2"
	RUN=$(grep -oE '^run r-[a-z0-9]+' "$WORK/host.out" | head -1 | cut -c5-)
	touch go
	expect '1 5' "$AGENT" resume "$RUN" # it is asked, or was already
	CALL=$("$AGENT" ls --all --json 2>/dev/null | sed 's/{"id":"/\n&/g' | grep -A3 "^..id\":\"$RUN" | grep -oE '^..id":"c-[a-z0-9]+' | head -1 | cut -c8-)
	[ -n "$CALL" ] || broken "the call that was lost in $RUN is named nowhere"
}

for place in 0 1 2; do
	lost $place "${ways[RANDOM % 3]}"
	shown 'asked'
	question=$("$AGENT" pending --json | grep -oE '"id":"p-[a-z0-9]+' | cut -c7- | head -1 || true)
	if [ -n "$question" ]; then
		case $((RANDOM % 4)) in
		0) expect 5 "$AGENT" answer --json "$question" yes ;;
		1) expect '1 5' "$AGENT" answer --json "$question" no ;;
		2) expect 0 "$AGENT" answer --no-resume "$question" yes && expect 5 "$AGENT" resume --json "$RUN" ;;
		3) expect 0 "$AGENT" answer --no-resume "$question" yes && expect 5 "$AGENT" resume --all --dir . ;;
		esac
		names 'the end' "$WORK/last.out"
	fi
	if control; then expect '0 1' "$AGENT" answer "$CALL" happened; fi
	shown 'ended'
	if [ $((RANDOM % 2)) = 0 ]; then
		expect '1 5' "$AGENT" resume --json "$RUN"
		names 'resume of an ended run' "$WORK/last.out"
	fi
	runbook next.md 'echo d >> ../witness'
	expect '0 5' "$AGENT" run --runbook -c --json -f next.md # another run of the thread, with nothing unknown of its own
	shown 'after another run'
	pick happened leave
	expect '0 1' "$AGENT" answer "$CALL" "$ONE"
	"$AGENT" ls --all | grep "^$RUN " >"$WORK/ls.out"
	if [ "$ONE" = happened ] && grep -q unknown "$WORK/ls.out"; then broken "$CALL was said to have happened, but: $(cat "$WORK/ls.out")"; fi
	code=0
	"$AGENT" show --follow "$RUN" >"$WORK/last.out" 2>&1 </dev/null || code=$?
	[ "$code" -le 1 ] || broken "decided with $ONE, but show --follow ends with $code: $(tail -3 "$WORK/last.out")"
done
