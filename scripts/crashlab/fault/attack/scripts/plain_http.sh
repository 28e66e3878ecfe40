#!/usr/bin/env bash
# Promise: no key leaves for another machine over plain HTTP, unless the person's own file allows it
# for that provider.
# Attack: the address of a provider, from a flag, a variable or a file, is spelled in many ways. A
# proxy on this machine that only listens sees whatever leaves. Needs perl.
set -euo pipefail
. "$ATTACK_LIB/lib.bash"

command -v perl >/dev/null || untried 'there is no perl to listen with'
mkdir -p "$WORK/site" "$HOME/.config/agent"
cd "$WORK/site"
start proxy perl -e 'use Socket; $| = 1; socket(S, AF_INET, SOCK_STREAM, 0); bind(S, sockaddr_in(0, INADDR_LOOPBACK)) or die; listen(S, 99);
	my ($port) = sockaddr_in(getsockname(S)); print "port $port\n"; while (accept(C, S)) { sysread(C, my $d, 65536); print "got $d\n"; close C; }'
wait_line "$WORK/proxy.out" 'port [0-9]+'
port=$(grep -oE '[0-9]+' "$WORK/proxy.out" | head -1)
key=sk-test-7Hq2mXv9LwTz4NpYb6JcHs1GfEa8Uo
export HTTP_PROXY=http://127.0.0.1:$port http_proxy=http://127.0.0.1:$port ALL_PROXY=http://127.0.0.1:$port NO_PROXY=

addresses=(http://192.0.2.1:9/v1 HTTP://192.0.2.1/v1 hTtP://192.0.2.1:80/v1 http://LOCALHOST:9/v1 http://localhost.example/v1 http://127.0.0.1.example/v1
	http://127.0.0.1@192.0.2.1/v1 'http://192.0.2.1/v1?x=https://' 'http://192.0.2.1#127.0.0.1' http:192.0.2.1/v1 http:/192.0.2.1/v1 http:///192.0.2.1/v1
	' http://192.0.2.1/v1' $'http://192.0.2.1/v1\n' 'http://[::ffff:192.0.2.1]/v1' http://0xc0000201/v1 http://3221225985/v1 http://192.0.2.1./v1 //192.0.2.1/v1
	192.0.2.1:9/v1 'http://127.0.0.1 .example/v1' 'http://[fe80::1%25lo]/v1' http://127.1.example/v1 http://localhost./v1 'http://192.0.2.1\@127.0.0.1/v1'
	http://0.0.0.1/v1 ws://192.0.2.1/v1 http://127.0.0.1%2eexample/v1 http://127.0.0.1%00.example/v1 http+unix://192.0.2.1/v1)

# ask ADDRESS WAY: a model is asked there.
ask() {
	local a=$1
	case $2 in
	flag) set -- env OPENAI_API_KEY="$key" "$AGENT" run --idle 2s --timeout 5s --model openai/m --base-url "$a" hello ;;
	openai) set -- env OPENAI_API_KEY="$key" OPENAI_BASE_URL="$a" "$AGENT" run --idle 2s --timeout 5s --model openai/m hello ;;
	anthropic) set -- env ANTHROPIC_API_KEY="$key" ANTHROPIC_BASE_URL="$a" "$AGENT" models --check ;;
	file)
		printf '[providers.work]\nkind = "chat"\nbase_url = %s\napi_key_env = "WORK_KEY"\n' "$(quoted "$a")" >"$HOME/.config/agent/config.toml"
		set -- env WORK_KEY="$key" "$AGENT" run --idle 2s --timeout 5s --model work/m hello
		;;
	esac
	timeout 15 "$@" >>"$WORK/ask.out" 2>&1 </dev/null || true
	rm -f "$HOME/.config/agent/config.toml"
	# In one line, which bash writes at once: the proxy reads once and closes, and a second write
	# would end this script by SIGPIPE.
	if control; then echo "Authorization: $key" >"/dev/tcp/127.0.0.1/$port"; wait_line "$WORK/proxy.out" "$key"; fi
	! grep -qF "$key" "$WORK/proxy.out" || broken "the key left for $(quoted "$a"), by $*"
}

ways=(flag openai anthropic file)
first=$((RANDOM % ${#addresses[@]}))
for n in 0 1 2 3 4 5 6 7 8 9 10 11; do ask "${addresses[(first + n) % ${#addresses[@]}]}" "${ways[RANDOM % 4]}"; done
kill "${STARTED[proxy]}"
