#!/usr/bin/env bash
# Promise: a command that may or may not have happened is not executed a second time without a
# person's yes, however it is spelled.
# Attack: the host and the runner of `sh ./B.sh` are killed; then runbooks of the same thread, in
# mode yolo, ask for it in other words.
set -euo pipefail
. "$ATTACK_LIB/lib.bash"

mkdir "$WORK/site"
cd "$WORK/site"
cat >B.sh <<'END'
echo begins >> lines.txt
while ! test -e go; do sleep 0.01; done
END

runbook first.md 'sh ./B.sh'
start host "$AGENT" run --runbook --mode yolo -f first.md
wait_line lines.txt begins
kill_host host
kill_runners
expect 5 "$AGENT" resume last
expect 1 "$AGENT" answer no
touch go

variants=(
	'sh ./B.sh'
	'  sh   ./B.sh   # the same'
	'sh B.sh'
	'bash ./B.sh'
	'. ./B.sh'
	"sh '$WORK/site/B.sh'"
	"cd '$WORK/site' && sh ./B.sh"
	'cd . && ./../site/B.sh || sh B.sh'
	'echo before; sh ./B.sh; echo after'
	'timeout 20 sh ./B.sh'
	'env A=b nohup sh ./B.sh'
	'sh -c "sh ./B.sh"'
	'cat < /dev/null | sh ./B.sh'
	'for i in 1; do sh ./B.sh; done'
	'f() { sh ./B.sh; }; f'
	'echo "$(sh ./B.sh)"'
	'eval "sh ./B.sh"'
)
fences=('sh' 'sh timeout=60s' 'bash' 'sh access=write' 'sh access=full')

# Six of them, from another place on with another seed.
first=$((RANDOM % ${#variants[@]}))
for n in 0 1 2 3 4 5; do
	variant=${variants[(first + 5 * n) % ${#variants[@]}]}
	fence=${fences[RANDOM % ${#fences[@]}]}
	printf -- '---\nagent: runbook\n---\n\n```%s\n%s\n```\n' "$fence" "$variant" >again.md
	expect '0 1 5 3' "$AGENT" run --runbook -c --mode yolo -f again.md
	if control && [ "$n" = 3 ]; then sh ./B.sh; fi
	once lines.txt begins "$fence: $variant was executed unasked"
	expect '0 1' "$AGENT" answer leave
done
