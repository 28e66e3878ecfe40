package permission

import (
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"agent/tools/shelltext"
)

// kind says what a program does with its arguments.
type kind int

const (
	plain       kind = iota // nothing is known: its arguments are its own business
	never                   // changes what later words mean, or runs text: no rule covers it
	wrapper                 // runs its arguments, or text among them: covered word by word only
	interpreter             // runs a script: "*" counts only after the script, or a module, is named
	language                // carries out text in a language of its own, which can run commands: covered word by word only
)

// program is what is known of a program by its name.
type program struct {
	kind kind
	// options by which it runs code, or writes or reads elsewhere: they must stand in the rule
	// itself. "--long" also as an abbreviation and with "=", "-x" also within a cluster, "-long" as
	// it stands and with "=", a plain word as the subcommand.
	options []string
	// words is set where -abc is one option and not three.
	words bool
	// sub is set where the first word must be a subcommand; those in subs only, if there are any.
	sub  bool
	subs []string
	// chars must not stand in a word under "*".
	chars string
	// inside is set where each word under "*" must be a path that stays below the folder.
	inside bool
	// bundle is set where the first word may be a cluster of options without its dash.
	bundle bool
}

// wrappers run what follows them, or a text in their arguments.
const wrappers = `env command exec builtin nohup nice timeout gtimeout xargs sudo doas su runuser pkexec busybox toybox ssh mosh setsid stdbuf
ionice chrt taskset chroot unshare nsenter strace ltrace perf gdb lldb valgrind watch script parallel flock time systemd-run at batch crontab
proot fakeroot firejail bwrap faketime rlwrap expect socat nc ncat netcat entr direnv hyperfine npx bunx pnpx uvx pipx nix nix-shell
torsocks proxychains setarch linux32 linux64 setpriv capsh dbus-run-session xvfb-run start-stop-daemon run-parts tmux screen git-shell
rlogin rsh fzf deno bun`

// languages carry out text that can run commands.
const languages = `vi vim nvim view ex ed emacs nano less more most man mail sqlite3 psql mysql mariadb redis-cli mongosh ftp sftp telnet
awk gawk mawk nawk sed gsed m4 dc bc gnuplot jshell ghci iex erl`

// interpreters run a script that is named, or text.
const interpreters = `sh bash dash ash zsh ksh mksh fish csh tcsh yash rbash python python2 python3 pypy pypy3 perl ruby node nodejs php lua
luajit tclsh wish Rscript osascript pwsh powershell groovy scala ts-node tsx ipython guile racket sbcl`

// nevers change what later words mean, or run text that is not seen.
const nevers = `eval source . alias unalias trap hash enable bind complete compgen compopt caller let declare typeset local export readonly
unset read mapfile readarray getopts shopt fc history`

// programs is what is known of each program. It is read only.
var programs = sync.OnceValue(known)

func known() map[string]program {
	m := map[string]program{
		"git": {
			sub: true,
			subs: strings.Fields(`status log diff show branch tag add commit checkout switch restore reset rm mv stash merge rebase cherry-pick revert
				fetch pull push clone init remote blame grep ls-files ls-tree cat-file rev-parse rev-list describe shortlog reflog worktree
				clean apply am format-patch merge-base for-each-ref show-ref symbolic-ref name-rev notes range-diff whatchanged count-objects
				check-ignore check-attr diff-tree diff-index diff-files hash-object var version help sparse-checkout`),
			options: strings.Fields(`-C --git-dir --work-tree --exec-path --config-env --namespace --super-prefix --paginate
				--upload-pack --receive-pack --exec --ext-diff --textconv --output --output-directory --open-files-in-pager --template
				--separate-git-dir --config --interactive --edit-description --unsafe-paths --no-index --remote --directory --to-cmd
				--cc-cmd --ext-cmd --tool --extcmd --editor --git-completion-helper --edit`),
		},
		"find": {options: strings.Fields(`-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls`)},
		"fd":   {options: strings.Fields(`-x --exec -X --exec-batch`)},
		"rg":   {options: strings.Fields(`--pre --hostname-bin --search-zip -z`)},
		"ag":   {options: []string{"--pager"}},
		"tar": {
			options: strings.Fields(`--checkpoint-action --use-compress-program -I --to-command --rsh-command --rmt-command --info-script
				--new-volume-script -F --absolute-names -P --directory -C --files-from -T --index-file`),
			chars:  ":", // host:file runs a remote shell
			bundle: true,
		},
		"sort":  {options: strings.Fields(`--output -o --compress-program --temporary-directory -T --files0-from`)},
		"patch": {options: strings.Fields(`--ed -e --output -o --directory -d --reject-file -r`)},
		"diff":  {options: []string{"--output"}},
		"rsync": {options: strings.Fields(`-e --rsh --rsync-path --daemon --config --password-file --files-from`)},
	}
	maps.Copy(m, utilities())
	maps.Copy(m, builders())
	m["gmake"], m["bsdtar"], m["gtar"], m["c++"], m["clang++"] = m["make"], m["tar"], m["tar"], m["g++"], m["clang"]
	m["apt-get"], m["aptitude"] = m["apt"], m["apt"]
	m["gfind"], m["bfind"], m["fdfind"], m["nerdctl"] = m["find"], m["find"], m["fd"], m["docker"]
	for of, list := range map[kind]string{wrapper: wrappers, interpreter: interpreters, never: nevers, language: languages} {
		for _, name := range strings.Fields(list) {
			m[name] = program{kind: of}
		}
	}
	return m
}

// utilities are the programs of every day that do one thing, and more under some options.
func utilities() map[string]program {
	return map[string]program{
		"scp":      {options: strings.Fields(`-S -o -F -D -J`)},
		"curl":     {options: strings.Fields(`-K --config -o --output -O --remote-name --output-dir -D --dump-header -c --cookie-jar --trace --trace-ascii --libcurl --stderr --unix-socket --abstract-unix-socket --proxy -x --resolve --connect-to --netrc -n --etag-save --hsts --alt-svc --preproxy --engine`)},
		"wget":     {options: strings.Fields(`--use-askpass -e --execute --config -O --output-document -o --output-file -a --append-output -P --directory-prefix -i --input-file --post-file --body-file`)},
		"zip":      {options: strings.Fields(`-T -TT --test --unzip-command`)},
		"cpio":     {options: strings.Fields(`--rsh-command -F --file -H`), chars: ":"},
		"gcc":      {options: strings.Fields(`-B -specs -wrapper -fplugin --specs`), chars: "@"},
		"cc":       {options: strings.Fields(`-B -specs -wrapper -fplugin --specs`), chars: "@"},
		"clang":    {options: strings.Fields(`-B -fplugin --config -Xclang`), chars: "@"},
		"g++":      {options: strings.Fields(`-B -specs -wrapper -fplugin --specs`), chars: "@"},
		"test":     {chars: "[`$", options: strings.Fields("-v -R")},
		"[":        {chars: "[`$", options: strings.Fields("-v -R")},
		"printf":   {options: []string{"-v"}, chars: "`"},
		"wait":     {options: []string{"-p"}},
		"cd":       {inside: true},
		"pushd":    {inside: true},
		"yq":       {options: strings.Fields("-i --inplace --from-file"), chars: "("},
		"bat":      {options: strings.Fields("--pager --config-file --diff")},
		"ctags":    {options: strings.Fields("--options --_xformat -o -f")},
		"pytest":   {options: strings.Fields("-p -c --config-file --rootdir --override-ini -o --confcutdir")},
		"date":     {options: strings.Fields("-s --set")},
		"hostname": {options: strings.Fields("-F --file")},
		"tee":      {inside: true},
		"split":    {options: []string{"--filter"}},
		"shuf":     {options: strings.Fields("-o --output")},
		"iconv":    {options: strings.Fields("-o --output")},
		"tree":     {options: []string{"-o"}},
		"unzip":    {options: []string{"-d"}},
		"hg":       {options: strings.Fields("--config --config-file -R --repository --cwd")},
		"svn":      {options: strings.Fields("--config-option --config-dir --diff-cmd --diff3-cmd --editor-cmd")},
		"ip":       {options: strings.Fields("netns vrf -b -batch -force"), words: true},
		"tcpdump":  {options: strings.Fields("-z -w")},
		"openssl":  {options: strings.Fields("-engine -provider -provider-path -config -out -passin -passout"), words: true},
		"rspec":    {options: strings.Fields("-r --require -I -O --options -o --out")},
		"prettier": {options: strings.Fields("--plugin --config")},
		"eslint":   {options: strings.Fields("-c --config --plugin --rulesdir --parser -f --format --resolve-plugins-relative-to -o --output-file")},
	}
}

// builders are the programs that build, install and deploy.
func builders() map[string]program {
	return map[string]program{
		"make":  {options: strings.Fields(`--eval -E -f --file --makefile -C --directory -I --include-dir`), chars: "="},
		"ninja": {options: strings.Fields(`-C -f -t`)},
		"cmake": {options: strings.Fields(`-E -P -C --build -D`)},
		"go": {sub: true, words: true, options: strings.Fields(`-exec -toolexec -vettool -overlay -modfile -ldflags -gccgoflags -compiler -C -o -outputdir -coverprofile -cpuprofile
			-memprofile -blockprofile -mutexprofile -trace -test.coverprofile -test.cpuprofile -test.memprofile -test.blockprofile
			-test.mutexprofile -test.trace -test.outputdir -test.gocoverdir -test.fuzzcachedir env tool generate run get install clean mod work`)},
		"cargo":   {sub: true, options: strings.Fields(`--config -Z -C --manifest-path run install --target-dir --out-dir`), chars: "+"},
		"npm":     {sub: true, options: strings.Fields(`exec x run run-script start restart stop explore edit config set install i ci add --script-shell --prefix -C --node-options --userconfig --globalconfig --workspace`)},
		"pnpm":    {sub: true, options: strings.Fields(`exec x dlx run start install i add config --script-shell --dir -C --prefix`)},
		"yarn":    {sub: true, options: strings.Fields(`exec dlx run node start install add config --cwd`)},
		"pip":     {sub: true, options: strings.Fields(`install config --global-option --config-settings --index-url --extra-index-url --python --target`)},
		"pip3":    {sub: true, options: strings.Fields(`install config --global-option --config-settings --index-url --extra-index-url --python --target`)},
		"uv":      {sub: true, options: strings.Fields(`run tool pip sync add --directory --project`)},
		"poetry":  {sub: true, options: strings.Fields(`run shell install add self`)},
		"bundle":  {sub: true, options: strings.Fields(`exec install config`)},
		"docker":  {sub: true, options: strings.Fields(`run exec create cp build compose buildx plugin context -v --volume --mount --privileged -H --host --config --context`)},
		"podman":  {sub: true, options: strings.Fields(`run exec create cp build compose machine unshare -v --volume --mount --privileged --url`)},
		"kubectl": {sub: true, options: strings.Fields(`exec cp run proxy port-forward plugin debug attach edit --kubeconfig --server -s`)},
		"rustc":   {options: strings.Fields("-C --codegen -Z -o --out-dir --sysroot"), chars: "@"},
		"mvn":     {options: strings.Fields("-f --file -s --settings -gs -D --define"), chars: ":"},
		"gradle":  {options: strings.Fields("-I --init-script -b --build-file -p --project-dir -c --settings-file -g -D -P")},
		"just":    {options: strings.Fields("-f --justfile -d --working-directory --shell --shell-arg --command -c --set --chooser --dotenv-path")},
		"apt":     {options: strings.Fields("-o --option -c --config-file")},
		"dpkg":    {options: strings.Fields("--pre-invoke --post-invoke --root --instdir --admindir")},
		"gh":      {sub: true, options: strings.Fields(`alias extension config api auth codespace`)},
	}
}

// programOf finds a program by the last part of its path, a version behind its name left out.
func programOf(name string) program {
	base := path.Base(name)
	if p, ok := programs()[base]; ok {
		return p
	}
	short := strings.TrimRight(base, "0123456789.-")
	if p, ok := programs()[short]; ok && short != "" {
		return p
	}
	return programs()[strings.TrimSuffix(strings.ToLower(base), ".exe")]
}

// risky finds the first of words that must not stand under a "*"; "" when there is none. first is
// set where the first of them is in the subcommand's place.
func (p program) risky(words []shelltext.Word, first bool) string {
	for i, w := range words {
		t := w.Text
		switch {
		case !w.Literal && (!w.Tame || p.chars != "" || p.inside):
			return "an expansion"
		case !w.Literal || t == "":
		case p.bundle && first && i == 0 && t[0] != '-' && p.risky([]shelltext.Word{{Text: "-" + t, Literal: true}}, false) != "":
			return t
		case p.chars != "" && strings.ContainsAny(t, p.chars) && !(t == "]" && i == len(words)-1),
			p.inside && !below(t),
			p.sub && strings.Contains(t, "ext::"),
			slices.ContainsFunc(p.options, func(o string) bool { return p.is(t, o, first && i == 0) }):
			return t
		}
	}
	return ""
}

// below says whether a path is a name that leads downwards.
func below(w string) bool {
	return w[0] != '/' && w[0] != '-' && w[0] != '~' && !slices.Contains(strings.Split(w, "/"), "..")
}

// is says whether a word is an option, in any of the ways in which it may be written.
func (p program) is(w, option string, first bool) bool {
	name, _, _ := strings.Cut(w, "=")
	switch {
	case strings.HasPrefix(option, "--"):
		return len(name) > 2 && strings.HasPrefix(name, "--") && strings.HasPrefix(option, name)
	case strings.HasPrefix(option, "-") && len(option) == 2 && !p.words:
		return len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.IndexByte(name, option[1]) > 0
	case strings.HasPrefix(option, "-"):
		return name == option || name == "-"+option
	}
	return w == option && (first || !p.sub)
}

// codeOptions are those of a program's options that run commands, for rules that restrict. It is
// read only.
var codeOptions = map[string]string{
	"find": "-exec -execdir -ok -okdir", "gfind": "-exec -execdir -ok -okdir", "fd": "-x --exec -X --exec-batch", "fdfind": "-x --exec -X --exec-batch",
	"rg": "--pre --hostname-bin", "tar": "--checkpoint-action --use-compress-program -I --to-command --rsh-command --rmt-command --info-script --new-volume-script -F",
	"gtar": "--checkpoint-action --use-compress-program -I --to-command --rsh-command --rmt-command --info-script --new-volume-script -F",
	"git":  "-c --exec-path --config-env --upload-pack --receive-pack --exec -x --extcmd --open-files-in-pager --paginate --config --git-dir foreach run ext::",
	"sort": "--compress-program", "rsync": "-e --rsh --rsync-path", "scp": "-S -o", "zip": "-TT --unzip-command", "make": "--eval -E",
	"gmake": "--eval -E", "go": "-exec -toolexec -vettool", "cpio": "--rsh-command", "cargo": "--config", "npm": "exec x --script-shell",
	"pnpm": "exec x dlx --script-shell", "yarn": "exec dlx", "docker": "run exec", "podman": "run exec", "uv": "run", "poetry": "run", "bundle": "exec",
	"kubectl": "exec", "bat": "--pager", "ag": "--pager", "wget": "--use-askpass -e --execute", "patch": "-e --ed", "gh": "alias",
}

// code says whether one of the words is an option by which the program runs commands.
func (p program) code(name string, words []shelltext.Word) bool {
	for _, o := range strings.Fields(codeOptions[name]) {
		for _, w := range words {
			if w.Literal && w.Text != "" && (p.is(w.Text, o, true) || strings.HasSuffix(o, "::") && strings.Contains(w.Text, o)) {
				return true
			}
		}
	}
	return false
}

// gitOptions are those of git's options that are harmless behind some subcommands, and words that
// are themselves subcommands.
var gitOptions = map[string]string{
	"rebase": "-x -i", "clone": "-u -c", "grep": "-O", "archive": "-o", "format-patch": "-o", "am": "-i", "add": "-i -e -p",
	"commit": "-t -e -p", "stash": "-p", "checkout": "-p", "reset": "-p", "restore": "-p", "clean": "-i", "diff": "-O", "log": "-O",
	"show": "-O", "submodule": "foreach", "bisect": "run",
}

// riskyGit is risky for what depends on the subcommand. It may be among the words of the rule or
// the first one after.
func riskyGit(before []string, words []shelltext.Word) string {
	if len(words) > 0 {
		before = append(slices.Clone(before), words[0].Text)
	}
	for _, b := range before {
		for _, o := range strings.Fields(gitOptions[b]) {
			for _, w := range words {
				if w.Literal && (program{}).is(w.Text, o, true) {
					return w.Text
				}
			}
		}
	}
	return ""
}
