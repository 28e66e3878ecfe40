package witness

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"agent/fleet/log"
	"agent/host/witness/line"
)

// slow is how long a driver may take to read an answer.
const slow = 10 * time.Second

// talk answers one driver until it goes, or says what no driver says.
func (s *server) talk(ctx context.Context, c net.Conn) {
	held := map[string]*family{}
	defer func() {
		for _, f := range held {
			s.drop(f)
		}
		_ = c.Close() // nothing is owed to it
	}()
	in := bufio.NewReaderSize(c, 64<<10)
	for {
		text, err := readLine(in)
		if err == io.EOF {
			return
		}
		var q line.Request
		if err == nil {
			q, err = parse(text)
		}
		if err != nil {
			_ = send(c, line.Reply{Refused: err.Error()}) // it goes in any case
			return
		}
		f := held[q.Root]
		if f == nil {
			f = s.hold(q.Root)
			held[q.Root] = f
		}
		if r, ok := f.answer(ctx, q); !ok || send(c, r) != nil {
			return
		}
	}
}

func send(c net.Conn, r line.Reply) error {
	r.V = line.Version
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := c.SetWriteDeadline(time.Now().Add(slow)); err != nil {
		return err
	}
	_, err = c.Write(append(text, '\n'))
	return err
}

var errTooLong = errors.New("the line is too long")

// readLine reads one line; io.EOF where nothing more comes.
func readLine(in *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := in.ReadSlice('\n')
		text = append(text, part...)
		switch {
		case len(text) > line.Longest:
			return nil, fmt.Errorf("%w: a request may have %d bytes", errTooLong, line.Longest)
		case err == nil:
			return text, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF && len(text) > 0:
			return nil, errors.New("the line has no end")
		default:
			return nil, io.EOF
		}
	}
}

// parse reads a request by its form alone.
func parse(text []byte) (q line.Request, err error) {
	var v struct {
		V int `json:"v"`
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return q, fmt.Errorf("the line is no JSON that a driver sends: %w", err)
	}
	if v.V != line.Version {
		return q, fmt.Errorf("version %d of the lines is not known here, which has %d: agent and agent-fleet have to be of one time", v.V, line.Version)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		return q, fmt.Errorf("the line is no request: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return q, errors.New("the line is no request: something stands behind it")
	}
	if err := log.CheckRoot(q.Root); err != nil {
		return q, err
	}
	switch q.Op {
	case line.Hello:
		if q.Place != 0 || q.Records != nil {
			return q, errors.New("a hello has neither place nor records")
		}
	case line.Append:
		if q.Place < 1 {
			return q, fmt.Errorf("an append to place %d: places begin with 1", q.Place)
		}
	default:
		return q, fmt.Errorf("%.40q is no request: hello and append are", q.Op)
	}
	return q, nil
}
