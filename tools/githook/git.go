package githook

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"agent/tools/gitrepo/hooklines"
)

// git runs git as it would be run in the hook. Without a language it has less to read.
func (h Hook) git(ctx context.Context, in []byte, args ...string) ([]byte, error) {
	return h.start(ctx, h.Dir, append(h.Environ, "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C"), in, args)
}

// plain runs a git that belongs to no repository and obeys no file of configuration.
func (h Hook) plain(ctx context.Context, in []byte, args ...string) ([]byte, error) {
	env := []string{"GIT_DIR=" + os.DevNull + "/none", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "HOME=" + os.DevNull, "LC_ALL=C"}
	for _, pair := range h.Environ {
		switch name, _, _ := strings.Cut(pair, "="); name {
		case "PATH", "GIT_EXEC_PATH", "LD_LIBRARY_PATH":
			env = append(env, pair)
		}
	}
	return h.start(ctx, "/", env, in, args)
}

func (h Hook) command(ctx context.Context, dir string, env []string, in []byte, args []string) (*exec.Cmd, error) {
	path, err := lookGit(h.Getenv("PATH"))
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.Env = dir, env
	if in != nil {
		cmd.Stdin = bytes.NewReader(in)
	}
	cmd.WaitDelay = time.Second / 10
	return cmd, nil
}

func (h Hook) start(ctx context.Context, dir string, env []string, in []byte, args []string) ([]byte, error) {
	cmd, err := h.command(ctx, dir, env, in, args)
	if err != nil {
		return nil, err
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("run git %s: %w", args[0], err)
	}
	return out, nil
}

// lookGit finds git as git has it found: its own programs come first there.
func lookGit(path string) (string, error) {
	for dir := range strings.SplitSeq(path, string(os.PathListSeparator)) {
		name := dir + string(os.PathSeparator) + "git"
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && strings.HasPrefix(name, "/") {
			return name, nil
		}
	}
	return "", errors.New("there is no git")
}

// trailers lists the lines of ours in the last block of a message.
func (h Hook) trailers(ctx context.Context, said string) ([]string, error) {
	out, err := h.plain(ctx, []byte(said), "interpret-trailers", "--parse", "--no-divider")
	var found []string
	for line := range strings.Lines(string(out)) {
		if line = strings.TrimSuffix(line, "\n"); hooklines.IsLine(line) {
			found = append(found, line)
		}
	}
	return found, err
}

// add puts the trailer into the message, unless it has one.
func (m message) add(ctx context.Context, said, line string) error {
	var args []string
	title := ""
	if m.edited() {
		is := m.settings(ctx)
		if is.tidy(said) == "" {
			if m.unverified() {
				return nil // nobody would take the trailer away from a message that stays empty
			}
			title = "x" // a line is left for it, and an empty one behind it
		}
		args = append(args, "-c", "core.commentChar="+is.comment)
	}
	said = title + said
	if !strings.HasSuffix(said, "\n") {
		said += "\n" // without it git takes the line for a part of the block
	}
	args = append(args, "interpret-trailers", "--where", "end", "--if-exists", "doNothing", "--if-missing", "add", "--no-divider", "--trailer", line)
	out, err := m.plain(ctx, []byte(said), args...)
	if err != nil {
		return fmt.Errorf("add the trailer: %w", err)
	}
	if !bytes.Contains(out, []byte(line)) {
		return nil // it has another one
	}
	return m.write(bytes.TrimPrefix(out, []byte(title)))
}

// write replaces the message in its file, which is never empty on the way.
func (m message) write(text []byte) error {
	f, err := os.OpenFile(m.file, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write the message: %w", err)
	}
	_, err = f.WriteAt(text, 0)
	if err == nil {
		err = f.Truncate(int64(len(text)))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write the message: %w", err)
	}
	return nil
}

// Objects of no content: of a tree.
const (
	emptyTree1   = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	emptyTree256 = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
)

// staged lists what the index has that HEAD has not.
func (h Hook) staged(ctx context.Context) ([]Staged, error) {
	var out []byte
	var err error
	for _, tree := range []string{"HEAD", emptyTree1, emptyTree256} { // the latter before the first commit
		if out, err = h.git(ctx, nil, "diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules", tree, "--"); err == nil {
			break
		}
	}
	var list []Staged
	fields := strings.Split(string(out), "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		words := strings.Fields(fields[i]) // :MODE MODE ID ID LETTER
		if len(words) == 5 && words[4] != "D" {
			list = append(list, Staged{Path: fields[i+1], Blob: words[3]})
		}
	}
	return list, err
}

// blob reads what git has. One git says how large it is and what it holds; more than the limit is
// not read from it.
func (h Hook) blob(ctx context.Context, id string, limit int64) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd, err := h.command(ctx, h.Dir, append(h.Environ, "GIT_OPTIONAL_LOCKS=0"), []byte(id+"\n"), []string{"cat-file", "--batch"})
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("read blob %.64s: %w", id, err)
	}
	content, err := readBlob(bufio.NewReader(out), limit)
	cancel()
	_ = cmd.Wait() // it was ended, or what it said is whole
	if err != nil {
		return nil, fmt.Errorf("read blob %.64s: %w", id, err)
	}
	return content, nil
}

func readBlob(out *bufio.Reader, limit int64) ([]byte, error) {
	line, err := out.ReadString('\n')
	if err != nil {
		return nil, err
	}
	words := strings.Fields(line)
	if len(words) != 3 || words[1] != "blob" {
		return nil, fmt.Errorf("git answers %.100q", line)
	}
	size, err := strconv.ParseInt(words[2], 10, 64)
	if err == nil && (size < 0 || size > limit) {
		err = errors.New("it is larger than asked for")
	}
	if err != nil {
		return nil, err
	}
	content := make([]byte, size)
	_, err = io.ReadFull(out, content)
	return content, err
}
