package history

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Bounds of messages.
const (
	maxMessage  = 256 << 10 // bytes of the end of one
	maxMessages = 200       // of one git
	maxTrailers = 64 << 20  // bytes of all trailers of these
)

// Trailer is one line at the end of a message, such as "Reviewed-by: name".
type Trailer struct{ Key, Value string }

// Trailers reads the trailers of messages, as git interpret-trailers --parse does: those of the
// last block only, each as one line. Of a message of more than 256 KiB only the end is looked at.
func (rd *Reader) Trailers(ctx context.Context, messages []string) ([][]Trailer, error) {
	all := make([][]Trailer, len(messages))
	var at []int
	for i, m := range messages {
		if !strings.Contains(m, ":") {
			continue // it has none
		}
		known := false
		if all[i], known = rd.memory.trailersOf(m); !known {
			at = append(at, i)
		}
	}
	for len(at) > 0 {
		some := at[:min(len(at), maxMessages)]
		at = at[len(some):]
		if err := rd.trailers(ctx, messages, some, all); err != nil {
			return nil, fmt.Errorf("read the trailers of %d messages: %w", len(messages), err)
		}
		for _, i := range some {
			rd.memory.told(messages[i], all[i])
		}
	}
	return all, nil
}

// trailers asks git for some messages at once. Before each stands a message of ours, whose trailer
// nobody can guess.
func (rd *Reader) trailers(ctx context.Context, messages []string, some []int, all [][]Trailer) error {
	dir, err := os.MkdirTemp(rd.dir, "messages-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // what stays is of no use to anybody
	mark := "X" + rand.Text()
	files := map[string]string{"mark": "mark\n\n" + mark + ": 1\n"}
	words := []string{"interpret-trailers", "--parse", "--no-divider"}
	for _, i := range some {
		name := strconv.Itoa(i)
		files[name] = messages[i][max(len(messages[i])-maxMessage, 0):]
		words = append(words, filepath.Join(dir, "mark"), filepath.Join(dir, name))
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	out, err := rd.run(ctx, maxTrailers, nil, words...)
	if err != nil {
		return err
	}
	at := -1
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		switch {
		case key == mark:
			at++
		case at < 0 || at >= len(some):
			return fmt.Errorf("read git's answer: it is %.100q", line)
		default:
			all[some[at]] = append(all[some[at]], Trailer{key, strings.TrimSpace(value)})
		}
	}
	if at != len(some)-1 {
		return fmt.Errorf("read git's answer: it is of %d messages, not of %d", at+1, len(some))
	}
	return nil
}
