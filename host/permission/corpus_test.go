package permission_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agent/host/permission"
	"agent/recovery/journal"
)

// shellCall is a request to run a script with full access.
func shellCall(mode journal.Mode, script, shell string) permission.Request {
	args, err := json.Marshal(map[string]string{"command": script, "shell": shell})
	if err != nil {
		panic(err)
	}
	return permission.Request{Mode: mode, Tool: "shell", Args: args, Effect: journal.EffectWriteExternal, Folder: "/work"}
}

// bounded is a request to run a script with access write, to which the system keeps it.
func bounded(mode journal.Mode, script, shell string) permission.Request {
	args, err := json.Marshal(map[string]string{"command": script, "shell": shell, "access": "write"})
	if err != nil {
		panic(err)
	}
	return permission.Request{Mode: mode, Tool: "shell", Args: args, Effect: journal.EffectWriteLocal, Folder: "/work", Bounded: true}
}

func decided(p permission.Policy, q permission.Request) (journal.Decision, string) {
	v := p.Decide(q)
	return v.Decision, v.Why
}

func allow(commands ...string) []permission.Rule { return rules(journal.DecisionAllow, commands) }
func deny(commands ...string) []permission.Rule  { return rules(journal.DecisionDeny, commands) }

func rules(d journal.Decision, commands []string) (out []permission.Rule) {
	for _, c := range commands {
		r := permission.Rule{Decision: d, Tool: "shell", Command: c}
		if err := r.Check(); err != nil {
			panic(err)
		}
		out = append(out, r)
	}
	return out
}

// plausible are rules as a person who works on a repository writes them.
func plausible() permission.Policy { return permission.New(allow(plausibleCommands()...)...) }

func plausibleCommands() []string {
	return []string{
		"git status *", "git log *", "git diff *", "git *", "ls *", "cat *", "echo *", "pwd", "grep *", "rg *", "find *", "tar *", "sort *",
		"go test *", "go *", "npm *", "npm run build *", "make *", "python build.py *", "bash build.sh *", "cd *", "head *", "true", "test *", "[ *",
		"printf *", "curl *", "rsync *", "docker *", "wc *", "date *", "./run.sh *",
		"split *", "hg *", "ip *", "tcpdump *", "apt-get *", "rustc *", "eslint *", "prettier *", "unzip *", "openssl *", "just *", "gradle *", "mvn *",
	}
}

// bypasses are those that were published for other agents (RELIABILITY 4.2, S9) and their like.
// Each does more than the rules above say.
var bypasses = strings.Split(strings.TrimSpace(`
git status; rm -rf ~
git status && rm -rf ~
git status || rm -rf ~
git status | sh
git status & rm -rf ~
git status\nrm -rf ~
git status # \\nrm -rf ~
git status #\\n# \\nrm -rf ~
sh -c 'git status # \\nrm -rf ~'
git status "$\\n(rm -rf ~)"
git status $\\n(rm -rf ~)
time -- rm -rf ~
git status $(rm -rf ~)
git status "$(rm -rf ~)"
git status `+"`rm -rf ~`"+`
git status "`+"`rm -rf ~`"+`"
git status <(rm -rf ~)
git log > /etc/passwd
git log >> ~/.bashrc
git log >| x
git log &> x
git log >& x
git log 2> x
git log <> x
echo x | tee /etc/passwd
cat < /dev/tcp/127.0.0.1/80
(rm -rf ~)
{ rm -rf ~; }
if true; then rm -rf ~; fi
while true; do rm -rf ~; done
for f in a; do rm -rf ~; done
for PATH in /opt/evil; do git status; done
case x in x) rm -rf ~;; esac
! rm -rf ~
time rm -rf ~
busybox rm -rf ~
env rm -rf ~
env -S 'rm -rf ~'
command rm -rf ~
exec rm -rf ~
builtin eval 'rm -rf ~'
nohup rm -rf ~
nice rm -rf ~
timeout 5 rm -rf ~
xargs rm -rf ~
echo x | xargs rm
sudo rm -rf ~
/usr/bin/sudo rm -rf ~
sh -c 'rm -rf ~'
bash -lc 'rm -rf ~'
bash -c "rm -rf ~"
bash -x -c 'rm -rf ~'
ssh localhost rm -rf ~
eval 'rm -rf ~'
source ./evil.sh
. ./evil.sh
alias git='rm -rf ~'; git status
alias git='rm -rf ~'\ngit status
git() { rm -rf ~; }; git status
function git { rm -rf ~; }; git status
trap 'rm -rf ~' EXIT
PATH=/opt/evil git status
PATH=/opt/evil; git status
export PATH=/opt/evil; git status
LD_PRELOAD=/opt/evil.so git status
GIT_SSH_COMMAND='rm -rf ~' git fetch
GIT_EXTERNAL_DIFF='rm -rf ~' git diff
IFS=_; git_status
a=rm; $a -rf ~
$a status
"$a" status
${a:-rm} -rf ~
: ${PATH:=/opt/evil}
r"m" -rf ~
\rm -rf ~
'rm' -rf ~
$'rm' -rf ~
$'\x72m' -rf ~
{rm,-rf,~}
/bin/r? -rf ~
/bin/[r]m -rf ~
git bisect run rm -rf ~
git rebase -x 'rm -rf ~' HEAD~1
git rebase --exec 'rm -rf ~' HEAD~1
find . -exec rm -rf {} \;
find . -execdir rm -rf {} +
find . -ok rm {} \;
find . -name x -o -exec rm {} +
hg --config alias.x=!evil x
npx evil
python -c 'import os; os.system("rm -rf ~")'
python evil.py
python - build.py
bash build.sh; rm -rf ~
bash evil.sh
bash --rcfile ./evil -i build.sh
perl -e 'unlink'
awk 'BEGIN{system("rm -rf ~")}'
sed '1e rm -rf ~' x
sed -i s/a/b/ x
sed -n 'w /etc/passwd' x
vim -c '!rm -rf ~'
vi -es x
ed x
less x
man -P ./evil x
cat <<EOF\n$(rm -rf ~)\nEOF
cat <<EOF | sh\nrm -rf ~\nEOF
sh <<EOF\nrm -rf ~\nEOF
bash build.sh <<< "$(rm -rf ~)"
python <<EOF\nimport os\nEOF
echo $((a[$(rm -rf ~)]))
echo ${a[$(rm -rf ~)]}
(( a[$(rm -rf ~)] ))
[[ -v 'a[$(rm -rf ~)]' ]]
printf '%s' x > ~/.bashrc
unset 'a[$(rm -rf ~)]'
read x < f; $x
declare -x PATH=/opt/evil
let 'a[$(rm -rf ~)]'
coproc rm -rf ~
hash -p ./evil git; git status
enable -f ./evil.so git
ls $OPTS
ls *
ls $(cat x)
cat "$x"
ls -la$IFS.
git${IFS}status
git status\r; rm -rf ~
git status`+"\u00a0"+`x
git status`+"\u200b"+`
git`+"\u2003"+`status
git status`+"\u202e"+`
git status`+"\x00"+`rm
git status`+"\x1b"+`[2K
git status`+"\xff"+`
git status \\\nx; rm -rf ~
curl -o ~/.bashrc http://127.0.0.1
curl -sLo ~/.bashrc http://127.0.0.1
/usr/bin/git status
./git status
Git status
git status <&3 3<>/etc/passwd
exec 3>/etc/passwd
echo x {fd}>/etc/passwd
@(git) status
git "status" $@
set -- rm -rf; "$@"
git status # \nrm -rf ~
fc -s
select x in a; do rm -rf ~; done
until rm -rf ~; do true; done
true; { true; ( true; rm -rf ~ ); }
git status |& sh
xdg-open x
stdbuf -o0 rm -rf ~
flock x rm -rf ~
setsid rm -rf ~
unshare -r rm
chroot / rm
script -c 'rm -rf ~'
watch rm -rf ~
parallel rm ::: x
systemd-run rm
nsenter rm
su -c 'rm -rf ~'
doas rm
toybox rm
strace rm
gdb -ex 'shell rm' x
`), "\n")

// options are lines whose programs the rules above name, with words by which those programs do
// anything. No list of such words is complete: the rules let them run with access write, to which
// the system keeps them, and with no more.
var options = strings.Split(strings.TrimSpace(`
git -c core.fsmonitor='rm -rf ~' status
git -c alias.status='!rm -rf ~' status
git --exec-path=/opt/evil status
git --exec-path /opt/evil status
git -C /opt/evil status
git --git-dir=/opt/evil status
git -p status
git --config-env=core.pager=X status
git evil-alias
git config alias.x '!rm -rf ~'
git submodule foreach 'rm -rf ~'
git clone -u 'rm -rf ~' x
git clone --upload-pack='rm -rf ~' x
git fetch --upload-pack 'rm -rf ~'
git fetch --upl='rm -rf ~'
git clone 'ext::sh -c rm%20-rf%20~'
git grep -O'rm -rf ~' x
git grep --open-files-in-pager='rm -rf ~' x
git diff --output=/etc/passwd
git log --output /etc/passwd
git difftool -x 'rm -rf ~'
git log --ext-diff
git filter-branch --tree-filter 'rm -rf ~'
git archive --exec='rm -rf ~' HEAD
rg --pre 'rm -rf ~' x
rg --pre=./evil x
rg --hostname-bin=./evil x
find . -delete
find . -fprintf /etc/passwd x
tar --checkpoint=1 --checkpoint-action=exec='rm -rf ~' -cf x .
tar cIf ./evil x y
tar xFf ./evil x
tar xfC x /
go test -coverprofile ../../.bashrc ./...
go test -test.cpuprofile=/etc/x ./...
split --filter='rm -rf ~' x
ip netns exec x evil
tcpdump -z ./evil -G 1 -w x
apt-get update -o APT::Update::Pre-Invoke::=evil
rustc -C linker=./evil x.rs
rustc @evil
eslint --rulesdir evil .
prettier --plugin=./evil.js x
unzip -d / x.zip
openssl req -engine ./evil.so
just --shell ./evil x
gradle --init-script evil build
mvn exec:exec
tar --checkpoint-act=exec=x -cf x .
tar -I 'rm -rf ~' -cf x .
tar --use-compress-program=./evil -xf x
tar --to-command=./evil -xf x
tar -xf host:x --rsh-command=./evil
tar -cf evil:x --rmt-command=x .
sort --compress-program=./evil x
sort -o /etc/passwd x
sort -ro /etc/passwd x
go test -exec ./evil ./...
go test --exec=./evil ./...
go vet -vettool=./evil ./...
go build -toolexec=./evil ./...
go build -ldflags='-extld=./evil' ./...
go run /opt/evil.go
go generate ./...
go env -w GOFLAGS=-exec=./evil
npm exec evil
npm run evil
npm x evil
make SHELL=./evil
make --eval='x:;rm -rf ~' x
make -f /opt/evil
make -C /opt/evil
[ -v 'a[$(rm -rf ~)]' ]
test -v 'a[$(rm -rf ~)]'
[ 1 -eq 'a[$(rm -rf ~)]' ]
printf -v 'a[$(rm -rf ~)]' x
cd /opt/evil && git status
cd .. && git status
cd evil && ./run.sh
cd -- && git status
curl -K evil
rsync -e 'rm -rf ~' a b:
rsync --rsh=./evil a b:
docker run -v /:/x alpine rm -rf /x
docker exec x rm
docker -H tcp://127.0.0.1 ps
date -s x
git stash push -p
`), "\n")

// Not one of the published bypasses runs without a yes under rules that a person may plausibly
// have, whatever access it asks for.
func TestNoBypassIsAllowed(t *testing.T) {
	p := plausible()
	for _, line := range append(bypasses, strings.Repeat("git status; ", 51)+"rm -rf ~", strings.Repeat("(", 5000), strings.Repeat("git status;", 9000)) {
		script := strings.NewReplacer(`\n`, "\n", `\r`, "\r").Replace(line)
		for _, shell := range []string{"", "sh", "bash"} {
			for _, mode := range []journal.Mode{journal.ModePlan, journal.ModeAsk} {
				for _, q := range []permission.Request{shellCall(mode, script, shell), bounded(mode, script, shell)} {
					if d, why := decided(p, q); d == journal.DecisionAllow {
						t.Errorf("mode %s, %q, %q, %s runs without a yes: %s", mode, shell, line, q.Effect, why)
					}
				}
			}
		}
	}
}

// A rule that ends in * grants access write and no more, whatever follows the words that it has.
func TestRulesGrantWrite(t *testing.T) {
	p := plausible()
	for _, line := range options {
		for _, shell := range []string{"", "sh", "bash"} {
			if d, why := decided(p, bounded(journal.ModeAsk, line, shell)); d != journal.DecisionAllow {
				t.Errorf("%q with access write: %s %s", line, d, why)
			}

			full := shellCall(journal.ModeAsk, line, shell)
			if d, why := decided(p, full); d == journal.DecisionAllow {
				t.Errorf("%q has full powers: %s", line, why)
			}
			full.Bounded = true
			if v := p.Decide(full); v.Decision != journal.DecisionAllow || v.Access != "write" {
				t.Errorf("%q, which the system can bound: %+v", line, v)
			}
			unbounded := bounded(journal.ModeAsk, line, shell)
			unbounded.Effect, unbounded.Bounded = journal.EffectWriteExternal, false
			if d, why := decided(p, unbounded); d == journal.DecisionAllow {
				t.Errorf("%q, which nothing keeps to access write: %s", line, why)
			}
		}
	}
}

// What the same rules are meant for does run, so that the corpus above proves something. Of what is
// left to a shell they say nothing, and why is said.
func TestRulesAllow(t *testing.T) {
	p := plausible()
	for _, line := range strings.Split(strings.TrimSpace(`
git status
git status --short -b
git log --oneline -5
git add main.go && git commit -m 'two words; and $(more)'
git commit -m "it's"
git 'status'
go test -count=1 -run '^TestX$' ./...
go vet ./... 2>&1 | head -20
go test ./... > /dev/null 2>&1
git status; git log -1
git status\nls\n
find . -name '*.go' -type f
rg -n --hidden TODO src
grep -rn 'a|b' .
tar -tf x.tar
make -j4 test
python build.py --fast -c x
bash build.sh --all
npm run build --verbose
[ -f go.mod ] && echo there
test -d src
cd sub/dir && git status
printf '%s\n' x
`), "\n") {
		script := strings.ReplaceAll(line, `\n`, "\n")
		if d, why := decided(p, bounded(journal.ModeAsk, script, "sh")); d != journal.DecisionAllow {
			t.Errorf("%q: %s %s", line, d, why)
		}
	}

	for line, want := range map[string]string{
		"git diff HEAD~1 -- main.go": "a tilde", "git show HEAD@{1}": "a brace", `g\it status`: "a backslash", "ls -la src/*.go": "a pattern",
		"(git status; ls) | wc -l": "a compound command", "if git status; then echo yes; fi": "a compound command", "! git status": "a compound command",
		"for f in a b; do go test ./x; done": "a compound command", "echo done &": "a background command", "cat <<'EOF'\nx\nEOF": "a here-document",
		"cat < go.mod": "a redirection to a file", "# a comment\ngit status": "a comment", "ls $x": "an expansion", "A=b make": "an assignment",
	} {
		d, why := decided(p, bounded(journal.ModeAsk, strings.ReplaceAll(line, `\n`, "\n"), "sh"))
		if d != journal.DecisionAsk || !strings.HasSuffix(why, "; no rule can name it: "+want) {
			t.Errorf("%q: %s %s, want %s", line, d, why, want)
		}
	}
}

// What a person approved once, or allowed by a beginning, lets nothing else have full powers: not
// one of the tries that began so, each of them with other words behind, runs so.
func TestApprovalCoversNothingElse(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "attacks.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	tries, approved := 0, 0
	for line := range strings.Lines(string(text)) {
		var try struct{ Harmless, Rule, Attack, Shell string }
		if err := json.Unmarshal([]byte(line), &try); err != nil {
			t.Fatal(err)
		}
		tries++

		p := permission.Policy{}
		if try.Rule != "" {
			r, err := permission.Read(journal.DecisionAllow, try.Rule)
			if err != nil {
				continue // no such rule can be given
			}
			p = permission.New(r)
		}
		if try.Harmless != "" {
			once := shellCall(journal.ModeAsk, try.Harmless, try.Shell)
			p = p.With(p.Always(once, false)...)
			if d, _ := decided(p, once); d == journal.DecisionAllow {
				approved++
			}
		}
		q := shellCall(journal.ModeAsk, try.Attack, try.Shell)
		q.Bounded = true
		same := try.Attack == try.Harmless || try.Attack == try.Rule && !strings.HasSuffix(try.Rule, "*") // a control: what was approved does run
		if v := p.Decide(q); (v.Decision == journal.DecisionAllow && v.Access == "") != same {
			t.Errorf("%s: %+v", strings.TrimSpace(line), v)
		}
	}
	if tries != 434 || approved < 60 {
		t.Errorf("%d tries, %d of them behind an approval", tries, approved)
	}
}

// S9: under deny rules none of these runs, in yolo neither.
func TestNothingPassesADenyRule(t *testing.T) {
	p := permission.New(deny("sudo *", "rm -rf *", "curl *", "git push *")...)
	for _, line := range strings.Split(strings.TrimSpace(`
sudo ls
/usr/bin/sudo ls
/usr/bin/../bin/sudo ls
\sudo ls
s\udo ls
"su""do" ls
'sudo' ls
$'sudo' ls
$'\x73udo' ls
s[u]do ls
{sudo,ls}
a=sudo; $a ls
$(echo sudo) ls
true; sudo ls
true && sudo ls
true | sudo ls
(sudo ls)
{ sudo ls; }
if sudo ls; then true; fi
f() { sudo ls; }; f
echo $(sudo ls)
echo "`+"`sudo ls`"+`"
cat <(sudo ls)
cat <<EOF\n$(sudo ls)\nEOF
sh <<EOF\nsudo ls\nEOF
sh <<< 'sudo ls'
echo 'sudo ls' | sh
echo sudo ls | xargs sh -c
env sudo ls
env A=b sudo ls
env -i sudo ls
env -S 'sudo ls'
command sudo ls
exec sudo ls
nohup nice -n 5 timeout 5 sudo ls
busybox sudo ls
busybox sh -c 'sudo ls'
xargs sudo
xargs -I{} {} ls
find . -exec sudo ls {} \;
find . -exec sh -c 'sudo ls' \;
sh -c 'sudo ls'
bash -lc 'sudo ls'
bash -c "bash -c 'sudo ls'"
bash -c "$x"
eval sudo ls
eval 'su''do ls'
eval "$x"
trap 'sudo ls' EXIT
alias s=sudo; s ls
alias s=sudo\ns ls
ssh localhost sudo ls
su -c 'sudo ls'
watch 'sudo ls'
script -c 'sudo ls' x
git -c alias.x='!sudo ls' x
git -c core.pager='sudo ls' log
rg --pre sudo x
rg --pre=sudo x
tar --checkpoint-action=exec='sudo ls' x
tar --checkpoint-action=exec=x y
rsync -e 'sudo ls' a b
go test -exec sudo ./...
awk 'BEGIN{system("sudo ls")}'
sed '1e sudo ls' x
vim -c '!sudo ls'
python -c 'import os; os.system("sudo ls")'
python3.12 -c 'import os; os.system("su"+"do ls")'
perl -e 'exec "sudo"'
node -e 'x'
echo x | python
$((a[$(sudo ls)]))
echo $((a[$(sudo ls)]))
[[ -v 'a[$(sudo ls)]' ]]
[ 1 -eq 'a[$(sudo ls)]' ]
case x in x) sudo ls;; esac
for i in $(sudo ls); do true; done
while sudo ls; do true; done
! sudo ls
time sudo ls
coproc sudo ls
sudo
ls\nsudo ls
ls \\\n; sudo ls
rm -rf /
rm -fr /
rm -r -f /
rm -f -r -v /
rm / -rf
rm $X /
rm -r$X /
git push
git push --force
git --no-pager push
git -C dir push
/usr/bin/curl x
curl
(((((
echo 'unfinished
sudo`+"\u00a0"+`ls
su`+"\u200b"+`do ls
`), "\n") {
		script := strings.ReplaceAll(line, `\n`, "\n")
		for _, shell := range []string{"sh", "bash"} {
			for _, authored := range []bool{false, true} {
				q := shellCall(journal.ModeYolo, script, shell)
				q.Authored = authored
				if d, why := decided(p, q); d == journal.DecisionAllow {
					t.Errorf("%s, authored %v: %q runs: %s", shell, authored, line, why)
				}
			}
		}
	}
}

// A deny rule stops what it means, and what has nothing to do with it runs on in yolo.
func TestDenyRules(t *testing.T) {
	p := permission.New(deny("sudo *", "rm -rf *", "git push *")...)
	for line, want := range map[string]journal.Decision{
		"sudo ls": journal.DecisionDeny, "/usr/bin/sudo ls": journal.DecisionDeny, `\sudo ls`: journal.DecisionDeny,
		"env sudo ls": journal.DecisionDeny, "sh -c 'sudo ls'": journal.DecisionDeny, "ls; sudo ls": journal.DecisionDeny,
		"rm -r -f x": journal.DecisionDeny, "git push origin": journal.DecisionDeny, "git -C d push": journal.DecisionAsk,
		"$x ls": journal.DecisionAsk, "echo x | sh": journal.DecisionAsk, "python -c x": journal.DecisionAsk,
		"ls": journal.DecisionAllow, "rm x": journal.DecisionAllow, "git pull": journal.DecisionAllow, "echo sudo": journal.DecisionAllow,
		"make && npm run build": journal.DecisionAllow, "sed -n 1,10p x": journal.DecisionAllow, "env A=b go test ./...": journal.DecisionAllow,
		"find . -name x": journal.DecisionAllow, "bash build.sh": journal.DecisionAllow, "cat x | sort | uniq -c": journal.DecisionAllow,
		"sort -o x y": journal.DecisionAllow, "ls $x": journal.DecisionAllow, "go test $(go list ./...)": journal.DecisionAllow,
		"x=1; echo $x": journal.DecisionAllow, "for i in 1 2; do echo $i > f; done": journal.DecisionAllow,
	} {
		if d, why := decided(p, shellCall(journal.ModeYolo, line, "sh")); d != want {
			t.Errorf("%q: %s (%s), want %s", line, d, why, want)
		}
	}
}
