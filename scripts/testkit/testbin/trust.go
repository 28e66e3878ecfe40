package testbin

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"
)

// distrust is why nothing at a path is used: it belongs to somebody who is neither this user nor
// root, or others may write it.
func distrust(path string, mode fs.FileMode, owner, user int) error {
	if (owner == user || owner == 0) && mode.Perm()&0o022 == 0 {
		return nil
	}
	return fmt.Errorf("%s may be written by others (%04o, owner %d): set AGENT_TESTBIN to a folder of yours", path, mode.Perm(), owner)
}

// contains reports whether a text occurs in what is read, and keeps little of it in memory.
func contains(r io.Reader, text string) (bool, error) {
	want, chunk := []byte(text), make([]byte, 1<<20)
	for kept := 0; ; {
		n, err := r.Read(chunk[kept:])
		have := chunk[:kept+n]
		if bytes.Contains(have, want) {
			return true, nil
		}
		if err == io.EOF {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		kept = copy(chunk, have[max(0, len(have)-len(want)+1):]) // the text may go on in what is next
	}
}

// mostKept is how many states are kept.
const mostKept = 8

// state is a folder of BASE.
type state struct {
	name string
	used time.Time
}

// outdated are the states that are not among those used last. That of the digest is kept.
func outdated(all []state, digest string) (names []string) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b state) int { return b.used.Compare(a.used) })
	for _, s := range all[min(len(all), mostKept):] {
		if s.name != digest {
			names = append(names, s.name)
		}
	}
	return names
}
