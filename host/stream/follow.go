package stream

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
)

// FollowLive calls emit with the answer that the model is giving to run and the output of its running calls, from its
// beginning and then as it comes, until ctx is done, whose error it returns. The file need not be there yet, and may go and
// come again. What is emitted is a Turn with Text or Reasoning, or with Void, or a Call with Output and At. Output may come
// again (an owner that picked a call up writes it from its beginning) and may lack pieces: At tells. Any process may follow,
// and nothing is written. dir is that of OpenLive.
func FollowLive(ctx context.Context, dir, run string, emit func(Event)) error {
	path, err := livePath(dir, run)
	if err != nil {
		return err
	}
	w, err := NewWaker(path)
	if err != nil {
		return fmt.Errorf("follow the live file of %s: %w", run, err)
	}
	defer w.Close()
	f := &follower{path: path, run: run, emit: emit}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f.look(); err != nil {
			return fmt.Errorf("follow the live file of %s: %w", run, err)
		}
		select {
		case <-w.C():
		case <-ctx.Done():
		}
	}
}

// follower is a position in a live file.
type follower struct {
	path   string
	run    string
	emit   func(Event)
	gen    string // what offset belongs to
	offset int64  // of the first line not emitted yet
	turn   int    // of the last piece emitted; 0 if there was none
	fresh  bool   // nothing of gen was emitted yet
}

// look emits what has been written since the last look.
func (f *follower) look() error {
	for {
		if again, err := f.read(); err != nil || !again {
			return err
		}
	}
}

// read emits whole lines from the position on. It returns true when the file was emptied meanwhile and has new text.
func (f *follower) read() (bool, error) {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close() // only read from: there is nothing to lose
	gen, err := readGen(file)
	if err != nil || gen == "" {
		return false, err
	}
	if gen != f.gen {
		f.gen, f.offset, f.fresh = gen, 0, true
	}
	lines := bufio.NewReader(io.NewSectionReader(file, f.offset, math.MaxInt64-f.offset))
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return false, nil // a line without its end is still being written
		}
		if err != nil {
			return false, err
		}
		var l liveLine
		if json.Unmarshal(line, &l) != nil || l.Gen != f.gen {
			// Emptied and written anew since the gen was read, or else damaged, and then passed over: this text is a
			// courtesy and its answer comes as a fact.
			if now, err := readGen(file); err != nil || now != f.gen {
				return now != "", err
			}
		} else {
			f.pass(l)
		}
		f.offset += int64(len(line))
	}
}

func (f *follower) pass(l liveLine) {
	if l.Call != nil {
		f.emit(Event{Run: f.run, Call: l.Call, At: l.At, Output: append([]byte(l.Output), l.Bytes...)})
		return // it says nothing about where the answer stands
	}
	if f.fresh && f.turn == l.Turn {
		f.emit(Event{Run: f.run, Turn: l.Turn, Void: true})
	}
	f.fresh, f.turn = false, l.Turn
	if l.Text != "" || l.Reasoning != "" { // else it is of a kind that this binary does not know
		f.emit(Event{Run: f.run, Turn: l.Turn, Text: l.Text, Reasoning: l.Reasoning})
	}
}

// readGen reads which gen the file's first line belongs to; none if there is not that much of it.
func readGen(file *os.File) (string, error) {
	head := make([]byte, len(genPrefix)+genWidth)
	if _, err := file.ReadAt(head, 0); err == io.EOF {
		return "", nil
	} else if err != nil {
		return "", err
	}
	gen, ok := strings.CutPrefix(string(head), genPrefix)
	if !ok {
		return "", nil
	}
	return gen, nil
}
