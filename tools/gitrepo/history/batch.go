package history

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"

	"agent/tools/gitrepo/objects"
)

// Bounds of questions to one git.
const (
	atOnce  = 64       // ids: their lines fit into a pipe, so that nobody waits for the other
	passOut = 16 << 20 // bytes of an object that are read over; a larger one ends git
)

// batch is a git that answers until it is closed.
type batch struct {
	cmd    *exec.Cmd
	stop   context.CancelFunc
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *limited
}

// object is what a repository has under an id.
type object struct {
	id, kind string // kind is "" where it is missing
	large    bool   // content was not read
	content  []byte
}

// each reads objects, in the order of their ids; those of more than so many bytes are not read to
// the end. What is not what its id says counts as missing.
func (rd *Reader) each(ctx context.Context, ids []string, limit int64, visit func(object)) error {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	rd.mutex.Lock()
	defer rd.mutex.Unlock()
	for len(ids) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		done, err := rd.some(ctx, ids[:min(len(ids), atOnce)], limit, visit)
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		ids = ids[done:]
	}
	return nil
}

// some reads as many as it can before git has to be started anew.
func (rd *Reader) some(ctx context.Context, ids []string, limit int64, visit func(object)) (done int, err error) {
	var asked strings.Builder
	for _, id := range ids {
		if idOf(id, rd.repo) != "" {
			asked.WriteString(id + "\n")
		}
	}
	if rd.git == nil {
		if err := rd.start(); err != nil {
			return 0, err
		}
	}
	git := rd.git
	end := context.AfterFunc(ctx, git.stop)
	whole := true
	if _, err = io.WriteString(git.in, asked.String()); err != nil {
		err = fmt.Errorf("ask git: %w", err)
	}
	for _, id := range ids {
		if err != nil || !whole {
			break
		}
		o := object{id: id}
		if idOf(id, rd.repo) != "" {
			o, whole, err = git.answer(id, limit)
		}
		if err == nil {
			if o.kind != "" && !o.large && objects.ID(o.kind, o.content, rd.repo.SHA256) != id {
				o = object{id: id}
			}
			visit(o)
			done++
		}
	}
	if !end() || !whole || err != nil {
		rd.stop() // it was ended, or what it would say next is of these questions
	}
	if err != nil {
		err = fmt.Errorf("%w%s", err, because(git.stderr.String()))
	}
	return done, err
}

func (rd *Reader) start() error {
	if err := storesAreFiles(rd.repo); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	cmd, err := command(ctx, rd.dir, "cat-file", "--batch")
	if err != nil {
		stop()
		return err
	}
	stderr := &limited{limit: maxErrors}
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	var out io.ReadCloser
	if err == nil {
		out, err = cmd.StdoutPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		stop()
		return fmt.Errorf("start git: %w", err)
	}
	rd.git = &batch{cmd, stop, in, bufio.NewReaderSize(out, 64<<10), stderr}
	return nil
}

// stop ends git, if it runs.
func (rd *Reader) stop() {
	if rd.git == nil {
		return
	}
	rd.git.in.Close() // it only asks for more
	rd.git.stop()
	rd.git.cmd.Wait() // it was killed, which is no error here
	rd.git = nil
}

// answer reads one object. whole says that git can be asked on.
func (b *batch) answer(id string, limit int64) (o object, whole bool, err error) {
	o.id = id
	line, err := b.out.ReadString('\n')
	if err != nil {
		return o, false, fmt.Errorf("read git's answer: %w", err)
	}
	words := strings.Fields(line)
	if len(words) == 2 && words[0] == id && words[1] == "missing" {
		return o, true, nil
	}
	size := int64(-1)
	if len(words) == 3 && words[0] == id {
		size, err = strconv.ParseInt(words[2], 10, 64)
	}
	if err != nil || size < 0 {
		return o, false, fmt.Errorf("read git's answer: it is %.100q", line)
	}
	o.kind = words[1]
	switch {
	case size <= limit:
		o.content = make([]byte, size+1)
		if _, err := io.ReadFull(b.out, o.content); err != nil {
			return o, false, fmt.Errorf("read git's answer: %w", err)
		}
		o.content = o.content[:size]
	case size > passOut:
		o.large = true
		return o, false, nil
	default:
		o.large = true
		if _, err := io.CopyN(io.Discard, b.out, size+1); err != nil {
			return o, false, fmt.Errorf("read git's answer: %w", err)
		}
	}
	return o, true, nil
}

// Blob reads a blob of at most so many bytes: ErrMissing, ErrTooLarge. What it returns has the id
// that was asked for.
func (rd *Reader) Blob(ctx context.Context, id string, limit int64) (content []byte, err error) {
	wrong := ErrMissing
	err = rd.each(ctx, []string{id}, limit, func(o object) {
		switch {
		case o.kind == "":
		case o.kind != "blob":
			wrong = errors.New("it is no blob")
		case o.large:
			wrong = ErrTooLarge
		default:
			content, wrong = o.content, nil
		}
	})
	if err == nil {
		err = wrong
	}
	if err != nil {
		return nil, fmt.Errorf("read blob %.64s of %s: %w", id, rd.repo.Common, err)
	}
	return content, nil
}
