//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// seen is what one client saw over all of its connections.
type seen struct {
	kind string
	full func(turn int) string // the whole text of a turn

	mu      sync.Mutex
	datas   []string // of facts, in the order in which they came
	last    string   // id of the last of them
	ends    map[string]int
	texts   int // bytes of live text
	starts  int // connections that were made
	cuts    int
	done    bool
	result  string // the text of the outcome, where it came
	problem error
}

func newSeen(kind string, full func(int) string) *seen {
	return &seen{kind: kind, full: full, ends: map[string]int{}}
}

// event takes in one event.
func (s *seen) event(id, kind, data string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case id != "":
		s.datas, s.last = append(s.datas, data), id
	case kind == "live.text":
		s.text(data)
	case kind == "run.outcome":
		var v struct{ Data struct{ Result string } }
		if err := json.Unmarshal([]byte(data), &v); err != nil {
			s.problem = fmt.Errorf("outcome: %v", err)
		}
		s.done, s.result = true, v.Data.Result
	}
}

// text compares a piece of live text with the whole, and with what came before it.
func (s *seen) text(data string) {
	var v struct {
		Turn int
		Data struct {
			Message     string `json:"message_id"`
			Start       bool
			Offset, End int
			Text        string
		}
	}
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		s.problem = fmt.Errorf("live text: %v", err)
		return
	}
	d, whole := v.Data, s.full(v.Turn)
	switch {
	case !d.Start && d.Offset != s.ends[d.Message]:
		s.problem = fmt.Errorf("text of %s goes on at %d, not at %d", d.Message, d.Offset, s.ends[d.Message])
	case d.End > len(whole) || d.Offset > d.End || whole[d.Offset:d.End] != d.Text:
		s.problem = fmt.Errorf("text of %s from %d to %d is another one: %.80q", d.Message, d.Offset, d.End, d.Text)
	}
	s.ends[d.Message] = d.End
	s.texts += len(d.Text)
}

func (s *seen) ended() (done bool, last string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done || s.problem != nil, s.last
}

func (s *seen) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problem = err
}

func (s *seen) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
}

func (s *seen) connected() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.starts++
}

func (s *seen) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cuts++
}

func (s *seen) facts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.datas)
}

func (s *seen) connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starts
}

// judge compares what came with the journal: how many facts came twice, are missing, or are another
// than there.
func (s *seen) judge(want []string, text string) (twice, gaps int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.problem != nil {
		return 0, 0, s.problem
	}
	at := map[string]int{}
	for i, d := range want {
		at[d] = i + 1
	}
	next := 1
	for _, d := range s.datas {
		n := at[d]
		switch {
		case n == 0:
			return twice, gaps, fmt.Errorf("a fact came that the journal does not have: %.200s", d)
		case n < next:
			twice++
		default:
			gaps += n - next
			next = n + 1
		}
	}
	gaps += len(want) + 1 - next
	if s.result != "" && s.result != text {
		err = fmt.Errorf("the outcome has a text of %d bytes, the answer has %d", len(s.result), len(text))
	}
	return twice, gaps, err
}

// events takes whole events from the beginning of what came, and leaves the rest.
func events(text []byte, each func(id, kind, data string)) (rest []byte) {
	for {
		block, after, whole := bytes.Cut(text, []byte("\n\n"))
		if !whole {
			return text
		}
		text = after
		var id, kind, data string
		for line := range strings.SplitSeq(string(block), "\n") {
			name, value, _ := strings.Cut(line, ": ")
			switch name {
			case "id":
				id = value
			case "event":
				kind = value
			case "data":
				data += value
			}
		}
		if data != "" {
			each(id, kind, data)
		}
	}
}
