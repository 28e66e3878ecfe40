package objects

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"agent/tools/gitrepo/gitconfig"
)

// Errors of reading.
var (
	ErrMissing  = errors.New("the pin does not have it")
	ErrTooLarge = errors.New("it is larger than asked for")
	errDamaged  = errors.New("what is there is no such blob")
)

// Pin is what Repository.Pin made. It may be used by several at once, and is closed by Close.
type Pin struct {
	dir    string
	sha256 bool

	mutex sync.Mutex
	git   *reader // reads what is packed; nil until it is needed
}

// Open opens a pin.
func Open(dir string) (*Pin, error) {
	dir = filepath.Clean(dir)
	text, err := gitconfig.ReadFile(filepath.Join(dir, "config"), maxLine)
	if err == nil && string(text) != pinConfig && string(text) != pinSHA256 {
		err = errors.New("it is no pin")
	}
	if err != nil {
		return nil, fmt.Errorf("open the pin %s: %w", dir, err)
	}
	return &Pin{dir: dir, sha256: string(text) == pinSHA256}, nil
}

// Close ends what reads for the pin.
func (p *Pin) Close() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.stop()
	return nil
}

// Read reads a blob of at most so many bytes: ErrMissing, ErrTooLarge. What it returns has the id
// that was asked for.
func (p *Pin) Read(ctx context.Context, id string, limit int64) ([]byte, error) {
	content, err := p.read(ctx, id, limit)
	if err == nil && BlobID(content, p.sha256) != id {
		err = errDamaged
	}
	if err != nil {
		return nil, fmt.Errorf("read blob %.64s from the pin %s: %w", id, p.dir, err)
	}
	return content, nil
}

func (p *Pin) read(ctx context.Context, id string, limit int64) ([]byte, error) {
	if len(id) != 2*idLength(p.sha256) || !isHex(id) {
		return nil, ErrMissing
	}
	content, err := readLoose(p.file(id), limit)
	if err == nil || errors.Is(err, ErrTooLarge) {
		return content, err
	}
	packed, other := p.readPacked(ctx, id, limit) // also where the loose one is damaged
	if errors.Is(other, ErrMissing) && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return packed, other
}

func (p *Pin) file(id string) string { return filepath.Join(p.dir, "objects", id[:2], id[2:]) }

// maxHeader is the longest header of a loose object: a type, a space, a number and the end.
const maxHeader = 32

// readLoose reads a blob that lies alone in its file.
func readLoose(name string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read from; nothing can be lost
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errDamaged
	}
	z, err := zlib.NewReader(f)
	if err != nil {
		return nil, errDamaged
	}
	b := bufio.NewReaderSize(z, 4096)
	head, _ := b.Peek(maxHeader) // a short one may be whole
	line, _, ok := bytes.Cut(head, []byte{0})
	number, blob := strings.CutPrefix(string(line), "blob ")
	size, err := strconv.ParseInt(number, 10, 64)
	if !ok || !blob || err != nil || size < 0 {
		return nil, errDamaged
	}
	if size > limit {
		return nil, ErrTooLarge
	}
	if _, err := b.Discard(len(line) + 1); err != nil {
		return nil, errDamaged
	}
	content, err := io.ReadAll(io.LimitReader(b, size+1))
	if err != nil || int64(len(content)) != size {
		return nil, errDamaged
	}
	return content, nil
}

// reader is a git that answers for one pin until it is closed.
type reader struct {
	cmd  *exec.Cmd
	stop context.CancelFunc
	in   io.WriteCloser
	out  *bufio.Reader
}

// readPacked asks git, which is kept for the next question.
func (p *Pin) readPacked(ctx context.Context, id string, limit int64) ([]byte, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p.git == nil {
		if err := p.start(); err != nil {
			return nil, err
		}
	}
	end := context.AfterFunc(ctx, p.git.stop)
	content, whole, err := p.git.ask(id, limit)
	if !end() || !whole {
		p.stop() // it was ended, or what it would say next is of this question
	}
	if ctx.Err() != nil && err != nil {
		err = ctx.Err()
	}
	return content, err
}

func (p *Pin) start() error {
	ctx, stop := context.WithCancel(context.Background())
	cmd, err := gitCommand(ctx, p.dir, "cat-file", "--batch")
	if err != nil {
		stop()
		return err
	}
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
	p.git = &reader{cmd: cmd, stop: stop, in: in, out: bufio.NewReaderSize(out, 64<<10)}
	return nil
}

// stop ends git, if it runs.
func (p *Pin) stop() {
	if p.git == nil {
		return
	}
	p.git.stop()
	p.git.in.Close() // it only asks for more
	p.git.cmd.Wait() // it was killed, which is no error here
	p.git = nil
}

// ask reads one object. whole says that the answer was read to its end.
func (r *reader) ask(id string, limit int64) (content []byte, whole bool, err error) {
	if _, err := io.WriteString(r.in, id+"\n"); err != nil {
		return nil, false, fmt.Errorf("ask git: %w", err)
	}
	kind, size, err := r.header(id)
	if err != nil {
		return nil, errors.Is(err, ErrMissing), err
	}
	if size > limit {
		return nil, false, ErrTooLarge
	}
	content = make([]byte, size+1)
	if _, err := io.ReadFull(r.out, content); err != nil {
		return nil, false, fmt.Errorf("read git's answer: %w", err)
	}
	if kind != "blob" {
		return nil, true, errDamaged
	}
	return content[:size], true, nil
}

// header reads the line that begins an answer.
func (r *reader) header(id string) (kind string, size int64, err error) {
	line, err := r.out.ReadString('\n')
	if err != nil {
		return "", 0, fmt.Errorf("read git's answer: %w", err)
	}
	words := strings.Fields(line)
	if len(words) == 2 && words[0] == id && words[1] == "missing" {
		return "", 0, ErrMissing
	}
	if len(words) == 3 && words[0] == id {
		if size, err = strconv.ParseInt(words[2], 10, 64); err == nil && size >= 0 {
			return words[1], size, nil
		}
	}
	return "", 0, fmt.Errorf("git answers %.100q", line)
}

// Has names those of the blobs that the pin does not have. It does not read what they hold.
func (p *Pin) Has(ctx context.Context, ids []string) (missing []string, err error) {
	sizes, err := p.Sizes(ctx, ids)
	for i, size := range sizes {
		if size < 0 {
			missing = append(missing, ids[i])
		}
	}
	return missing, err
}

// Sizes says how many bytes each of the blobs has, as the pin's objects state it; -1 for one that
// the pin does not have.
func (p *Pin) Sizes(ctx context.Context, ids []string) ([]int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	sizes, asked := make([]int64, len(ids)), make([]byte, 0, len(ids)*(2*idLength(p.sha256)+1))
	for i, id := range ids {
		if sizes[i] = -1; len(id) == 2*idLength(p.sha256) && isHex(id) {
			asked, sizes[i] = append(append(asked, id...), '\n'), 0
		}
	}
	if len(asked) == 0 {
		return sizes, nil
	}
	cmd, err := gitCommand(ctx, p.dir, "cat-file", "--batch-check=%(objecttype) %(objectsize)", "--buffer")
	if err != nil {
		return nil, err
	}
	cmd.Stdin = bytes.NewReader(asked)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("have git look into the pin %s: %w", p.dir, err)
	}
	err = answers(out, sizes)
	if err != nil {
		cancel() // of the rest nothing is wanted
	}
	err = errors.Join(err, cmd.Wait())
	if cause := ctx.Err(); cause != nil && err == nil {
		err = cause
	}
	if err != nil {
		return nil, fmt.Errorf("have git look into the pin %s: %w", p.dir, err)
	}
	return sizes, nil
}

// answers reads a line for each size that is asked for, in their order.
func answers(out io.Reader, sizes []int64) error {
	lines := bufio.NewScanner(bufio.NewReaderSize(out, 64<<10))
	for i := range sizes {
		if sizes[i] < 0 {
			continue
		}
		if !lines.Scan() {
			return errors.Join(lines.Err(), io.ErrUnexpectedEOF)
		}
		sizes[i] = -1
		if rest, ok := bytes.CutPrefix(lines.Bytes(), []byte("blob ")); ok {
			if size, err := strconv.ParseInt(string(rest), 10, 64); err == nil && size >= 0 {
				sizes[i] = size
			}
		}
	}
	return nil
}
