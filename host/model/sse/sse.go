// Package sse reads streams of server-sent events, as every provider sends its answers.
//
// Source: WHATWG HTML, section 9.2 "Server-sent events", 9.2.5 for the format and 9.2.6 for what
// its lines mean: https://html.spec.whatwg.org/multipage/server-sent-events.html. The fields id and
// retry serve a client that connects again, which none does here. Bytes that are not UTF-8 stay as
// they are.
package sse

import (
	"bufio"
	"bytes"
	"io"
)

// Largest bounds a line, and the data of one event, in bytes. More of either ends the stream with
// bufio.ErrTooLong.
const Largest = 32 << 20

// Event is one event that has data.
type Event struct {
	Name string // "" where the stream gives it none
	Data []byte // its lines, joined by line feeds; valid until the next event is read
}

// Decoder reads the events of one stream. An event counts once the empty line behind it came.
type Decoder struct {
	lines  *bufio.Scanner
	looked int  // bytes of the unfinished line that have no end of a line
	cr     bool // the last line ended with a carriage return; a line feed behind it belongs to that end
	begun  bool // the first line was read
	name   string
	event  Event
	err    error
}

// NewDecoder reads from r as far as each event needs it.
func NewDecoder(r io.Reader) *Decoder {
	d := &Decoder{lines: bufio.NewScanner(r)}
	d.lines.Buffer(make([]byte, 0, 32<<10), Largest)
	d.lines.Split(d.split)
	return d
}

// Event is what Next read.
func (d *Decoder) Event() Event { return d.event }

// Err is why Next found no more events; nil at the end of the stream.
func (d *Decoder) Err() error { return d.err }

// Next reads on to the end of the next event. False means that there is none, or that Err says why.
func (d *Decoder) Next() bool {
	d.event = Event{Data: d.event.Data[:0]}
	for d.err == nil && d.lines.Scan() {
		line := d.lines.Bytes()
		if !d.begun {
			d.begun, line = true, bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if len(line) > 0 {
			d.field(line)
			continue
		}
		if n := len(d.event.Data); n > 0 {
			d.event.Data = d.event.Data[:n-1]
			return true
		}
		d.event.Name = ""
	}
	if d.err == nil {
		d.err = d.lines.Err()
	}
	return false
}

// field takes a line into the event. One that begins with a colon is a comment, which is a field
// without a name.
func (d *Decoder) field(line []byte) {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		if d.name != string(value) { // most events have the name of the one before, which saves a copy
			d.name = string(value)
		}
		d.event.Name = d.name
	case "data":
		if len(d.event.Data)+len(value) >= Largest {
			d.err = bufio.ErrTooLong
			return
		}
		d.event.Data = append(append(d.event.Data, value...), '\n')
	}
}

// split cuts off a line. It does not wait for what follows a carriage return, since that may be the
// end of an event.
func (d *Decoder) split(data []byte, _ bool) (advance int, line []byte, err error) {
	feed := 0
	if d.cr && len(data) > 0 {
		d.cr = false
		if data[0] == '\n' {
			feed, data = 1, data[1:]
		}
	}
	rest := data[d.looked:]
	end := bytes.IndexByte(rest, '\n')
	if end >= 0 {
		rest = rest[:end]
	}
	if cr := bytes.IndexByte(rest, '\r'); cr >= 0 {
		end, d.cr = cr, true
	}
	if end < 0 {
		d.looked = len(data)
		return feed, nil, nil
	}
	end += d.looked
	d.looked = 0
	return feed + end + 1, data[:end], nil
}
