package history

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"
)

// maxPatches bounds the differences that one question may come to, in bytes.
const maxPatches = 512 << 20

// PatchIDs are ids of what commits change, by commit: equal where two commits change the same lines
// of the same files in the same surroundings, wherever in the file. They are what git patch-id
// --verbatim makes of git diff-tree -p (lines count to the byte, and so do modes, and the blobs of
// what is not compared by lines), but other numbers: those of git differ by its version, of these
// the caller keeps a record. A merge, an empty commit, and one that is gone, or whose parent or
// content is, has none.
func (rd *Reader) PatchIDs(ctx context.Context, ids []string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	all := map[string]string{}
	ids = rd.memory.patchesOf(ids, all)
	single, err := rd.singles(ctx, ids)
	if err == nil {
		err = rd.patches(ctx, single, all)
	}
	if err != nil {
		return nil, fmt.Errorf("work out what %d commits of %s change: %w", len(ids), rd.repo.Common, err)
	}
	rd.memory.patched(ids, all)
	return all, nil
}

// RangePatchID is the id of what lies between two commits, as if it were one commit; "" where there
// is nothing. Without a first commit it is all that the second one holds.
func (rd *Reader) RangePatchID(ctx context.Context, from, to string) (string, error) {
	if from == "" {
		from = rd.emptyTree()
	}
	all := map[string]string{}
	err := rd.diff(ctx, strings.NewReader(""), all, "diff-tree", "-p", "--end-of-options", from, to)
	if err != nil {
		return "", fmt.Errorf("work out what lies between %.64s and %.64s of %s: %w", from, to, rd.repo.Common, err)
	}
	return all[""], nil
}

func (rd *Reader) emptyTree() string {
	if rd.repo.SHA256 {
		return "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
	}
	return "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
}

// singles are those of the commits that are there, with their one parent or none.
func (rd *Reader) singles(ctx context.Context, ids []string) ([]string, error) {
	commits, _, err := rd.Commits(ctx, ids)
	if err != nil {
		return nil, err
	}
	var parents []string
	for _, c := range commits {
		if len(c.Parents) == 1 {
			parents = append(parents, c.Parents[0])
		}
	}
	_, missing, err := rd.Commits(ctx, parents)
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{}
	for _, id := range missing {
		gone[id] = true
	}
	var single []string
	for _, id := range ids {
		c, ok := commits[id]
		if ok && (len(c.Parents) == 0 || len(c.Parents) == 1 && !gone[c.Parents[0]]) {
			single = append(single, id)
			delete(commits, id) // once is enough
		}
	}
	return single, nil
}

// patches asks for all at once. If git fails, one of them lacks a tree or a blob: then for each
// half, until those are found.
func (rd *Reader) patches(ctx context.Context, ids []string, all map[string]string) error {
	if len(ids) == 0 {
		return nil
	}
	found := map[string]string{}
	err := rd.diff(ctx, strings.NewReader(strings.Join(ids, "\n")+"\n"), found, "diff-tree", "-p", "--stdin", "--root")
	switch {
	case err == nil:
		for id, patch := range found {
			all[id] = patch
		}
		return nil
	case ctx.Err() != nil || !errors.Is(err, errDiff):
		return err
	case len(ids) == 1:
		return nil // it has none
	}
	half := len(ids) / 2
	if err := rd.patches(ctx, ids[:half], all); err != nil {
		return err
	}
	return rd.patches(ctx, ids[half:], all)
}

// errDiff: git could not compare, which is not an error of who asks.
var errDiff = errors.New("git ended early")

// diff has git compare, and takes in ids by the commit that stands before a difference, "" where
// none does.
func (rd *Reader) diff(ctx context.Context, in io.Reader, all map[string]string, words ...string) error {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	if err := storesAreFiles(rd.repo); err != nil {
		return err
	}
	words = append([]string{words[0], "-r", "--no-renames", "--full-index", "--no-ext-diff", "--no-textconv", "--no-color", "--unified=3"}, words[1:]...)
	cmd, err := command(ctx, rd.dir, words...)
	if err != nil {
		return err
	}
	stderr := limited{limit: maxErrors}
	cmd.Stdin, cmd.Stderr = in, &stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("start git: %w", err)
	}
	read := &io.LimitedReader{R: out, N: maxPatches}
	wrong := patchesOf(bufio.NewReaderSize(read, 64<<10), all)
	if read.N == 0 {
		wrong = fmt.Errorf("read git's answer: %w", ErrTooLarge)
	}
	if wrong != nil {
		cancel() // it may have more to say
	}
	err = cmd.Wait()
	switch {
	case wrong != nil:
		return fmt.Errorf("%w: %w", errDiff, wrong)
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%w: %w%s", errDiff, err, because(stderr.String()))
	}
	return nil
}

// patch is a difference that is being read.
type patch struct {
	of    string
	sum   hash.Hash
	any   bool
	index string // the line of the blobs, which counts only where the lines do not stand there
}

// patchesOf reads differences as git-diff, "Generating patch text with -p", describes them. A line
// of a file begins with a space, + or -, so none of them looks like one of git's.
func patchesOf(in *bufio.Reader, all map[string]string) error {
	p := patch{sum: sha256.New()}
	starts := true // of a line: long ones come in parts
	for {
		part, err := in.ReadSlice('\n')
		if len(part) > 0 {
			if starts {
				p.line(string(part), all)
			} else {
				p.sum.Write(part)
			}
			starts = err == nil
		}
		if err == io.EOF {
			p.end(all)
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("read git's answer: %w", err)
		}
	}
}

func (p *patch) line(line string, all map[string]string) {
	switch {
	case isID(strings.TrimSuffix(line, "\n")):
		p.end(all)
		*p = patch{of: strings.TrimSuffix(line, "\n"), sum: sha256.New()}
		return
	case strings.HasPrefix(line, "index "):
		p.index = line
		return
	case strings.HasPrefix(line, "@@ "):
		line = "@@\n" // neither where it stands nor what it is below counts
	case strings.HasPrefix(line, "Binary files "):
		io.WriteString(p.sum, p.index)
	}
	p.any = true
	io.WriteString(p.sum, line)
}

func (p *patch) end(all map[string]string) {
	if p.any {
		all[p.of] = hex.EncodeToString(p.sum.Sum(nil))
	}
}
