#!/bin/sh
# Replaces itself with the program for this system: process numbers, signals and exit codes are the
# program's own.
here=$(dirname "$(readlink -f "$0")")
case $(uname -s) in
Darwin) system=darwin ;;
*) system=linux ;;
esac
case $(uname -m) in
arm64 | aarch64) cpu=arm64 ;;
*) cpu=x64 ;;
esac
for folder in "$here/node_modules/SCOPE" "$here/.."; do
	program=$folder/agent-$system-$cpu/bin/agent
	[ ! -x "$program" ] || exec "$program" "$@"
done
echo "agent: SCOPE/agent-$system-$cpu, which holds the program, is not installed: npm leaves it out with --omit=optional" >&2
exit 1
