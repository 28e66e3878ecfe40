package child

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agent/host/drive"
	"agent/recovery"
	"agent/recovery/journal"
	"agent/tools"
	"agent/tools/excerpt"
)

// result is the call's result: the child's last answer, what it left behind, and what it used.
func (d *Delegate) result(ctx context.Context, c tools.Call) (journal.Result, error) {
	s, err := drive.Alone(ctx, d.Process, c.Child)
	if err != nil {
		return journal.Result{}, fmt.Errorf("read run %s: %w", c.Child, err)
	}
	a, err := tools.Decode[arguments](c.Args)
	if err != nil {
		return journal.Result{}, err
	}
	end := EndOf(s)
	r := journal.Result{Outcome: journal.OutcomeOK, Applied: applied(s), Took: s.Active, Child: end}
	var lines []string
	switch s.Status {
	case recovery.StatusFailed:
		r.Outcome = journal.OutcomeError
		lines = append(lines, "the run that carried it out failed: "+s.Final)
	case recovery.StatusCancelled:
		r.Outcome = journal.OutcomeError
		lines = append(lines, "the run that carried it out was "+s.Final)
	default:
		lines = append(lines, s.Final)
		left, missing := outputs(s.Created.Folder, a.Outputs)
		lines = append(lines, left...)
		if missing {
			r.Outcome = journal.OutcomeError
		}
	}
	if n := len(end.Unknown); n > 0 {
		lines = append(lines, fmt.Sprintf("[the outcome of %s of it is unknown: %s]", excerpt.Plural(n, "call", "calls"), strings.Join(end.Unknown, ", ")))
	}
	lines = append(lines, fmt.Sprintf("[run %s: %s, %s]", end.Run, end.Status, excerpt.Plural(end.Turns, "turn", "turns")))
	bound(&r, strings.Join(lines, "\n"), c.ID)
	return r, nil
}

// bound gives a result its text, and where that is long only its beginning and its end.
func bound(r *journal.Result, text, call string) {
	r.Content, r.Size = excerpt.Valid(text), int64(len(text))
	if len(text) <= excerpt.MaxOutput {
		return
	}
	head, tail := excerpt.Head([]byte(text), excerpt.MaxOutput/2), excerpt.Tail([]byte(text), excerpt.MaxOutput/2)
	r.Full = []byte(text)
	r.Content = excerpt.Valid(fmt.Sprintf("%s\n[%d of %d bytes are left out here; read_output with call %s reads them]\n%s",
		head, len(text)-len(head)-len(tail), len(text), call, tail))
}

// EndOf is how a child ended and what it used.
func EndOf(s *recovery.State) *journal.ChildEnd {
	end := &journal.ChildEnd{Run: s.Created.Run, Status: string(s.Status), Turns: len(s.Turns)}
	end.Usage, end.Estimated = s.Used()
	end.Cost, end.Priced = s.Cost()
	for _, c := range s.Undecided() {
		end.Unknown = append(end.Unknown, c.ID)
	}
	for _, t := range s.Turns {
		for _, c := range t.Calls {
			if c.Result != nil && c.Result.Child != nil {
				end.Unknown = append(end.Unknown, c.Result.Child.Unknown...)
			}
		}
	}
	return end
}

// applied says whether a child changed something: its own journal tells.
func applied(s *recovery.State) journal.Applied {
	for _, t := range s.Turns {
		for _, c := range t.Calls {
			if c.Result != nil && c.Effect != journal.EffectRead && c.Result.Applied != journal.AppliedNo {
				return journal.AppliedYes
			}
		}
	}
	return journal.AppliedNo
}

// checkOutput refuses a path that does not lie in the folder.
func checkOutput(path string) error {
	if path == "" || !filepath.IsLocal(path) {
		return fmt.Errorf("output %q: name a file of the folder by a path relative to it", path)
	}
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if strings.EqualFold(part, ".git") || strings.EqualFold(part, "git~1") || strings.EqualFold(part, ".agent") {
			return fmt.Errorf("output %q: nothing is written into %s; name another file", path, part)
		}
	}
	return nil
}

// outputs names the files that were to be left behind, a line each. A link that leads out of the
// folder is not followed.
func outputs(folder string, paths []string) (lines []string, missing bool) {
	if len(paths) == 0 {
		return nil, false
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return []string{fmt.Sprintf("[outputs: %v]", err)}, true
	}
	defer root.Close()
	left := int64(maxHashed)
	for _, p := range paths {
		size, sum, err := hashed(root, p, left)
		if sum != "" {
			left -= size
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			lines, missing = append(lines, fmt.Sprintf("[output %s: it is not there]", excerpt.Name(p))), true
		case err != nil:
			lines, missing = append(lines, fmt.Sprintf("[output %s: %v]", excerpt.Name(p), err)), true
		case sum == "":
			lines = append(lines, fmt.Sprintf("[output %s: %d bytes, not hashed: too much for one result]", excerpt.Name(p), size))
		default:
			lines = append(lines, fmt.Sprintf("[output %s: %d bytes, SHA-256 %s]", excerpt.Name(p), size, sum))
		}
	}
	return lines, missing
}

// maxHashed bounds how much of the outputs is read for one result: nothing ends that in the
// middle, and a sparse file may be of any size.
const maxHashed = 1 << 30

// hashed is the size of a file and its SHA-256; "" for one larger than what is left to read.
func hashed(root *os.Root, path string, left int64) (size int64, sum string, err error) {
	info, err := root.Stat(path)
	if err != nil {
		return 0, "", err
	}
	if !info.Mode().IsRegular() { // a FIFO would be waited for
		return 0, "", errors.New("it is no regular file")
	}
	if info.Size() > left {
		return info.Size(), "", nil
	}
	f, err := root.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	h := sha256.New()
	size, err = io.Copy(h, io.LimitReader(f, info.Size())) // one that still grows has no end
	return size, hex.EncodeToString(h.Sum(nil)), err
}
