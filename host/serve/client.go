package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agent/host/view"
)

const linkWait = 10 * time.Second // for a server to make a link

// ErrNoServer says that no process serves a state folder.
var ErrNoServer = errors.New("no process serves the state folder")

// Link has the server of a state folder show its page, at a port if it is not shown yet, and make a
// link that logs a browser in.
func Link(ctx context.Context, home string, port int) (string, error) {
	token, err := os.ReadFile(filepath.Join(home, tokenName))
	if errors.Is(err, os.ErrNotExist) {
		return "", ErrNoServer
	} else if err != nil {
		return "", fmt.Errorf("read the token of the server: %w", err)
	}
	ctx, stop := context.WithTimeout(ctx, linkWait)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/v1/logins", strings.NewReader(fmt.Sprintf(`{"port":%d}`, port)))
	if err != nil {
		return "", fmt.Errorf("ask the server for its page: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	r.Header.Set("Content-Type", "application/json")
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, home) }}}
	a, err := c.Do(r)
	var gone *net.OpError
	switch {
	case errors.As(err, &gone) && gone.Op == "dial":
		return "", ErrNoServer
	case err != nil:
		return "", fmt.Errorf("ask the server for its page: %w", err)
	}
	defer a.Body.Close() // it was read
	text, err := io.ReadAll(io.LimitReader(a.Body, mostBody))
	if err != nil {
		return "", fmt.Errorf("ask the server for its page: %w", err)
	}
	var made struct {
		URL string `json:"url"`
		RefusedError
	}
	switch err := json.Unmarshal(bytes.TrimSpace(text), &made); {
	case err != nil:
		return "", fmt.Errorf("ask the server for its page: it answered with %s", a.Status)
	case made.URL == "":
		return "", &made.RefusedError
	}
	return made.URL, nil
}

// RefusedError is a refusal of a server.
type RefusedError struct {
	Detail string   `json:"detail"`
	Next   []string `json:"next"`
}

func (e *RefusedError) Error() string { return e.Detail }

// Fixes are the commands that the server names.
func (e *RefusedError) Fixes() (all []view.Fix) {
	for _, command := range e.Next {
		all = append(all, view.Fix{Does: "instead", Command: command})
	}
	return all
}

// dial connects to the socket of a state folder.
func dial(ctx context.Context, home string) (net.Conn, error) {
	short, release, err := shortPath(home, filepath.Join(home, socketName))
	if err != nil {
		return nil, err
	}
	defer release()
	return new(net.Dialer).DialContext(ctx, "unix", short)
}
