//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"time"
)

// request is what the lab asks for.
type request struct {
	Do     string   `json:"do"`
	From   int      `json:"from"`
	To     int      `json:"to"`
	Op     string   `json:"op"`
	Path   string   `json:"path"`
	Errno  string   `json:"errno"`
	At     int      `json:"at"`
	Sticky bool     `json:"sticky"`
	Torn   bool     `json:"torn"`
	MS     int      `json:"ms"`
	Model  string   `json:"model"`
	Seed   uint64   `json:"seed"`
	Into   string   `json:"into"`
	Keep   []string `json:"keep"`
	Omit   []string `json:"omit"`
}

type answer struct {
	Index *int        `json:"index,omitempty"`
	Hit   *int        `json:"hit,omitempty"`
	Ops   []operation `json:"ops,omitempty"`
	Error string      `json:"error,omitempty"`
}

// service answers requests, one after the other.
type service struct {
	trace *trace
	base  map[uint64]*inode
	lines [2]*timeline // that heed fsync, and that do not
}

func (s *service) serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	write := json.NewEncoder(out)
	for lines.Scan() {
		var r request
		var a answer
		err := json.Unmarshal(lines.Bytes(), &r)
		if err == nil {
			a, err = s.do(r)
		}
		if err != nil {
			a = answer{Error: err.Error()}
		}
		if err := write.Encode(a); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
	return lines.Err()
}

func (s *service) do(r request) (answer, error) {
	switch r.Do {
	case "index":
		n := s.trace.index()
		return answer{Index: &n}, nil
	case "ops":
		ops, err := s.trace.until(r.From, r.To)
		return answer{Ops: ops}, err
	case "fault":
		f, err := r.fault()
		if err == nil {
			s.trace.arm(f)
		}
		return answer{}, err
	case "slow":
		if !slices.Contains(kinds(), r.Op) || r.MS < 0 {
			return answer{}, fmt.Errorf("slow down %q by %d ms: the operations are %s", r.Op, r.MS, strings.Join(kinds(), ", "))
		}
		s.trace.slowDown(slowness{r.Op, r.Path, time.Duration(r.MS) * time.Millisecond})
		return answer{}, nil
	case "heal":
		n := s.trace.heal()
		return answer{Hit: &n}, nil
	case "state":
		return answer{}, s.state(r)
	}
	return answer{}, fmt.Errorf("there is no request %q", r.Do)
}

func (r request) fault() (*fault, error) {
	errno, ok := map[string]syscall.Errno{"EIO": syscall.EIO, "ENOSPC": syscall.ENOSPC, "EROFS": syscall.EROFS}[r.Errno]
	switch {
	case !ok:
		return nil, fmt.Errorf("fail with %q: the errors are EIO, ENOSPC, EROFS", r.Errno)
	case !slices.Contains(kinds(), r.Op):
		return nil, fmt.Errorf("fail %q: the operations are %s", r.Op, strings.Join(kinds(), ", "))
	case r.At < 1:
		return nil, fmt.Errorf("fail operation %d: they are counted from 1", r.At)
	}
	return &fault{kind: r.Op, prefix: r.Path, errno: errno, at: r.At, sticky: r.Sticky, torn: r.Torn}, nil
}

// state goes on from the state before where it can: who asks in order asks cheaply.
func (s *service) state(r request) error {
	if r.Into == "" {
		return errors.New("a state needs a folder to be made in")
	}
	ops, err := s.trace.until(1, r.At)
	if err != nil {
		return err
	}
	which := 0
	if r.Model == nosync {
		which = 1
	}
	t := s.lines[which]
	if t == nil || t.at > r.At {
		t = newTimeline(s.base, which == 1)
		s.lines[which] = t
	}
	if err := t.advance(ops[t.at:]); err != nil {
		return err
	}
	return t.take(r.Model, r.Seed, r.Into, r.Keep, r.Omit)
}
