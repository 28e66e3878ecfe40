//go:build linux && !portable

package sandbox_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"agent/tools/sandbox"
)

// row is one thing that a command may try. r, w and f say whether it works with access read, write
// and full; a capital letter in root says where it works for root only.
type row struct {
	name    string
	script  string
	r, w, f bool
}

const yes, no = true, false

// rows is the matrix of trials of the design: each script succeeds only if what it tries worked.
func rows(v servers) []row {
	return []row{
		{"write inside", "echo hi > w1 && cat w1", no, yes, yes},
		{"make, rename and link inside", "mkdir d && echo y > w3 && mv w3 d/w2 && ln d/w2 d/w4 && rm d/w4", no, yes, yes},
		{"read outside", "cat $OUTSIDE/secret", yes, yes, yes},
		{"read the system's files", "head -c 4 /etc/passwd", yes, yes, yes},
		{"write outside", "echo x > $OUTSIDE/new", no, no, yes},
		{"append outside", "echo x >> $OUTSIDE/secret", no, no, yes},
		{"truncate outside", "truncate -s 0 $OUTSIDE/secret", no, no, yes},
		{"remove outside", "rm -f $OUTSIDE/secret", no, no, yes},
		{"write by a link", "echo x > link/new", no, no, yes},
		{"rename to the outside", "mv -n in $OUTSIDE/in && ! test -e in", no, no, yes},
		{"hard link from the outside, then write", "ln $OUTSIDE/secret hl && echo x >> hl", no, no, yes},
		{"chmod outside", "chmod 644 $OUTSIDE/secret", no, no, yes},
		{"set times outside", "touch -c -d 2001-01-01 $OUTSIDE/secret", no, no, yes},
		{"chmod inside", "chmod 640 in", no, yes, yes},
		{"/dev/null", "echo x > /dev/null", yes, yes, yes},
		{"write in the root", "f=$(mktemp -p /) && rm $f", no, no, os.Geteuid() == 0},
		{"TCP connect", "$TRY dial tcp " + v.tcp, no, no, yes},
		{"MPTCP connect", "$TRY dial mptcp " + v.tcp, no, no, yes},
		{"UDP send", "$TRY dial udp " + v.udp, no, no, yes},
		{"socket at a path outside", "$TRY dial unix " + v.path, no, no, yes},
		{"socket at a path, by a pair of datagram sockets", "$TRY datagram " + v.datagram, no, no, yes},
		{"abstract socket", "$TRY dial unix " + v.abstract, no, no, yes},
		{"listen on the loopback and connect to it", "$TRY serve", yes, yes, yes},
		{"signal the host", "kill -0 $HOST", no, no, no},
		{"read the host's environment", "cat /proc/$HOST/environ", no, no, no},
		{"write outside by a grandchild", `bash -c "bash -c 'echo x > $OUTSIDE/gc'"`, no, no, yes},
		{"be able to gain privileges", "grep -q '^NoNewPrivs:.0' /proc/self/status", no, no, yes},
		{"mount", "mount -t tmpfs t $OUTSIDE", no, no, os.Geteuid() == 0},
		{"mount in a user namespace of its own", "unshare -Urm mount -t tmpfs t $OUTSIDE", no, no, yes},
		{"scratch file", "a=$(mktemp) && b=$(mktemp -p ${TMPDIR:-/tmp}) && echo y > $b && cat $b && rm $a $b", yes, yes, yes},
		{"pair of sockets", "$TRY socket pair", yes, yes, yes},
		{"packet socket", "$TRY socket packet", no, no, os.Geteuid() == 0},
		{"vsock", "$TRY socket vsock", no, no, yes},
		{"kernel crypto socket", "$TRY socket alg", no, no, yes},
		{"netlink for addresses", "$TRY socket route", yes, yes, yes},
		{"netlink for others", "$TRY socket uevent", no, no, yes},
		{"io_uring", "$TRY call io_uring", no, no, yes},
		{"the keyrings", "$TRY call keyctl", no, no, yes},
		{"write a setting of the kernel", "cat /proc/sys/kernel/domainname > /proc/sys/kernel/domainname", no, no, os.Geteuid() == 0},
		{"open a disk", "ls /dev/[vs]d* /dev/nvme* 2>/dev/null | grep -q .", no, no, yes},
		{"see other processes", "test $(ls -d /proc/[0-9]* | wc -l) -gt 12", no, no, no},
	}
}

// TestMatrix carries out every trial with every access. Controls S7, S13.
func TestMatrix(t *testing.T) {
	landlock := newScene(t).support.Landlock // skips where nothing can be confined
	for _, a := range sandbox.Accesses() {
		t.Run(string(a), func(t *testing.T) { matrix(t, a, landlock) })
		t.Run(string(a)+"/without Landlock", func(t *testing.T) {
			onlyWhole(t)
			matrix(t, a, 0)
		})
	}
}

// matrix carries out every trial with one access. Without Landlock the namespaces and the filter
// have to do.
func matrix(t *testing.T, a sandbox.Access, landlock int) {
	s := newScene(t)
	s.support.Landlock = landlock
	v := listen(t, s)
	for _, r := range rows(v) {
		s.reset()
		want := map[sandbox.Access]bool{sandbox.Read: r.r, sandbox.Write: r.w, sandbox.Full: r.f}[a]
		if a == sandbox.Full && skipped(r.name) {
			continue
		}
		out, err := s.run(s.profile(a), r.script)
		if (err == nil) != want {
			t.Errorf("%s: worked %v, want %v: %v %s", r.name, err == nil, want, err, out)
		}
		if a != sandbox.Full {
			s.untouched(r.name)
		}
	}
	s.kept()
}

// skipped names what a system may lack without a sandbox too.
func skipped(name string) bool {
	switch name {
	case "vsock", "kernel crypto socket", "io_uring", "open a disk", "MPTCP connect", "mount in a user namespace of its own", "the keyrings":
		return true
	}
	return false
}

func (s *scene) reset() {
	s.t.Helper()
	for _, dir := range []string{s.work, s.outside} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, e := range entries {
			if e.Type()&os.ModeSocket == 0 {
				if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
					s.t.Fatal(err)
				}
			}
		}
	}
	s.put(s.outside+"/secret", "secret\n")
	s.put(s.work+"/in", "in\n")
	if err := os.Symlink(s.outside, s.work+"/link"); err != nil {
		s.t.Fatal(err)
	}
}

// untouched looks whether the outside is as reset left it.
func (s *scene) untouched(after string) {
	s.t.Helper()
	info, err := os.Stat(s.outside + "/secret")
	if err != nil || info.Mode() != 0o600 || info.Size() != 7 || info.ModTime().Year() < 2010 {
		s.t.Errorf("after %q the file outside is %v, %v", after, info, err)
	}
	entries, err := os.ReadDir(s.outside)
	if err != nil || len(entries) != 3 {
		s.t.Errorf("after %q the folder outside holds %v, %v", after, entries, err)
	}
}

// kept looks whether the state and the policy are as they were.
func (s *scene) kept() {
	s.t.Helper()
	for path, want := range map[string]string{
		s.state + "/key": "the key\n", s.state + "/agent.db": "the database\n", s.policy + "/config.toml": "mode = \"ask\"\n",
	} {
		if b, err := os.ReadFile(path); err != nil || string(b) != want {
			s.t.Errorf("%s holds %q, %v", path, b, err)
		}
	}
	if entries, err := os.ReadDir(s.policy); err != nil || len(entries) != 1 {
		s.t.Errorf("the policy's folder holds %v, %v", entries, err)
	}
}

// barred are ways to the state folder and to the policy, none of which may work with any access.
// Issue 4, behaviour 1; S7.
func barred(v servers) map[string]string {
	return map[string]string{
		"read the key":                       "cat $STATE/key",
		"read the database":                  "cat $STATE/agent.db",
		"read by a path through the root":    "cat /proc/self/root$STATE/key",
		"read by the folder of the first":    "cat /proc/1/root$STATE/key /proc/1/cwd$STATE/key",
		"read from above":                    "cd $STATE/.. && cat agent/key",
		"find it anywhere":                   "grep -rqs 'the key' $HOME $HOME/.local $STATE",
		"connect to its socket":              "$TRY dial unix " + v.state,
		"write into it":                      "echo x > $STATE/key",
		"make something in it":               "touch $STATE/inbox",
		"unmount what hides it":              "umount $STATE && cat $STATE/key",
		"unmount lazily":                     "umount -l $STATE && cat $STATE/key",
		"unmount in a namespace":             "unshare -Urm sh -c 'umount $STATE; cat $STATE/key'",
		"bind what lies below":               "unshare -Urm sh -c 'mkdir -p m; mount --bind / m; cat m$STATE/key'",
		"move it away":                       "mv $STATE $STATE.old",
		"move the folder above away":         "mv $HOME/.local/state $HOME/.local/other",
		"move the one above that away":       "mv $HOME/.local $HOME/other",
		"remove it":                          "rm -rf $STATE && ! test -d $STATE",
		"write the policy":                   "echo 'mode = \"yolo\"' > $POLICY/config.toml",
		"append to the policy":               "echo x >> $POLICY/config.toml",
		"make what is missing of it":         "echo x > $POLICY/mcp.json",
		"replace the policy":                 "echo x > new && mv new $POLICY/config.toml",
		"remove the policy":                  "rm $POLICY/config.toml",
		"move the policy's folder":           "mv $POLICY $POLICY.old",
		"move the folder above the policy":   "mv $HOME/.config $HOME/.other",
		"write it by a link":                 "ln -s $POLICY p && echo x > p/config.toml",
		"write it by a hard link":            "ln $POLICY/config.toml hl && echo x > hl",
		"change the rights of the policy":    "chmod 666 $POLICY/config.toml",
		"exchange the folder above it":       "mkdir -p $HOME/.c2/agent && mv --exchange -T $HOME/.c2 $HOME/.config",
		"trace the confining process":        "cat /proc/1/maps",
		"end the confining process":          "kill -9 1 && for i in $(seq 100); do kill -0 1 || exit 0; sleep 0.01; done; exit 1",
		"report as the confining process":    "for f in /proc/1/fd/*; do echo 'ended 0' > $f && exit 0; done 2>/dev/null; exit 1",
		"read the order of the sandbox":      "tr '\\0' '\\n' < /proc/1/environ | grep -q HOME",
		"signal every process of the user":   "kill -0 $HOST",
		"read a file that the host has open": "cat /proc/$HOST/fd/*",
	}
}

// rootOnly are barred for everyone but root with access full, who keeps the powers of root: whoever
// may mount may unmount.
func rootOnly(name string) bool {
	switch name {
	case "unmount what hides it", "unmount lazily", "unmount in a namespace", "bind what lies below", "trace the confining process",
		"report as the confining process", "move the policy's folder":
		return os.Geteuid() == 0
	}
	return false
}

func TestBarred(t *testing.T) {
	newScene(t)
	for _, a := range sandbox.Accesses() {
		for _, home := range []bool{false, true} { // the home itself as workspace: it contains the state and the policy
			t.Run(fmt.Sprintf("%s/home=%v", a, home), func(t *testing.T) {
				if home != (a == sandbox.Write) {
					onlyWhole(t)
				}
				s := newScene(t)
				v := listen(t, s)
				p := s.profile(a)
				if home {
					p.Workspace = s.home
				}
				for name, script := range barred(v) {
					if a == sandbox.Full && rootOnly(name) {
						continue
					}
					if out, err := s.run(p, script); err == nil {
						t.Errorf("%s: it worked: %s", name, out)
					}
					s.kept()
				}
			})
		}
	}
}
