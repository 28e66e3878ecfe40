package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// probeTime bounds a try. It takes some milliseconds; a machine under load may take longer.
const probeTime = 20 * time.Second

// Probe finds out whether sandbox-exec confines by trying it: a command that reads must not make a
// file, and one that writes must make one in its workspace and none beside it.
func Probe(string) Support {
	const full = "a full command can read the state folder: nothing confines it on this system"
	if why := trySeatbelt(); why != nil {
		return Support{Missing: []string{fmt.Sprintf("sandbox-exec does not confine commands here: %v", why), full}}
	}
	return Support{Seatbelt: true, Missing: []string{full}}
}

func trySeatbelt() (err error) {
	dir, err := os.MkdirTemp("", "agent-probe-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	inside, outside := filepath.Join(dir, "workspace"), filepath.Join(dir, "beside")
	if err := os.Mkdir(inside, 0o700); err != nil {
		return err
	}
	const script = `(: >"$1/file") 2>/dev/null; (: >"$2") 2>/dev/null; echo ran`
	for _, a := range []Access{Read, Write} {
		ctx, cancel := context.WithTimeout(context.Background(), probeTime)
		cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script, "sh", inside, outside)
		p := Profile{Access: a, Support: Support{Seatbelt: true}, Workspace: inside}
		if err = p.Wrap(cmd, ""); err == nil {
			var out []byte
			if out, err = cmd.CombinedOutput(); err == nil && !bytes.HasSuffix(out, []byte("ran\n")) {
				err = fmt.Errorf("it printed %q", out)
			}
		}
		cancel()
		if err != nil {
			return err
		}
		_, in := os.Stat(filepath.Join(inside, "file"))
		if _, out := os.Stat(outside); out == nil || (in == nil) != (a == Write) {
			return fmt.Errorf("access %s is not kept to", a)
		}
	}
	return nil
}

// Wrap has cmd start confined, by sandbox-exec, which becomes the command: streams, extra files and
// the end are the command's own. Where nothing confines, cmd is left as it is.
func (p Profile) Wrap(cmd *exec.Cmd, _ string) error {
	if err := p.check(); err != nil {
		return fmt.Errorf("confine the command: %w", err)
	}
	if cmd.Err != nil {
		return fmt.Errorf("confine the command: %w", cmd.Err)
	}
	if !p.Confines() {
		return nil
	}
	for _, arg := range append([]string{cmd.Path}, cmd.Args...) {
		if strings.IndexByte(arg, 0) >= 0 {
			return errors.New("confine the command: an argument holds a NUL byte")
		}
	}
	env := cmd.Env
	if env == nil {
		env = os.Environ()
	}
	cmd.Args = p.seatbeltArgs(cmd.Path, cmd.Args)
	cmd.Path, cmd.Env = seatbeltPath, p.environ(env)
	return nil
}

// WrapReported is Wrap: no process stands between, so nothing has to be reported.
func (p Profile) WrapReported(cmd *exec.Cmd, exe string) (*Report, error) {
	return nil, p.Wrap(cmd, exe)
}
