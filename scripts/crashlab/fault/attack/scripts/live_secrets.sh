#!/usr/bin/env bash
# Promise: what looks like a secret reaches, while a command prints it and after, no follower, no
# live file, no log and no recording.
# Attack: a command prints tokens whole, in pieces with waits between, and within long lines; a
# follower watches; the host is killed in the middle and resumed. Only the raw output of a running
# command may hold them, until its result is stored.
set -euo pipefail
. "$ATTACK_LIB/lib.bash"

mkdir "$WORK/site"
cd "$WORK/site"
letters=abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789
token=
while [ ${#token} -lt 36 ]; do token+=${letters:RANDOM % ${#letters}:1}; done
middle=${token:6:24}
printf '%s' "ghp_$token" >token
cut=$((RANDOM % 39 + 1))
wait='; while ! test -e go; do sleep 0.01; done; '
prints=("cat token; echo" "head -c $cut token; touch half; while ! test -e rest; do sleep 0.01; done; tail -c +$((cut + 1)) token; echo"
	"printf %5000s x; cat token; printf %5000s y; echo" "printf 'key='; cat token; printf '\\r\\n'" "cat token >&2; echo >&2" "printf '\\033[1m'; cat token; printf '\\033[0m\\n'")
print=${prints[RANDOM % ${#prints[@]}]}
tape "$WORK/tape" "shell {\"access\":\"full\",\"command\":$(quoted "echo first; $print; touch printed$wait echo last")}" '= Done.'

# clean WHEN FILE...: none of the files holds the token.
clean() {
	local when=$1
	shift
	! grep -rqF -e "$middle" -- "$@" 2>/dev/null || broken "the token is in the clear $when: $(grep -rlF -e "$middle" -- "$@"), printed by: $print"
}

start host "$AGENT" run --mode yolo --model "replay:$WORK/tape" hello
wait_line "$WORK/host.out" first
start seen "$AGENT" show --follow last
if [[ $print == *half* ]]; then
	wait_file half
	wait_line "$WORK/seen.out" first
	clean 'after one half' "$WORK"/*.out "$AGENT_HOME/live" "$AGENT_HOME/log"
	touch rest
fi
wait_file printed
wait_line "$WORK/host.out" '\[secret:'
wait_line "$WORK/seen.out" '\[secret:'
if control; then cat token >>"$WORK/seen.out"; fi
clean 'while the command runs' "$WORK"/*.out "$AGENT_HOME/live" "$AGENT_HOME/log" "$AGENT_HOME"/agent.db*
kill_host host
finish seen
start again "$AGENT" resume last
start seen2 "$AGENT" show --follow last
wait_line "$WORK/again.out" '\[secret:'
clean 'after a kill' "$WORK"/*.out "$AGENT_HOME/live" "$AGENT_HOME/log" "$AGENT_HOME"/agent.db*
touch go
finish again
finish seen2
clean 'at the end' "$WORK"/*.out "$AGENT_HOME"
for way in 'show last' 'show last --calls' 'show last --json' 'ls --json'; do
	# shellcheck disable=SC2086 # words
	expect 0 "$AGENT" $way
	clean "in agent $way" "$WORK/last.out"
done
