// Package witnesstest is a witness for tests: it keeps its log in memory, and answers as it is
// bidden.
package witnesstest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"agent/host/pack"
	"agent/host/witness/line"
)

// Witness keeps a log for each family.
type Witness struct {
	listener net.Listener
	conns    sync.WaitGroup

	mu      sync.Mutex
	changed *sync.Cond
	logs    map[string][]Entry
	later   string // why it answers later
	only    string // what that is about begins so
	fenced  string // the host that has everything
	held    bool   // appends are not answered
	ended   bool
	open    []net.Conn
}

// Entry is one of a log.
type Entry struct {
	Why     string
	Records []pack.Record
}

// Start listens on a unix socket.
func Start(path string) (*Witness, error) {
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	w := &Witness{listener: l, logs: map[string][]Entry{}}
	w.changed = sync.NewCond(&w.mu)
	w.conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.mu.Lock()
			w.open = append(w.open, c)
			w.mu.Unlock()
			w.conns.Go(func() { w.serve(c) })
		}
	})
	return w, nil
}

// Close ends it.
func (w *Witness) Close() error {
	err := w.listener.Close()
	w.mu.Lock()
	w.ended = true
	w.changed.Broadcast()
	for _, c := range w.open {
		_ = c.Close() // whoever it was with has ended
	}
	w.mu.Unlock()
	w.conns.Wait()
	return err
}

// Say has it answer as usual (ok), not at all (hold), that it be asked later (later), or that
// another host has everything (fenced HOST). With later START only what begins so is asked again.
func (w *Witness) Say(word, more string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.later, w.only, w.fenced, w.held = "", "", "", false
	switch word {
	case "ok":
	case "hold":
		w.held = true
	case "later":
		w.later, w.only = "the log is switched off", more
	case "fenced":
		w.fenced = more
	default:
		return fmt.Errorf("say %q: ok, hold, later or fenced HOST", word)
	}
	w.changed.Broadcast()
	return nil
}

// Heard are the entries of a family.
func (w *Witness) Heard(root string) []Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.logs[root])
}

func (w *Witness) serve(c net.Conn) {
	in := bufio.NewReader(c)
	for {
		text, err := in.ReadBytes('\n')
		var r line.Request
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err == nil {
			text, err = json.Marshal(w.answer(r))
		}
		if err == nil {
			_, err = c.Write(append(text, '\n'))
		}
		if err != nil {
			_ = c.Close() // it is over
			return
		}
	}
}

func (w *Witness) answer(r line.Request) line.Reply {
	w.mu.Lock()
	defer w.mu.Unlock()
	reply := line.Reply{V: line.Version}
	for w.held && r.Op == line.Append && !w.ended {
		w.changed.Wait()
	}
	log := w.logs[r.Root]
	switch {
	case r.Root == "":
		reply.OK = &line.OK{}
	case w.later != "" && strings.HasPrefix(r.Why, w.only):
		reply.Later = w.later
	case w.fenced != "" && r.Op == line.Append:
		reply.Fenced = &line.Fenced{Place: r.Place, By: w.fenced, Epoch: r.Epoch + 1}
	case r.Op == line.Append && r.Place != int64(len(log))+1:
		reply.Fenced = &line.Fenced{Place: r.Place, By: "somebody"}
	case r.Op == line.Append:
		w.logs[r.Root] = append(log, Entry{r.Why, r.Records})
		reply.OK = &line.OK{Place: r.Place}
	default:
		reply.OK = &line.OK{Place: int64(len(log)), Runs: stands(log)}
	}
	return reply
}

func stands(log []Entry) map[string]line.Stand {
	runs := map[string]line.Stand{}
	for _, e := range log {
		for _, r := range e.Records {
			if r.Run != nil {
				runs[r.Run.ID] = line.Stand{Facts: r.Run.Facts, Digest: r.Run.Digest}
			}
		}
	}
	return runs
}

// Whole says whether a log is the whole journal of its runs: each fact once, and as their digests
// say.
func Whole(log []Entry) error {
	digests, facts := map[string][]byte{}, map[string]int64{}
	for i, e := range log {
		run := ""
		for _, r := range e.Records {
			switch {
			case r.Run != nil:
				run = r.Run.ID
			case r.Fact != nil && run == "":
				return errors.New("a fact is of no run")
			case r.Fact != nil:
				digests[run] = pack.Chain(digests[run], r.Fact)
				facts[run]++
			}
		}
		for id, at := range stands(log[:i+1]) {
			if at.Facts != facts[id] || !slices.Equal(at.Digest, digests[id]) {
				return fmt.Errorf("entry %d: run %s has %d facts in the log, and says %d, or its digest is another", i+1, id, facts[id], at.Facts)
			}
		}
	}
	return nil
}
