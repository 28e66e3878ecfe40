//go:build linux

package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"agent/scripts/crashlab/world"
)

// setting is how a server is started.
type setting struct {
	arm  string // fault points that it comes by, and those for the processes that drive for it
	idle bool   // it has no run go on by itself
}

// client asks the servers of a world, one after the other. Where one is killed the next is started
// and gets the same request again, as a program does that was not answered.
type client struct {
	world *world.World
	next  []setting // of the servers to come; who comes after the last passes no point
	is    setting   // of the one that is there
	now   *world.Command
	rng   *rand.Rand // chooses moments at which a server is killed; nil for none
	left  int        // of those moments
	kills int
}

// mostServers is how many servers a story has, at most.
const mostServers = 24

// up sees that there is a server that listens.
func (c *client) up() error {
	for n := 0; c.now == nil; n++ {
		if n > mostServers {
			return fmt.Errorf("%w: %d servers ended before they listened", world.ErrStuck, n)
		}
		c.is = setting{}
		if len(c.next) > 0 {
			c.is, c.next = c.next[0], c.next[1:]
		}
		args := []string{"serve"}
		if c.is.idle {
			args = append(args, "--recover", "none")
		}
		p, err := c.world.Start(c.is.arm, args...)
		if err != nil {
			return err
		}
		c.now = p
		if !await(p, "agent serve: process ") {
			if err := c.ended(); err != nil {
				return err
			}
		}
	}
	return nil
}

// await waits until a server has printed a text; false where it ended first, or does not.
func await(p *world.Command, text string) bool {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(world.Limit)
	for !strings.Contains(p.Text.String(), text) {
		select {
		case <-tick.C:
		case <-p.Ended:
			return strings.Contains(p.Text.String(), text)
		case <-late:
			return false
		}
	}
	return true
}

// ended is for a server that does not answer: it was killed, or it is at fault.
func (c *client) ended() error {
	late := time.After(world.Limit)
	select {
	case <-c.now.Ended:
	case <-late:
		return fmt.Errorf("%w: the server lives and does not answer:\n%s", world.ErrStuck, c.now.Text.String())
	}
	o, _ := c.now.Wait() // it has ended
	c.now = nil
	c.kills++
	if !o.Killed {
		return fmt.Errorf("%w: the server ends by itself with %d:\n%s", world.ErrStuck, o.Code, o.Text)
	}
	return nil
}

// kill ends the server as kill -9 does; another follows when it is needed.
func (c *client) kill() error {
	if c.now == nil {
		return nil
	}
	c.now.Kill()
	return c.ended()
}

// stop ends the server as a person does, and wants it to say so.
func (c *client) stop() error {
	if c.now == nil {
		return nil
	}
	if err := c.now.Cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the server: %w", err)
	}
	o, ok := c.now.Wait()
	c.now = nil
	switch {
	case o.Killed && ok && (c.rng != nil || c.is.arm != ""): // it came by its point, or chance was faster
		c.kills++
	case !ok || o.Code != 0 || !strings.Contains(o.Text, "the server has ended"):
		return fmt.Errorf("%w: the server does not end as it should (%d):\n%s", world.ErrStuck, o.Code, o.Text)
	}
	return nil
}

// chance kills the server at a moment that chance chooses, if it is still there then.
func (c *client) chance() {
	if c.rng == nil || c.left == 0 || c.now == nil || c.rng.IntN(4) > 0 {
		return
	}
	c.left--
	time.AfterFunc(time.Duration(c.rng.IntN(200_000))*time.Microsecond, c.now.Kill)
}

// reply is what a server answered.
type reply struct {
	status int
	text   string
}

// ask sends a request until a server answers it.
func (c *client) ask(method, path, body, key string) (reply, error) {
	for range mostServers {
		if err := c.up(); err != nil {
			return reply{}, err
		}
		c.chance()
		r, err := c.once(method, path, body, key)
		if err == nil {
			return r, nil
		}
		if err := c.ended(); err != nil {
			return reply{}, err
		}
	}
	return reply{}, fmt.Errorf("%w: %d servers did not answer %s %s", world.ErrStuck, mostServers, method, path)
}

// once sends a request to the server that is there.
func (c *client) once(method, path, body, key string) (reply, error) {
	token, err := os.ReadFile(filepath.Join(c.world.State, "token"))
	if err != nil {
		return reply{}, err
	}
	ctx, stop := context.WithTimeout(context.Background(), world.Limit)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	h := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: c.dial}}
	a, err := h.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer a.Body.Close() // it was only read
	text, err := io.ReadAll(a.Body)
	return reply{a.StatusCode, string(text)}, err
}

// dial reaches the socket by a path that is short wherever the world lies.
func (c *client) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	dir, err := os.Open(c.world.State)
	if err != nil {
		return nil, err
	}
	defer dir.Close() // it was only opened
	return (&net.Dialer{}).DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/serve.sock", dir.Fd()))
}

// position is where a run stands, as a server reports it.
type position struct {
	Run struct {
		ID     string `json:"id"`
		Thread string `json:"thread_id"`
		Status string `json:"status"`
		Cause  string `json:"cause"`
		Asked  struct {
			Status string `json:"status"`
		} `json:"pending_request"`
	} `json:"run"`
}

// run asks where a run stands.
func (c *client) run(id string) (position, error) {
	var v position
	r, err := c.ask(http.MethodGet, "/v1/runs/"+id, "", "")
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal([]byte(r.text), &v); r.status != http.StatusOK || err != nil {
		return v, fmt.Errorf("%w: GET /v1/runs/%s: %d %s", world.ErrStuck, id, r.status, r.text)
	}
	return v, nil
}
