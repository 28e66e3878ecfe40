package lab

import (
	"fmt"
	"os"
	"path/filepath"
)

// faulty is agent, and each driver that it starts meets a fault that was armed.
const faulty = `#!/bin/sh
case " $* " in
" __drive "* | *" --detach "*)
	for f in %[1]s/armed/*; do
		if mv "$f" %[1]s/used/ 2>/dev/null; then
			export AGENT_FAULT="$(cat "%[1]s/used/${f##*/}")" AGENT_FAULT_UNSAFE=1
			[ "$1" != __drive ] || AGENT_FAULT=${AGENT_FAULT#drive:}
			break
		fi
	done
	;;
esac
exec %[2]s "$@"
`

// FaultyAgent writes a program for workers that is agent; see [Lab.Arm].
func (l *Lab) FaultyAgent() (path string) {
	l.Helper()
	for _, name := range []string{"armed", "used"} {
		if err := os.Mkdir(l.path(name), 0o700); err != nil {
			l.Fatal(err)
		}
	}
	path = l.path("faulty-agent")
	if err := os.WriteFile(path, fmt.Appendf(nil, faulty, l.Dir, l.Agent), 0o700); err != nil {
		l.Fatal(err)
	}
	return path
}

// AgentBehind writes a program for workers that is agent, behind some lines of a shell, in which
// $agent is the path of the real one.
func (l *Lab) AgentBehind(lines string) (path string) {
	l.Helper()
	path = l.path("agent-behind")
	text := fmt.Sprintf("#!/bin/sh\nagent=%s\n%s\nexec \"$agent\" \"$@\"\n", l.Agent, lines)
	if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
		l.Fatal(err)
	}
	return path
}

// Arm has each of the next drivers of a [Lab.FaultyAgent] end itself at a fault point, or do there
// what stands behind it. Both are named as in AGENT_FAULT.
func (l *Lab) Arm(point string, drivers int) {
	l.Helper()
	for i := range drivers {
		l.write(fmt.Sprintf("armed/%s.%d", point, i), "drive:"+point)
	}
}

// ArmCommand is Arm for the command that starts the next driver.
func (l *Lab) ArmCommand(point string) {
	l.Helper()
	l.write("armed/"+point, point)
}

// Armed is how many of them are still to come.
func (l *Lab) Armed() int {
	l.Helper()
	left, err := filepath.Glob(l.path("armed", "*"))
	if err != nil {
		l.Fatal(err)
	}
	return len(left)
}
