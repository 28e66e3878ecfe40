#!/usr/bin/env bash
# Promise: a command with access full sees the state folder at no mount, and cannot answer its run's
# own question.
# Attack: the state folder, or one above it, is mounted a second time (bind, rbind, a bind of a
# bind, overlay); a full command looks for it there and answers. Needs root. (That a command of root
# undoes the hiding itself, by umount or nsenter, is a limit that README names.)
set -euo pipefail
. "$ATTACK_LIB/lib.bash"
confined full

if [ -z "${INNER:-}" ]; then
	unshare -m --propagation private true 2>/dev/null || untried 'this user may not mount anything'
	INNER=1 exec unshare -m --propagation private bash "$0"
fi
mkdir -p "$WORK/site" "$WORK/m/two" "$WORK/m/up" "$WORK/m/work" "$WORK/above"
cd "$WORK/site"
two=$WORK/m/two
tape "$WORK/tape" '= Hello.'
expect 0 "$AGENT" run --model "replay:$WORK/tape" hello # there is a state folder now

# attack NAME SUFFIX COMMAND: a mount is made by the command; the state folder is then at $two and
# the suffix.
attack() {
	local at=$two$2
	eval "$3" 2>"$WORK/mount.err" || { echo "$1 was not tried: $(<"$WORK/mount.err")"; return 0; }
	[ -e "$at/agent.db" ] || fail "the second mount shows no state: $1"
	rm -f "$WORK/seen" "$WORK/answered"
	tape "$WORK/tape" 'confirm_action {"question":"Really?"}' '= Done.'
	expect 3 "$AGENT" run --mode yolo --model "replay:$WORK/tape" ask
	tape "$WORK/tape2" "shell {\"access\":\"full\",\"command\":$(quoted "set +e; cat $at/agent.db $at/key >> $WORK/seen; AGENT_HOME=$at $AGENT answer yes; AGENT_HOME=$at $AGENT cancel last; true")}" '= Done.'
	expect '0 1' "$AGENT" run --mode yolo --model "replay:$WORK/tape2" hello
	grep -q '1\.0 shell: ok' "$WORK/last.out" || fail "the command was not carried out: $(<"$WORK/last.out")"
	if control; then cat "$at/agent.db" >>"$WORK/seen"; fi
	[ ! -s "$WORK/seen" ] || broken "a command saw the state folder through $1"
	expect '0 3' "$AGENT" pending
	grep -q 'Really?' "$WORK/last.out" || broken "a command answered the question through $1"
	expect '0 1' "$AGENT" cancel last
	for id in $("$AGENT" pending 2>/dev/null | grep -oE 'r-[a-z0-9]+' | sort -u); do expect '0 1' "$AGENT" cancel "$id"; done
	while umount -l "$two" 2>/dev/null; do :; done
}

attack 'a bind mount' '' 'mount --bind "$AGENT_HOME" "$two"'
attack 'a bind mount of a folder above' "/${AGENT_HOME##*/}" 'mount --bind "$WORK" "$two"'
attack 'an overlay' '' 'mount -t tmpfs none "$WORK/m/work" && mkdir "$WORK/m/work/u" "$WORK/m/work/w" && mount -t overlay -o "lowerdir=$AGENT_HOME,upperdir=$WORK/m/work/u,workdir=$WORK/m/work/w" none "$two"'
attack 'a read-only overlay' '' 'mount -t overlay -o "lowerdir=$AGENT_HOME:$WORK/above" none "$two"'
attack 'a bind of a bind' '' 'mount --bind "$AGENT_HOME" "$WORK/above" && mount --bind "$WORK/above" "$two" && umount "$WORK/above"'
