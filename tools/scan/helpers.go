package scan

import (
	"runtime"
	"sync"
)

// helpers are who walks beside the first: to look at a file is a system call, and several
// processors do as many at once.
type helpers struct {
	*scratch               // of this one
	free     chan *scratch // one for each that has nothing to do; nil where there is none
	err      error         // how this one ended
}

// scratch is memory that a walk uses again for each folder.
type scratch struct {
	text   []byte // of the names of one folder
	buffer []byte // of the system's
}

// maxHelpers is beyond what a disk or a kernel has any use for.
const maxHelpers = 7

func newHelpers(some bool) helpers {
	h := helpers{scratch: &scratch{}}
	if n := min(runtime.GOMAXPROCS(0)-1, maxHelpers); some && n > 0 {
		h.free = make(chan *scratch, n)
		for range n {
			h.free <- &scratch{}
		}
	}
	return h
}

// subfolder is one that was found in a folder.
type subfolder struct {
	node *node
	Entry
	id identity
}

// enterAll takes in the folders that a folder holds. A helper that is free takes one over.
func (w *walk) enterAll(s spot, in *dir, skip int, all []subfolder) (err error) {
	var beside []*walk
	var wait sync.WaitGroup
	for _, b := range all {
		select {
		case with := <-w.free:
			p := w.helper(with)
			beside = append(beside, p)
			wait.Go(func() {
				p.err = p.enter(s, in, skip, b)
				w.free <- with
			})
		default:
			err = w.enter(s, in, skip, b)
		}
		if err != nil {
			break
		}
	}
	wait.Wait() // they work in folders that are open here
	for _, p := range beside {
		w.l.Changes = append(w.l.Changes, p.l.Changes...)
		w.later = append(w.later, p.later...)
		w.odd = w.odd || p.odd
		err = first(err, p.err)
	}
	return err
}

// helper is a walk that finds its own changes.
func (w *walk) helper(with *scratch) *walk {
	p := *w
	p.scratch, p.l, p.later, p.odd = with, Listing{First: w.l.First}, nil, false
	return &p
}
