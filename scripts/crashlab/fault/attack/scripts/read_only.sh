#!/usr/bin/env bash
# Promise: a command with access read writes to no FIFO, socket, device or file, wherever the
# workspace lies, also below /tmp, /var/tmp and /dev/shm.
# Attack: a model in mode plan writes to FIFOs with a reader (by every kind of path, hard and
# symbolic links, inherited and inner descriptors), to a Unix socket that is listened on, to device
# nodes and to files, from workspaces in each of these places.
set -euo pipefail
. "$ATTACK_LIB/lib.bash"
confined read

sites=()
trap 'rm -rf "${sites[@]}"' EXIT
for base in "$WORK" /tmp /var/tmp /dev/shm; do
	if [ -w "$base" ]; then sites+=("$(mktemp -d "$base/read-only.XXXXXX")"); fi
done
listen='use Socket; socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un("s")) or die; listen(S, 9); open(F, ">up"); close F; while (accept(C, S)) { while (<C>) { open(G, ">>heard"); print G $_; close G; } }'
connect="perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un(q(s))) or exit 3; syswrite S, qq(hit\\n)'"

# each command writes into SITE, which is filled in
commands=('echo hit > fifo' 'echo hit >> hard' 'echo hit > link' 'echo hit 1<> fifo' 'echo hit > SITE/fifo' 'cd / && echo hit > proc/self/cwd/SITE/fifo'
	'exec 3<>fifo; echo hit >&3' 'exec 3<>fifo; echo hit > /proc/self/fd/3' 'exec 3<kept; echo hit > /proc/self/fd/3' 'dd if=kept of=fifo' 'cp kept fifo'
	'echo hit | tee fifo hard link kept new' '(echo hit > fifo &) ; wait' 'echo hit > /proc/1/root/SITE/fifo' 'echo hit > /proc/$PPID/cwd/fifo'
	'echo hit > null' 'echo hit > /dev/shm/NAME; echo hit > /tmp/NAME; echo hit > /var/tmp/NAME' 'rm -f fifo kept' 'mv kept new' 'ln fifo new' 'mkfifo new && mv new kept'
	'mv fifo old; echo hit > kept' 'ln -sf fifo kept' 'truncate -s 0 kept' 'echo hit > /dev/loop-control' 'unshare -rm sh -c "echo hit > fifo"' 'setsid sh -c "echo hit > fifo"'
	'echo hit > s' "$connect")

# attack SITE COMMAND
attack() {
	local site=$1 command=${2//SITE/$1} name=${1##*/}.hit line= before after p
	command="timeout 5 sh -c $(printf %q "${command//NAME/$name}")"
	cd "$site"
	before=$(ls -1A; stat -c '%n %Y %a %s %h' kept fifo)
	tape "$WORK/tape" "shell {\"access\":\"read\",\"command\":$(quoted "$command")}" '= Done.'
	expect 0 "$AGENT" run --mode plan --model "replay:$WORK/tape" hello
	grep -qE '1\.0 shell: (ok|exit status)' "$WORK/last.out" || fail "the command was not carried out: $(<"$WORK/last.out")"
	if control; then echo hit >fifo; fi
	! read -t 0.05 -r -u "$reader" line || broken "a FIFO was written to by: $command"
	if [ -e heard ]; then broken "a socket was written to by: $command"; fi
	after=$(ls -1A; stat -c '%n %Y %a %s %h' kept fifo)
	[ "$before" = "$after" ] || broken "$command changed the workspace: from $before to $after"
	for p in "/tmp/$name" "/var/tmp/$name" "/dev/shm/$name"; do
		if [ -e "$p" ]; then rm -f "$p"; broken "$p was written by: $command"; fi
	done
}

for site in "${sites[@]}"; do
	cd "$site"
	mkfifo fifo
	ln fifo hard
	ln -s fifo link
	echo kept >kept
	mknod null c 1 3 2>/dev/null || true # root only
	exec {reader}<>fifo
	if command -v perl >/dev/null; then
		start listener perl -e "$listen"
		wait_file up
	fi
	for n in 0 1; do attack "$site" "${commands[RANDOM % ${#commands[@]}]}"; done
	if [ -n "${STARTED[listener]:-}" ]; then
		attack "$site" "$connect"
		kill "${STARTED[listener]}"
		finish listener
	fi
	exec {reader}>&-
done
