//go:build !portable

package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// probeTime bounds a try. It takes some milliseconds; a machine under load may take longer.
const probeTime = 20 * time.Second

// Probe finds out what this system can enforce by trying it: exe is this binary. It takes as long
// as a few starts of a process.
func Probe(exe string) Support {
	if os.Getenv(inside) != "" {
		return Support{Missing: []string{"this is a sandbox's own process"}}
	}
	s := Support{Landlock: landlockABI(), Seccomp: auditArch != 0}
	if s.Landlock == 0 {
		s.Missing = append(s.Missing, "the kernel has no Landlock: it needs Linux 5.13 with landlock among the security modules (lsm=…); "+
			"without it a command with access read can write to a FIFO, so it counts as one that may change anything")
	} else if s.Landlock < abiScopes {
		s.Missing = append(s.Missing, fmt.Sprintf("Landlock ABI %d: from 6 on (Linux 6.12) it confines signals too", s.Landlock))
	}
	if !s.Seccomp {
		s.Missing = append(s.Missing, "there is no filter of system calls for "+runtime.GOARCH+": amd64 and arm64 have one")
	}
	tried := s
	tried.Namespaces, tried.Hiding = true, true
	// For an ordinary user full commands are the same, and less; for root another way, which is
	// tried beside the first.
	root := os.Geteuid() == 0
	full := make(chan string, 1)
	if root {
		go func() { full <- try(exe, Profile{Access: Full, Support: tried}) }()
	}
	if why := try(exe, Profile{Access: Read, Support: tried}); why != "" {
		s.Missing = append(s.Missing, "no namespaces for commands that read or write: "+why+remedy(why))
	} else {
		s.Namespaces = true
	}
	if !s.Namespaces && s.Landlock > 0 {
		if why := try(exe, Profile{Access: Read, Support: s}); why != "" {
			s.Landlock, s.Seccomp = 0, false
			s.Missing = append(s.Missing, "Landlock and filters of system calls cannot be used: "+why)
		}
	}
	s.Hiding = s.Namespaces
	if root {
		if why := <-full; why != "" {
			s.Hiding = false
			s.Missing = append(s.Missing, "no namespaces for full commands: "+why+remedy(why))
		} else {
			s.Hiding = true
		}
	}
	if !s.Hiding {
		s.Missing = append(s.Missing, "a full command can read the state folder")
	}
	return s
}

// try sets a sandbox up and starts nothing in it. It returns why that did not work.
func try(exe string, p Profile) string {
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe)
	cmd.Path, cmd.Env = "", []string{}
	var out bytes.Buffer
	cmd.Stderr = &out
	err := p.Wrap(cmd, exe)
	if err == nil {
		err = cmd.Run()
	}
	if err == nil {
		return ""
	}
	said := strings.TrimPrefix(strings.TrimSpace(out.String()), "agent: set up the sandbox for access ")
	if said == "" {
		said = err.Error()
	}
	if len(said) > 300 {
		said = said[:300]
	}
	return said
}

// remedy says how to get namespaces where a setting keeps them.
func remedy(string) string {
	for _, s := range []struct{ file, bad, say string }{
		{"/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
			"sysctl kernel.apparmor_restrict_unprivileged_userns=0 gives them, or an AppArmor profile for this binary with userns"},
		{"/proc/sys/kernel/unprivileged_userns_clone", "0", "sysctl kernel.unprivileged_userns_clone=1 gives them"},
		{"/proc/sys/user/max_user_namespaces", "0", "sysctl user.max_user_namespaces=10000 gives them"},
	} {
		b, err := os.ReadFile(s.file)
		if err == nil && strings.TrimSpace(string(b)) == s.bad {
			return "; " + s.say
		}
	}
	return "; inside a container its settings decide"
}
