// Package pager shows a text that is longer than the screen by the person's pager.
package pager

import (
	"bytes"
	"io"
	"os"
	"os/exec"

	"golang.org/x/term"
)

// Pager holds back what is written until it is longer than the screen, and then hands it to a
// program of the person's. What fits is written as it is. The zero value writes to nothing.
type Pager struct {
	out    *os.File
	getenv func(string) string
	width  int
	rows   int // of the screen that are left
	column int // of the present line
	held   bytes.Buffer
	to     io.WriteCloser // the program's input; nil while there is none
	done   func()         // waits for its end
	direct bool           // there is no program to be had
	gone   bool           // it reads no more
}

// New is a pager for a text on out. It is nil where nobody can page: stdin or out is no terminal.
func New(in, out any, getenv func(string) string) *Pager {
	from, okIn := in.(*os.File)
	to, okOut := out.(*os.File)
	if !okIn || !okOut || !term.IsTerminal(int(from.Fd())) || !term.IsTerminal(int(to.Fd())) || getenv("TERM") == "dumb" {
		return nil
	}
	width, height, err := term.GetSize(int(to.Fd()))
	if err != nil || width <= 0 || height <= 1 {
		return nil
	}
	return &Pager{out: to, getenv: getenv, width: width, rows: height - 1}
}

// Write takes a piece of the text. It fails once the reader has gone.
func (p *Pager) Write(text []byte) (int, error) {
	switch {
	case p.gone:
		return 0, io.ErrClosedPipe
	case p.direct:
		return p.out.Write(text)
	case p.to != nil:
		return p.pass(text)
	}
	p.held.Write(text)
	if !p.fits(text) {
		p.start()
		if _, err := p.flush(); err != nil {
			return 0, err
		}
	}
	return len(text), nil
}

// fits says whether the screen has room for a piece. Sequences that colour count as if they were
// seen, which pages a little early.
func (p *Pager) fits(text []byte) bool {
	for _, b := range text {
		if p.column++; b == '\n' {
			p.rows, p.column = p.rows-1, 0
		} else if p.column > p.width && b&0xC0 != 0x80 {
			p.rows, p.column = p.rows-1, 1
		}
	}
	return p.rows >= 0
}

// start starts the program. Where that cannot be, the text is written as it is.
func (p *Pager) start() {
	c := exec.Command("less", "-FRX")
	if own, set := p.getenv("PAGER"), p.getenv("PAGER") != ""; set {
		c = exec.Command("/bin/sh", "-c", own)
	}
	c.Env = os.Environ()
	if p.getenv("LESS") == "" {
		c.Env = append(c.Env, "LESS=FRX")
	}
	c.Stdout, c.Stderr = p.out, os.Stderr
	to, err := c.StdinPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		p.direct = true
		return
	}
	p.to, p.done = to, func() { _ = c.Wait() } // how a pager ends says nothing about the text
}

func (p *Pager) flush() (int, error) {
	text := p.held.Bytes()
	p.held = bytes.Buffer{}
	if p.to != nil {
		return p.pass(text)
	}
	return p.out.Write(text)
}

func (p *Pager) pass(text []byte) (int, error) {
	n, err := p.to.Write(text)
	p.gone = err != nil
	return n, err
}

// Close writes what is held back, and waits until the person has read.
func (p *Pager) Close() error {
	if p.to == nil {
		_, err := p.flush()
		return err
	}
	_ = p.to.Close() // the reader may have gone
	p.done()
	return nil
}
