package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"agent/host/model/catalog"
)

// keyring holds the keys of this process by provider, so that a command is asked once. Keys are in no argument, log, record
// or error.
type keyring struct {
	mu   sync.Mutex
	held map[string]*keeper
}

// of is the keeper of a provider's key.
func (k *keyring) of(p catalog.Provider, getenv func(string) string) *keeper {
	k.mu.Lock()
	defer k.mu.Unlock()
	// The address is part of it: at another one another key may be had.
	name := p.Name + "\x00" + p.BaseURL
	if h := k.held[name]; h != nil {
		return h
	}
	if k.held == nil {
		k.held = map[string]*keeper{}
	}
	k.held[name] = &keeper{p: p, getenv: getenv}
	return k.held[name]
}

// keeper gets one provider's key and keeps it until it is refused.
type keeper struct {
	p      catalog.Provider
	getenv func(string) string

	mu   sync.Mutex
	key  string
	past []string // keys that were refused are secrets still
}

// get is the key; "" when the provider needs none. The error never holds one.
func (k *keeper) get(ctx context.Context) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != "" {
		return k.key, nil
	}
	key := ""
	switch {
	case len(k.p.KeyCmd) > 0:
		var err error
		if key, err = runKeyCommand(ctx, k.p.KeyCmd); err != nil {
			return "", err
		}
	case k.p.KeyEnv == "":
		return "", nil
	default:
		key = strings.TrimSpace(k.getenv(k.p.KeyEnv))
		if key == "" && k.p.From == "--base-url" && catalog.Loopback(k.p.BaseURL) {
			return "", nil
		}
		if key == "" {
			return "", fmt.Errorf("there is no key for %s: %s is not set", k.p.Name, k.p.KeyEnv)
		}
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fmt.Errorf("the key for %s holds spaces or letters that no key has", k.p.Name)
	}
	k.key = key
	return key, nil
}

// forget drops the key: the provider does not accept it.
func (k *keeper) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != "" {
		k.past = append(k.past, k.key)
	}
	k.key = ""
}

// secrets are the values that must be shown and recorded nowhere.
func (k *keeper) secrets() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := append([]string{}, k.past...)
	if k.key != "" {
		all = append(all, k.key)
	}
	return all
}

// A command that prints a key may ask the person for a password first.
const (
	keyWait   = 30 * time.Second
	keyOutput = 64 << 10
)

// runKeyCommand runs a command, without a shell, and returns the first line that it prints. What it prints on stdout is in no
// error.
func runKeyCommand(ctx context.Context, words []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, keyWait)
	defer cancel()
	var out, complaint bytes.Buffer
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	c.Stdout, c.Stderr = &limited{&out, keyOutput}, &limited{&complaint, keyOutput}
	c.WaitDelay = time.Second // for what it started and left behind
	err := c.Run()
	name := strings.Join(words, " ")
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended well; something that it started holds its output
	}
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", fmt.Errorf("get the key with %s: it did not end within %s", name, keyWait)
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		said := strings.Join(strings.Fields(complaint.String()), " ")
		if said != "" {
			said = ": " + strings.ToValidUTF8(said[:min(len(said), 500)], "")
		}
		return "", fmt.Errorf("get the key with %s: %v%s", name, err, said)
	}
	first, _, _ := strings.Cut(out.String(), "\n")
	if first = strings.TrimSpace(first); first == "" {
		return "", fmt.Errorf("get the key with %s: it printed nothing", name)
	}
	return first, nil
}

// limited keeps the beginning of what is written.
type limited struct {
	w    io.Writer
	left int
}

// Write takes everything.
func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	if _, err := l.w.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}
