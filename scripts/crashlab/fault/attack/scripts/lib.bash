# lib.bash: what the scripts of this folder have in common. A script reads it by: .
# "$ATTACK_LIB/lib.bash"
#
# The crash lab (scripts/crashlab/fault/attack) sets AGENT, the binary; WORK, an empty folder but
# for HOME; HOME=$WORK/home; AGENT_HOME=$WORK/state; ATTACK_LIB, the folder of this file; SEED; and
# CONTROL=1 where the script makes the damage itself. A script ends with 0 where the promise held,
# with 1 by broken, with 77 by untried, and with anything else where it could not be carried out.
# bash, coreutils and git are there; anything else is looked for first (untried).

: "${AGENT:?}" "${WORK:?}" "${HOME:?}" "${AGENT_HOME:?}"
RANDOM=${SEED:-1} # random numbers of a script are the same for the same seed
declare -A STARTED=() # process ids by name

# broken TEXT: the promise is broken. Ends the script.
broken() { echo "BROKEN: $*" >&2; exit 1; }

# untried TEXT: the attack cannot be made by this user or on this machine. Ends the script.
untried() { echo "$*"; exit 77; }

# confined ACCESS: ends the script where the binary keeps no command to the access.
confined() {
	"$AGENT" doctor >"$WORK/doctor.out" 2>&1 </dev/null || fail 'doctor finds something wrong before anything was done'
	! grep -qE "access $1: (what it should|nothing confines)" "$WORK/doctor.out" || untried "nothing keeps a command to access $1 here"
}

# fail TEXT: the script itself does not come on, which says nothing about the promise. Ends the
# script.
fail() { echo "ERROR: $*" >&2; exit 2; }

# control: whether the script makes the damage itself this time.
control() { [ "${CONTROL:-}" = 1 ]; }

# eventually SECONDS COMMAND...: whether the command succeeds within the time; it is tried again and
# again.
eventually() {
	local until=$((SECONDS + $1 + 1))
	shift
	until "$@"; do
		[ "$SECONDS" -lt "$until" ] || return 1
		sleep 0.02
	done
}

# wait_file FILE [SECONDS]: waits until there is such a file.
wait_file() { eventually "${2:-20}" test -e "$1" || fail "there is no $1 after ${2:-20} seconds"; }

# wait_line FILE PATTERN [SECONDS]: waits until a line of the file matches the pattern (grep -E).
wait_line() { eventually "${3:-20}" grep -qsE -e "$2" "$1" || fail "no line of $1 matches $2 after ${3:-20} seconds"; }

# marks FILE LINE: prints how many lines of the file are exactly that one; 0 without a file.
marks() { if [ -e "$1" ]; then grep -cxF -e "$2" "$1" || true; else echo 0; fi; }

# once FILE LINE WHAT: the promise is broken if the line is there more than once.
once() {
	local n
	n=$(marks "$1" "$2")
	[ "$n" -le 1 ] || broken "$3: $2 is there $n times"
}

# expect CODES COMMAND...: carries out a command that must end with one of the exit codes (as in "0
# 5"). What it prints is in $WORK/last.out, both streams.
expect() {
	local codes=$1 code=0
	shift
	"$@" >"$WORK/last.out" 2>&1 </dev/null || code=$?
	case " $codes " in
	*" $code "*) ;;
	*) cat "$WORK/last.out" >&2; fail "$* ended with $code, expected $codes" ;;
	esac
}

# start NAME COMMAND...: starts a command in the background. What it prints is in $WORK/NAME.out,
# both streams.
start() {
	local name=$1
	shift
	"$@" >"$WORK/$name.out" 2>&1 </dev/null &
	STARTED[$name]=$!
}

# finish NAME: waits for the end of a command that start started, and sets CODE to its exit code
# (137 where it was killed). A command that never ends is ended by the lab, with the script.
finish() {
	CODE=0
	wait "${STARTED[$1]}" 2>/dev/null || CODE=$?
}

# kill_host NAME: kills a command that start started, and nothing that it started itself.
kill_host() {
	kill -KILL "${STARTED[$1]}" 2>/dev/null || true # one that ended already is no matter
	finish "$1"
}

# runners: prints the process ids of what carries out this state folder's commands.
runners() {
	local p args
	for p in /proc/[0-9]*; do
		{ mapfile -d '' -t args <"$p/cmdline"; } 2>/dev/null || continue
		if [ "${args[1]:-}" = __runner ] && [[ ${args[2]:-} == "$AGENT_HOME"/* ]]; then echo "${p#/proc/}"; fi
	done
}

no_runners() { [ -z "$(runners)" ]; }

# no_commands: no command of a run is left that works in this script's folder. One whose runner was
# killed dies a moment after it.
no_commands() {
	local p
	for p in /proc/[0-9]*; do
		if [[ $(readlink "$p/cwd" 2>/dev/null) == "$WORK"/* ]] && grep -qsz '^AGENT_CALL=' "$p/environ"; then return 1; fi
	done
}

# kill_runners: kills what carries out this state folder's commands, and waits until it and they are
# gone.
kill_runners() {
	local p
	for p in $(runners); do kill -KILL "$p" 2>/dev/null || true; done
	eventually 10 no_runners || fail "runners are left: $(runners)"
	eventually 10 no_commands || fail "commands are left that no runner carries out"
}

# runbook FILE BLOCK...: writes a runbook, one sh block for each of the texts.
runbook() {
	local file=$1 block
	shift
	printf -- '---\nagent: runbook\n---\n# Steps\n' >"$file"
	for block in "$@"; do printf '\n```sh\n%s\n```\n' "$block" >>"$file"; done
}

# pick WORD...: sets ONE to one of the words.
pick() { ONE=${*:RANDOM % $# + 1:1}; }

# listed: prints what ls and pending know as JSON, with each run, question and unknown call on a
# line of its own.
listed() { { "$AGENT" ls --all --json; "$AGENT" pending --json; } </dev/null 2>/dev/null | sed 's/{"id":"/\n&/g'; }

# agrees NAME: waits for a command with --json that start started. The promise is broken where it
# panicked, or where its exit code does not agree with what it says.
agrees() {
	local out
	finish "$1"
	out=$(grep -E '^\{"version"' "$WORK/$1.out" | tail -1 || true)
	if grep -qE '^panic:|^goroutine ' "$WORK/$1.out"; then broken "a panic: $(cat "$WORK/$1.out")"; fi
	if [ "$CODE" -gt 6 ] || [[ $out != *'"exit_code":'* ]]; then return 0; fi
	if [[ $out != *"\"exit_code\":$CODE,"* ]]; then broken "exit code $CODE, but: $out"; fi
	if [[ $out == *'"status":"completed"'*'"unknown":[{'* && $CODE != 5 ]]; then broken "exit code $CODE with an unknown call: $out"; fi
	if [[ $out == *'"status":"completed"'*'"unknown":[]'* && $CODE != 0 ]]; then broken "exit code $CODE, but completed: $out"; fi
}

# quoted TEXT: prints the text as a JSON string.
quoted() {
	local t=$1
	t=${t//\\/\\\\} t=${t//\"/\\\"} t=${t//$'\n'/\\n} t=${t//$'\t'/\\t}
	printf '"%s"' "$t"
}

# tape FILE STEP...: writes a recording that stands for a model (agent run --model replay:FILE). A
# step is one answer of the model: one call of a tool, as in 'write_file {"path": "a", "content":
# "b"}', or a text that begins with "= ".
tape() {
	local file=$1 step turn=0 delta reason
	shift
	printf '{"agent_recording":1,"model":"m","provider":"chat","base_url":"http://127.0.0.1:1/v1","created":"2026-01-01T00:00:00Z"}\n' >"$file"
	for step in "$@"; do
		turn=$((turn + 1))
		case $step in
		'= '*) delta='{"content":'$(quoted "${step#= }")'}' reason=stop ;;
		*)
			delta='{"tool_calls":[{"index":0,"id":"t'$turn'","type":"function","function":{"name":"'${step%% *}'","arguments":'
			delta+=$(quoted "${step#* }")'}}]}' reason=tool_calls
			;;
		esac
		delta='data: {"choices":[{"index":0,"delta":'$delta'}]}'$'\n\n''data: {"choices":[{"index":0,"delta":{},"finish_reason":"'$reason'"}]}'
		printf '{"turn":%d,"attempt":1,"method":"POST","path":"/v1/chat/completions","status":200,"header":{"Content-Type":"text/event-stream"},"pieces":[{"ms":1,"text":%s}],"end":"eof","ms":1}\n' \
			"$turn" "$(quoted "$delta"$'\n\ndata: [DONE]\n\n')" >>"$file"
	done
}

# uncopied FOLDER: a state folder that was copied counts as the one that it was copied from, as if
# the disk had been put back as a whole.
uncopied() {
	command -v sqlite3 >/dev/null || untried 'there is no sqlite3'
	sqlite3 "$1/agent.db" "UPDATE store SET inode = 0, born = 0, machine = ''" || fail "uncopied $1"
}

# unmarked: the marks outside of state folders are those of another disk.
unmarked() { rm -rf "${XDG_CACHE_HOME:-$HOME/.cache}/agent/marks"; }
