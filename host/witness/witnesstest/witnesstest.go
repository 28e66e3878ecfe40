// Package witnesstest is a witness for tests: it keeps its log in memory, and answers as it is
// bidden.
package witnesstest

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"

	"agent/host/pack"
	"agent/host/witness/line"
)

// Witness keeps a log for each family.
type Witness struct {
	path  string
	conns sync.WaitGroup

	mu       sync.Mutex
	changed  *sync.Cond
	listener net.Listener // nil while it is down
	meets    func(line.Request) Answer
	logs     map[string][]Entry
	lost     *Entry // the last one of the log of lacks, which had so many; nil for none
	lacks    string
	had      int
	later    string // why it answers later
	only     string // what that is about begins so
	fenced   string // the host that has everything
	held     bool   // appends are not answered
	ended    bool
	open     []net.Conn
}

// Entry is one of a log.
type Entry struct {
	By      string // the other host that wrote it; "" for none
	Why     string
	Records []pack.Record
	Seen    map[string]int // see Answer
}

// Fate is what becomes of an entry.
type Fate int

// The fates.
const (
	Take  Fate = iota // as usual
	Lose              // it is taken, and nobody hears of that
	Drop              // it is not taken, and nobody hears of that
	Later             // it is asked for again
)

// Answer is what is done with an entry, and what had happened in the world until then.
type Answer struct {
	Fate Fate
	Seen map[string]int
}

// Start listens on a unix socket.
func Start(path string) (*Witness, error) {
	w := &Witness{path: path, logs: map[string][]Entry{}}
	w.changed = sync.NewCond(&w.mu)
	return w, w.Up()
}

// Up has it listen; whoever listened there before may have been killed.
func (w *Witness) Up() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listener != nil || w.ended {
		return nil
	}
	if err := os.RemoveAll(w.path); err != nil {
		return err
	}
	l, err := net.Listen("unix", w.path)
	if err != nil {
		return err
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // nobody who is killed removes it
	w.listener = l
	w.conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.mu.Lock()
			if w.listener == l {
				w.open = append(w.open, c)
				w.conns.Go(func() { w.serve(c) })
			} else {
				_ = c.Close() // it came too late
			}
			w.mu.Unlock()
		}
	})
	return nil
}

// Down ends it as if it were killed; what it has taken, it has.
func (w *Witness) Down() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.listener == nil {
		return nil
	}
	err := w.listener.Close()
	w.listener = nil
	for _, c := range w.open {
		_ = c.Close() // whoever it was with has ended, or sees that
	}
	w.open = nil
	return err
}

// Close ends it.
func (w *Witness) Close() error {
	w.mu.Lock()
	w.ended = true
	w.changed.Broadcast()
	w.mu.Unlock()
	err := w.Down()
	w.conns.Wait()
	return errors.Join(err, os.RemoveAll(w.path))
}

// Meet has somebody say what becomes of each entry before it is looked at.
func (w *Witness) Meet(with func(line.Request) Answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.meets = with
}

// Give gives a family to another host, which claims it.
func (w *Witness) Give(root, host string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	log := w.logs[root]
	claim := &pack.Fact{Kind: 2, V: 1, Body: `{"host":"` + host + `"}`}
	run := &pack.Run{ID: root, Facts: 1}
	if at, ok := stands(log)[root]; ok {
		run.Facts, run.Digest = at.Facts+1, at.Digest
	}
	run.Digest = pack.Chain(run.Digest, claim)
	w.logs[root] = append(log, Entry{By: host, Why: "claim", Records: []pack.Record{{Run: run}, {Fact: claim}}})
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

// Forget has the log of a family lack its last entry, as an older copy of it does.
func (w *Witness) Forget(root string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.logs[root]); n > 0 {
		w.lost, w.lacks = &w.logs[root][n-1], root
		w.logs[root] = w.logs[root][: n-1 : n-1]
		w.had = n
	}
}

// Remember has the log be whole again. It says whether the older one was left as it was.
func (w *Witness) Remember() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost == nil {
		return true
	}
	log := w.logs[w.lacks]
	same := len(log) == w.had-1
	w.logs[w.lacks], w.lost = append(log[:w.had-1:w.had-1], *w.lost), nil
	return same
}

// Roots are the families of which it has heard.
func (w *Witness) Roots() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.logs))
}

// Heard are the entries of a family, with one that an older copy lacks.
func (w *Witness) Heard(root string) []Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	log := slices.Clone(w.logs[root])
	if w.lost != nil && root == w.lacks {
		log = slices.Insert(log, w.had-1, *w.lost)
	}
	return log
}

func (w *Witness) serve(c net.Conn) {
	in := bufio.NewReader(c)
	for {
		text, err := in.ReadBytes('\n')
		var r line.Request
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		var reply *line.Reply
		if err == nil {
			reply = w.answer(r, w.meet(r))
		}
		if err == nil && reply == nil {
			err = errors.New("it hangs up")
		}
		if err == nil {
			text, err = json.Marshal(reply)
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

// meet asks what is to become of an entry.
func (w *Witness) meet(r line.Request) Answer {
	w.mu.Lock()
	with := w.meets
	w.mu.Unlock()
	if with == nil || r.Op != line.Append {
		return Answer{}
	}
	return with(r)
}

// answer is what is said to a request; nil for nothing.
func (w *Witness) answer(r line.Request, a Answer) *line.Reply {
	w.mu.Lock()
	defer w.mu.Unlock()
	reply := &line.Reply{V: line.Version}
	for w.held && r.Op == line.Append && !w.ended {
		w.changed.Wait()
	}
	log := w.logs[r.Root]
	switch {
	case r.Root == "":
		reply.OK = &line.OK{}
	case a.Fate == Drop:
		return nil
	case a.Fate == Later:
		reply.Later = "the log is out of reach"
	case w.later != "" && strings.HasPrefix(r.Why, w.only):
		reply.Later = w.later
	case w.fenced != "" && r.Op == line.Append:
		reply.Fenced = &line.Fenced{Place: r.Place, By: w.fenced, Epoch: r.Epoch + 1}
	case r.Op == line.Append:
		reply = w.append(r, a)
	default:
		reply.OK = &line.OK{Place: int64(len(log)), Runs: stands(log)}
		if len(log) > 0 {
			reply.OK.By = log[len(log)-1].By
		}
	}
	if a.Fate == Lose {
		return nil
	}
	return reply
}

// append takes an entry at its place. One that is there already is the same writer's, who did not
// hear of it, or somebody else's.
func (w *Witness) append(r line.Request, a Answer) *line.Reply {
	log := w.logs[r.Root]
	reply := &line.Reply{V: line.Version}
	switch n := int64(len(log)); {
	case r.Place == n+1:
		w.logs[r.Root] = append(log, Entry{Why: r.Why, Records: r.Records, Seen: a.Seen})
		reply.OK = &line.OK{Place: r.Place}
	case r.Place > n+1:
		reply.Refused = fmt.Sprintf("the log ends with place %d", n)
	case r.Place == n && n > 0 && log[n-1].By == "" && reflect.DeepEqual(log[r.Place-1].Records, r.Records):
		reply.OK = &line.OK{Place: r.Place}
	default:
		reply.Fenced = &line.Fenced{Place: r.Place, By: "somebody"}
		if r.Place > 0 && r.Place <= n {
			reply.Fenced.By = cmp.Or(log[r.Place-1].By, "somebody")
		}
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
