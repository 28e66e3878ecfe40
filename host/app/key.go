package app

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

// keyring holds the keys of this process by provider, so that a command is asked once. Keys are in
// no argument, log, record or error.
type keyring struct {
	mu   sync.Mutex
	held map[string]*keySource

	fetched [][2]string                // provider and key
	tell    func(provider, key string) // nil until somebody wants to know
}

// key is the keeper of a provider's key.
func (a *App) key(p catalog.Provider) *keySource { return a.keys.of(p, a.Env, a.Complaints) }

// of is the keeper of a provider's key. What a command that prints one complains of goes to
// complaints, and nowhere else.
func (k *keyring) of(p catalog.Provider, getenv func(string) string, complaints io.Writer) *keySource {
	k.mu.Lock()
	defer k.mu.Unlock()
	// The address is part of it: at another one another key may be had.
	name := p.Name + "\x00" + p.BaseURL
	if h := k.held[name]; h != nil {
		return h
	}
	if k.held == nil {
		k.held = map[string]*keySource{}
	}
	k.held[name] = &keySource{ring: k, p: p, getenv: getenv, complaints: complaints}
	return k.held[name]
}

// keySource gets one provider's key and keeps it until it is refused.
type keySource struct {
	ring       *keyring
	p          catalog.Provider
	getenv     func(string) string
	complaints io.Writer

	mu   sync.Mutex
	key  string
	past []string // keys that were refused are secrets still
}

// keylessError says that there is no key to ask with.
type keylessError struct{ text string }

func (e *keylessError) Error() string { return e.text }

func keyless(format string, args ...any) error { return &keylessError{fmt.Sprintf(format, args...)} }

// allowHTTP is the line of the configuration, below the provider's table, that lets its key go over
// plain HTTP.
const allowHTTP = "allow_http = true"

// exposedKey refuses to send a provider's key to its address.
func exposedKey(p catalog.Provider) error {
	return keyless("the key of %s is not sent to %s unencrypted", p.Name, hostOf(p.BaseURL))
}

// get is the key; "" when the provider needs none. The error is a *keylessError or the context's
// own, and holds neither a key nor anything that a command printed.
func (k *keySource) get(ctx context.Context) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != "" {
		return k.key, nil
	}
	key := ""
	switch {
	case k.p.Exposed():
		return "", exposedKey(k.p) // before a command is asked for what would not be used
	case len(k.p.KeyCmd) > 0:
		var err error
		if key, err = k.run(ctx, keyWait); err != nil {
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
			return "", keyless("there is no key for %s: %s is not set", k.p.Name, k.p.KeyEnv)
		}
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", keyless("the key for %s holds spaces or letters that no key has", k.p.Name)
	}
	k.key = key
	k.ring.got(k.p.Name, key)
	return key, nil
}

// forget drops the key: the provider does not accept it.
func (k *keySource) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != "" {
		k.past = append(k.past, k.key)
	}
	k.key = ""
}

// secrets are the values that must be shown and recorded nowhere.
func (k *keySource) secrets() []string {
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
	keyOutput = 4 << 10
)

// run runs the command, without a shell, and returns the first line that it prints.
func (k *keySource) run(parent context.Context, wait time.Duration) (string, error) {
	ctx, cancel := context.WithTimeout(parent, wait)
	defer cancel()
	out := limited{left: keyOutput}
	c := exec.CommandContext(ctx, k.p.KeyCmd[0], k.p.KeyCmd[1:]...)
	c.Stdout, c.Stderr = &out, k.complaints
	c.WaitDelay = time.Second // for what it started and left behind
	err := runAlone(c)
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended well; something that it started holds its output
	}
	first, _, _ := strings.Cut(out.kept.String(), "\n")
	first = strings.TrimSpace(first)
	why := ""
	switch {
	case parent.Err() != nil:
		return "", parent.Err()
	case ctx.Err() != nil:
		why = fmt.Sprintf("it did not end within %s", wait)
	case err != nil:
		why = err.Error() // of the command line this names the first word at most
	case out.left < 0:
		why = fmt.Sprintf("it printed more than %d KiB", keyOutput>>10)
	case first == "":
		why = "it printed nothing"
	default:
		return first, nil
	}
	return "", keyless("get the key of %s with %s: %s; run the command yourself to see why", k.p.Name, commandName(k.p.KeyCmd), why)
}

// commandName is a command without its arguments, which may hold what is secret.
func commandName(words []string) string {
	if len(words) > 1 {
		return words[0] + " …"
	}
	return words[0]
}

// limited keeps the beginning of what is written. Where there was more, left is below 0.
type limited struct {
	kept bytes.Buffer
	left int
}

// Write takes everything.
func (l *limited) Write(p []byte) (int, error) {
	if n := min(len(p), max(l.left, 0)); n > 0 {
		l.kept.Write(p[:n])
	}
	l.left = max(-1, l.left-len(p))
	return len(p), nil
}
