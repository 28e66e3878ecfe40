#!/usr/bin/env bash
# Promise: whatever is killed, cancelled, resumed and answered at whatever moment, nothing is
# executed twice without a person's run, nothing shown as done is missing, every run can be brought
# to its end, and exit codes agree with what is unknown.
# Attack: several runs in two folders, whose steps append marks of their own to a file; at random
# moments signals to hosts and runners, cancel, resume, takeover, every answer, and lost steps asked
# for again in other words; then all is carried to its end.
set -euo pipefail
. "$ATTACK_LIB/lib.bash"
W=$WORK/witness MARK='b[0-9]+[.]s[0-9]+e' books=0 kills=0 n=0
declare -A AGAIN=() RUN=() LIVE=() LOST=() # marks asked for again, those run was said to, commands, threads of lost marks
mkdir "$WORK/site0" "$WORK/site1" && : >"$W"
# go ARGUMENT...: a command in the background; ended waits for its end.
go() { n=$((n + 1)) && LIVE[h$n]=1 && start "h$n" "$AGENT" "$@"; }
ended() { agrees "$1" && unset "LIVE[$1]"; }
# book: a run of four steps, now and then with a question between two of them.
book() {
	books=$((books + 1))
	printf -- '---\nagent: runbook\n---\n' >"$WORK/$books.md"
	for s in b$books.s{1..4}e; do
		pick sh bash 'sh timeout=60s'
		printf '\n```%s\n: %s; sleep 0.0%s; echo %s >> "%s"; sleep 0.1\n```\n' "$ONE" $s $((RANDOM % 9)) $s "$W" >>"$WORK/$books.md" # time: a step lasts a while, so that a kill meets it
		if [ $((RANDOM % 5)) = 0 ]; then printf '\n- confirm_action "Go on?"\n' >>"$WORK/$books.md"; fi
	done
	pick ask yolo
	go run --json --runbook --dir "$WORK/site$((RANDOM % 2))" --mode "$ONE" -f "$WORK/$books.md"
}
# again: asks once more, in its thread, for a step whose outcome is or was unknown.
again() {
	local line thread=''
	while read -r line; do
		if [[ $line =~ ^.\"id\":\"r-.*\"thread_id\":\"(t-[a-z0-9]+) ]]; then thread=${BASH_REMATCH[1]}; fi
		if [[ $line =~ ^.\"id\":\"c-.*\"summary\":\"[^\"]*($MARK) ]]; then LOST[${BASH_REMATCH[1]}]=$thread; fi
	done < <(listed)
	if [ ${#LOST[@]} != 0 ] && pick "${!LOST[@]}" && m=$ONE && [ "${AGAIN[$m]:-0}" -lt 3 ]; then
		AGAIN[$m]=$((${AGAIN[$m]:-0} + 1)) books=$((books + 1))
		pick '' 'cd . && ' '  ' 'true; '
		runbook "$WORK/$books.md" "$ONE$(grep -hF "echo $m " "$WORK"/*.md | head -1)"
		go run --json --runbook --thread "${LOST[$m]}" -f "$WORK/$books.md"
	fi
}
# say ID WORD: an answer. A run is noted for the mark that the question is about.
say() {
	m=$(listed | grep -F "{\"id\":\"$1\"" | grep -oE "$MARK" | head -1 || true)
	if [ -n "$m" ] && [ "$2" = run ]; then RUN[$m]=1; fi
	go answer --json "$1" "$2"
}
host() { if [ ${#LIVE[@]} != 0 ] && pick "${!LIVE[@]}" && kill "-$1" "${STARTED[$ONE]}" 2>/dev/null; then kills=$((kills + 1)); fi; }
runner() { for p in $(runners); do if [ $((RANDOM % $1)) = 0 ] && kill -KILL "$p" 2>/dev/null; then kills=$((kills + 1)); fi; done; }
ids() { listed | grep -oE "^..id\":\"[$1]-[a-z0-9]+" | cut -c8- || true; }
answers() { listed | grep -oE 'agent (resume|cancel|answer) [rpc]-[a-z0-9]+( [a-z-]+)?' | cut -c7- | sort -u | tr ' ' = || true; }
next() { pick "$@" && read -r verb id word <<<"${ONE//=/ }" && if [ "$verb" = answer ]; then say "$id" "$word"; else go "$verb" --json "$id"; fi; }
book
if control; then ROUNDS=5; fi
for ((round = 0; round < ${ROUNDS:-40}; round++)); do
	case $((RANDOM % 22)) in
	0 | 1 | 2) book ;;
	3 | 4 | 5) again ;;
	6) host KILL ;;
	7) pick TERM HUP INT && host "$ONE" ;;
	8 | 9 | 10 | 11) host KILL && runner 1 ;;
	12) runner 2 ;;
	13) pick last $(ids r) && go resume --takeover --json "$ONE" ;;
	14) go resume --all ;;
	15) if [ $((RANDOM % 3)) = 0 ]; then pick last $(ids r) && go cancel --json "$ONE"; fi ;;
	16) pick --json --fix && expect '0 1' "$AGENT" doctor "$ONE" ;;
	17 | 18 | 19 | 20) next 'resume=last' $(answers) ;;
	21) pick last $(ids pc) && q=$ONE && pick yes no happened run leave stop-asking always && say "$q" "$ONE" ;;
	esac
	sleep "0.0$((RANDOM % 9))" # the moment is what is random here
	for h in "${!LIVE[@]}"; do if ! kill -0 "${STARTED[$h]}" 2>/dev/null; then ended "$h"; fi; done
done
# The end: the commands that ls names, until it names none.
for h in "${!LIVE[@]}"; do ended "$h"; done
for ((pass = 0; ; pass++)); do
	if ! todo=$(answers) || [ -z "$todo" ]; then break; fi
	[ "$pass" -lt 100 ] || broken "no end after 100 commands: $todo"
	next $todo && ended "h$n"
done
expect 0 "$AGENT" doctor
if control; then printf 'b1.s1e\nb1.s1e\n' >>"$W"; fi
while read -r count m; do
	[ "$count" -le $((1 + ${RUN[$m]:-0} * ${AGAIN[$m]:-0})) ] || broken "$m was executed $count times"
done < <(sort "$W" | uniq -c)
for r in $(ids r); do
	expect '0 1 6' "$AGENT" show "$r" --follow # it has its end, and nothing is unknown
	"$AGENT" show "$r" --json --calls </dev/null | sed 's/"facts":.*//; s/{"id":"c-/\n&/g' >"$WORK/calls.out"
	for m in $(grep '"outcome":"ok".*"how":"executed"' "$WORK/calls.out" | grep -oE "echo $MARK" | cut -c6- || true); do
		[ "$(marks "$W" "$m")" -ge 1 ] || broken "$r shows $m as done, but it is not there"
	done
done
echo "$(ids r | wc -l) runs, $n commands, $kills signals, ${#LOST[@]} steps lost, ${#AGAIN[@]} asked for again, ${#RUN[@]} with run, $(wc -l <"$W") marks"
