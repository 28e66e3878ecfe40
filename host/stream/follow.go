package stream

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"strings"
)

// LiveReader is a position in a run's live file, from any process: it reads what its owner wrote
// since the last look. Its methods are for one goroutine.
type LiveReader struct {
	path   string
	run    string
	gen    string // what offset belongs to
	offset int64  // of the first line that was not emitted yet
	turn   int    // of the last piece emitted; 0 if there was none
	fresh  bool   // nothing of gen was emitted yet
}

// NewLiveReader reads the live file of run from its beginning. dir is that of OpenLive; the file
// need not be there yet, and may go and come again.
func NewLiveReader(dir, run string) (*LiveReader, error) {
	path, err := livePath(dir, run)
	if err != nil {
		return nil, err
	}
	return &LiveReader{path: path, run: run}, nil
}

// Read calls emit with what was written since the last time: a Turn with Text or Reasoning, or with
// Void where its answer starts over, or a Call with Output and At. Output may come again (an owner
// that picked a call up writes it from its beginning) and may lack pieces: At says where it
// belongs.
func (f *LiveReader) Read(emit func(Event)) error {
	for {
		if again, err := f.read(emit); err != nil || !again {
			return err
		}
	}
}

// read emits whole lines from the position on. It returns true when the file was emptied meanwhile
// and has new text.
func (f *LiveReader) read(emit func(Event)) (bool, error) {
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
			// Emptied and written anew since the gen was read, or else damaged, and then passed
			// over: this text is a courtesy and its answer comes as a fact.
			if now, err := readGen(file); err != nil || now != f.gen {
				return now != "", err
			}
		} else {
			f.pass(l, emit)
		}
		f.offset += int64(len(line))
	}
}

func (f *LiveReader) pass(l liveLine, emit func(Event)) {
	if l.Call != nil {
		emit(Event{Run: f.run, Call: l.Call, At: l.At, Output: append([]byte(l.Output), l.Bytes...)})
		return // it says nothing about where the answer stands
	}
	if f.fresh && f.turn == l.Turn {
		emit(Event{Run: f.run, Turn: l.Turn, Void: true})
	}
	f.fresh, f.turn = false, l.Turn
	if l.Text != "" || l.Reasoning != "" { // else it is of a kind that this binary does not know
		emit(Event{Run: f.run, Turn: l.Turn, Text: l.Text, Reasoning: l.Reasoning})
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
