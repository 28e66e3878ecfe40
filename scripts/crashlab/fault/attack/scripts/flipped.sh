#!/usr/bin/env bash
# Promise: a question, call or output whose record was changed on the disk is never shown as if it
# had been asked or done so, nor answered; nothing panics, and doctor finds the change.
# Attack: bytes of questions, prompts, large outputs and the journal are flipped in agent.db and in
# blobs/ while a question is open; then everything that shows or answers is tried. (The prompt in ls
# and in the run of show --json comes from the list of runs, which only doctor compares.)
# slow: all commands are tried after each change
set -euo pipefail
. "$ATTACK_LIB/lib.bash"

mkdir "$WORK/site"
cd "$WORK/site"
S=$AGENT_HOME
runbook book.md 'echo done >> ../witness; for i in $(seq 60000); do echo "line $i of honest-output"; done' 'echo small-output'
printf '\n- confirm_action "Remove the honest-folder of ada-lovelace?"\n\n```sh\necho after >> ../witness\n```\n' >>book.md
expect 3 "$AGENT" run --runbook -f book.md
RUN=$(grep -oE '^run r-[a-z0-9]+' "$WORK/last.out" | head -1 | cut -c5-)
ASK=$("$AGENT" pending | grep -oE '^p-[a-z0-9]+' | head -1)
"$AGENT" show "$RUN" --calls >"$WORK/honest.out"
expect 0 "$AGENT" doctor
cp -a "$S" "$S.good"
uncopied "$S.good"
cp ../witness ../witness.good

# flip FILE OFFSET BYTE: writes one byte.
flip() { printf '%b' "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none; }

# places TEXT: every place of the state's files at which the text stands, as FILE:OFFSET.
places() { grep -raboF --exclude=agent.db-shm -e "$1" "$S" 2>/dev/null | awk -F: '{print $1 ":" $2}' || true; }

# tried WHAT WRONG: everything that shows or answers; WRONG is what nobody asked.
tried() {
	local what=$1 wrong=$2 c code
	if control; then
		printf 'Remove the %s?\n' "$wrong"
	else
		for c in "show $RUN" "show $RUN --calls" "show $RUN --json --calls" "show $ASK" "show last --follow" 'ls --all' 'ls --all --json' 'pending' 'pending --json' 'pending --all --json' \
			"answer $ASK" "resume --dry-run $RUN" "answer $ASK yes" "resume $RUN" "answer yes" 'resume --all' "cancel $ASK"; do
			code=0
			"$AGENT" $c </dev/null >"$WORK/one.out" 2>&1 || code=$?
			printf '# %s (%s)\n' "$c" "$code"
			cat "$WORK/one.out"
		done
	fi >"$WORK/tried.out"
	if grep -qE '^panic:|^goroutine ' "$WORK/tried.out"; then broken "$what: a panic: $(grep -A5 '^panic:' "$WORK/tried.out")"; fi
	if [[ $wrong == *output ]]; then sed -i -E '/^r-/d; s/"prompt":"([^"\\]|\\.)*"//g' "$WORK/tried.out"; fi
	if [ -n "$wrong" ] && grep -qF "$wrong" "$WORK/tried.out"; then broken "$what: shown as it was never asked: $(grep -m1 -B3 -F "$wrong" "$WORK/tried.out" | cut -c1-300)"; fi
	[ "$(marks ../witness done)" = 1 ] || broken "$what: a step was executed again"
	once ../witness after "$what"
}

# fresh: the state as it was.
fresh() { rm -rf "$S" && cp -a "$S.good" "$S" && unmarked && cp ../witness.good ../witness; }

# Each place of the question, of the large output and of the small one; one letter is another.
for text in honest-folder ada-lovelace honest-output small-output; do
	fresh
	mapfile -t all < <(places "$text")
	[ ${#all[@]} -gt 0 ] || continue # it is not kept as plain text
	pick "${all[@]}"
	flip "${ONE%:*}" "${ONE##*:}" X
	tried "$text at $ONE" "X${text:1}"
	fresh
	for ONE in "${all[@]:0:40}"; do flip "${ONE%:*}" "${ONE##*:}" X; done
	tried "$text everywhere" "X${text:1}"
	if "$AGENT" doctor >"$WORK/doctor.out" 2>&1 </dev/null; then broken "$text everywhere: doctor finds nothing wrong"; fi
done

# Bytes anywhere in the database and in files beside it: nothing panics, nothing is done again.
for _ in 1 2 3 4; do
	fresh
	pick $(find "$S" -type f -size +0 ! -name ballast ! -name '*-shm')
	for _ in 1 2 3; do flip "$ONE" $(((RANDOM * 32768 + RANDOM) % $(stat -c %s "$ONE"))) "$(printf '\\x%02x' $((RANDOM % 256)))"; done
	tried "bytes of ${ONE#"$S"/}" ''
done
