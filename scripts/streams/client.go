//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed" // the program that uses eventsource
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"agent/host/watch"
)

//go:embed eventsource.cjs
var eventsourceProgram string

// again is how long a client of ours, and curl, waits before it connects again.
const again = 10 * time.Millisecond

// path is the stream of a run, from its beginning.
func path(run string) string { return "/v1/runs/" + run + "/events?after=0" }

// own reads with Go's client, and cuts each connection.
func (w *world) own(ctx context.Context, s *seen, run, token string, dice *rand.Rand) {
	c := w.Client()
	for {
		done, last := s.ended()
		if done || ctx.Err() != nil {
			return
		}
		if err := ownOnce(ctx, c, s, "http://localhost", run, token, last, cutAfter(dice, false)); err != nil {
			time.Sleep(again)
		}
	}
}

func ownOnce(ctx context.Context, c *http.Client, s *seen, url, run, token, last string, most int64) error {
	r, err := http.NewRequestWithContext(ctx, "GET", url+path(run), nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	a, err := c.Do(r)
	if err != nil {
		return err // the server is being killed
	}
	defer a.Body.Close()
	switch a.StatusCode {
	case http.StatusOK:
	case http.StatusNoContent:
		s.finish()
		return nil
	default:
		s.fail(fmt.Errorf("the stream after %q is refused: %s", last, a.Status))
		return nil
	}
	s.connected()
	var rest []byte
	buf := make([]byte, 16<<10)
	for {
		n, err := a.Body.Read(buf[:min(int64(len(buf)), most)])
		most -= int64(n)
		rest = events(append(rest, buf[:n]...), s.event)
		if done, _ := s.ended(); done {
			return nil
		}
		if most <= 0 {
			s.cut()
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// direct reads with Go's client through a proxy that cuts it.
func (w *world) direct(ctx context.Context, s *seen, run, token, url string) {
	for {
		done, last := s.ended()
		if done || ctx.Err() != nil {
			return
		}
		if err := ownOnce(ctx, http.DefaultClient, s, url, run, token, last, math.MaxInt64); err != nil {
			time.Sleep(again)
		}
	}
}

// curl has one process for each connection, through a proxy that cuts it.
func (w *world) curl(ctx context.Context, s *seen, run, token, url string) {
	for {
		done, last := s.ended()
		if done || ctx.Err() != nil {
			return
		}
		args := []string{"-sSN", "-i", "-H", "Authorization: Bearer " + token}
		if last != "" {
			args = append(args, "-H", "Last-Event-ID: "+last)
		}
		c := exec.CommandContext(ctx, "curl", append(args, url+path(run))...)
		out, err := c.StdoutPipe()
		if err == nil {
			err = c.Start()
		}
		if err != nil {
			s.fail(err)
			return
		}
		curlOutput(s, bufio.NewReader(out))
		_, _ = io.Copy(io.Discard, out) // it was cut
		if c.Wait() != nil {            // it says that it was cut
			time.Sleep(again)
		}
	}
}

func curlOutput(s *seen, out *bufio.Reader) {
	status, err := out.ReadString('\n')
	switch {
	case err != nil:
		return // cut before it began
	case strings.Contains(status, " 204"):
		s.finish()
		return
	case !strings.Contains(status, " 200"):
		s.fail(fmt.Errorf("curl: %s", status))
		return
	}
	for line := status; strings.TrimSpace(line) != ""; {
		if line, err = out.ReadString('\n'); err != nil {
			return
		}
	}
	s.connected()
	var rest []byte
	for buf := make([]byte, 16<<10); ; {
		n, err := out.Read(buf)
		rest = events(append(rest, buf[:n]...), s.event)
		if err != nil {
			return
		}
	}
}

// eventsourceClient is npm's client in a process of its own, through a proxy that cuts it. It
// connects again by itself.
func (w *world) eventsourceClient(ctx context.Context, s *seen, run, token, url string) {
	var types []string
	for _, t := range watch.LineTypes() {
		types = append(types, t.Name)
	}
	folder, err := filepath.Abs(w.eventsource)
	if err != nil {
		s.fail(err)
		return
	}
	c := exec.CommandContext(ctx, "node", "-", url+path(run), token, folder, strings.Join(types, ","))
	c.Stdin = strings.NewReader(eventsourceProgram)
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		s.fail(err)
		return
	}
	lines := bufio.NewReader(out)
	for {
		text, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		var v struct {
			ID, Type, Data, Problem string
			Open, Done              bool
		}
		switch err := json.Unmarshal([]byte(text), &v); {
		case err != nil:
			s.fail(fmt.Errorf("eventsource printed %q: %v", text, err))
		case v.Open:
			s.connected()
		case v.Done:
			s.finish()
		case v.Problem != "":
			s.fail(fmt.Errorf("eventsource: %s", v.Problem))
		default:
			s.event(v.ID, v.Type, v.Data)
		}
	}
	if err := c.Wait(); err != nil && ctx.Err() == nil {
		s.fail(fmt.Errorf("eventsource: %v: %s", err, said.String()))
	}
	if done, _ := s.ended(); !done && ctx.Err() == nil {
		s.fail(fmt.Errorf("eventsource ended before the run: %s", said.String()))
	}
}

// name of a client in what is printed.
func name(kind string, n int) string { return kind + " " + strconv.Itoa(n) }
