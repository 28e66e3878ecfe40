package permission

import (
	"path"
	"slices"
	"strings"
	"sync"

	"agent/tools/shelltext"
)

// kind says what a program does with its arguments. Deny and ask rules look at it; no allow rule
// does, since no list is complete.
type kind int

const (
	plain       kind = iota // nothing is known: its arguments are its own business
	never                   // changes what later words mean, or runs text
	wrapper                 // runs its arguments, or text among them
	interpreter             // runs a script
	language                // carries out text in a language of its own, which can run commands
)

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

// kinds are the programs of which something is known. It is read only.
var kinds = sync.OnceValue(func() map[string]kind {
	m := map[string]kind{}
	for of, list := range map[kind]string{wrapper: wrappers, interpreter: interpreters, never: nevers, language: languages} {
		for _, name := range strings.Fields(list) {
			m[name] = of
		}
	}
	return m
})

// kindOf finds a program by the last part of its path, a version behind its name left out.
func kindOf(name string) kind {
	base := path.Base(name)
	for _, known := range []string{base, strings.TrimRight(base, "0123456789.-"), strings.TrimSuffix(strings.ToLower(base), ".exe")} {
		if k, ok := kinds()[known]; ok {
			return k
		}
	}
	return plain
}

// codeOptions are those of a program's options that run commands. It is read only.
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

// runsCode reports whether one of the words is an option by which a program runs commands.
func runsCode(program string, words []shelltext.Word) bool {
	for _, o := range strings.Fields(codeOptions[program]) {
		if slices.ContainsFunc(words, func(w shelltext.Word) bool {
			return w.Literal && w.Text != "" && (isOption(w.Text, o, program == "go") || strings.HasSuffix(o, "::") && strings.Contains(w.Text, o))
		}) {
			return true
		}
	}
	return false
}

// isOption reports whether a word is an option, in any of the ways in which it may be written:
// "--long" also as an abbreviation and with "=", "-x" also within a cluster, "-long" as it stands
// and with "=". Where long is set, -abc is one option and not three.
func isOption(w, option string, long bool) bool {
	name, _, _ := strings.Cut(w, "=")
	switch {
	case strings.HasPrefix(option, "--"):
		return len(name) > 2 && strings.HasPrefix(name, "--") && strings.HasPrefix(option, name)
	case strings.HasPrefix(option, "-") && len(option) == 2 && !long:
		return len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.IndexByte(name, option[1]) > 0
	case strings.HasPrefix(option, "-"):
		return name == option || name == "-"+option
	}
	return w == option
}
