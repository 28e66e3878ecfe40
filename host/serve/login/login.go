// Package login has a browser get in without a password: whoever can read the token of a server has
// it make a code, which is good for one session, once and for a minute. Sessions are kept in
// memory alone, so whoever takes the port of a server that has ended is sent a secret that is worth
// nothing any more.
package login

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"slices"
	"sync"
	"time"
)

const (
	// CodeLife is how long a code may be used.
	CodeLife = time.Minute
	// SessionLife is how long a session lasts that is not used.
	SessionLife = 12 * time.Hour

	mostWrong    = 5 // tries, after which all codes are void
	mostCodes    = 16
	mostSessions = 64
	codeBytes    = 16
	sessionBytes = 32
)

// Desk gives out codes and takes them for sessions. It keeps digests alone.
type Desk struct {
	elapsed func() time.Duration // since any moment; it never goes back

	mu       sync.Mutex
	codes    []entry
	sessions []entry
	wrong    int
}

// entry is a secret by its digest, and until when it is good.
type entry struct {
	sum   [sha256.Size]byte
	until time.Duration
}

// New makes a desk that measures time by elapsed.
func New(elapsed func() time.Duration) *Desk { return &Desk{elapsed: elapsed} }

// Code makes a code. Where there are too many, the oldest is void.
func (d *Desk) Code() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	code, e := secret(codeBytes, d.elapsed()+CodeLife)
	d.codes = add(d.codes, e, mostCodes)
	return code
}

// Redeem takes a code for a session. After some wrong tries in a row all codes are void.
func (d *Desk) Redeem(code string) (session string, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.elapsed()
	i := find(d.codes, code, now)
	if i < 0 {
		if d.wrong++; d.wrong >= mostWrong {
			d.codes, d.wrong = nil, 0
		}
		return "", false
	}
	d.codes, d.wrong = slices.Delete(d.codes, i, i+1), 0
	session, e := secret(sessionBytes, now+SessionLife)
	d.sessions = add(d.sessions, e, mostSessions)
	return session, true
}

// Known says whether a session is open; if so, it lasts longer by this.
func (d *Desk) Known(session string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.elapsed()
	i := find(d.sessions, session, now)
	if i < 0 {
		return false
	}
	// The last one is that which was used last: the first ends where there are too many.
	e := d.sessions[i]
	e.until = now + SessionLife
	d.sessions = append(slices.Delete(d.sessions, i, i+1), e)
	return true
}

// End ends a session.
func (d *Desk) End(session string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if i := find(d.sessions, session, d.elapsed()); i >= 0 {
		d.sessions = slices.Delete(d.sessions, i, i+1)
	}
}

// secret makes a random text of n bytes, in letters that a terminal takes for a part of a link.
func secret(n int, until time.Duration) (string, entry) {
	b := make([]byte, n)
	rand.Read(b) // never fails: crypto/rand ends the process instead
	text := base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding).EncodeToString(b)
	return text, entry{sha256.Sum256([]byte(text)), until}
}

func add(all []entry, e entry, most int) []entry {
	if len(all) >= most {
		all = slices.Delete(all, 0, len(all)-most+1)
	}
	return append(all, e)
}

// find is where a secret stands, in a time that does not depend on how near it is to one; less than
// zero for nowhere.
func find(all []entry, text string, now time.Duration) int {
	sum, found := sha256.Sum256([]byte(text)), -1
	for i, e := range all {
		if subtle.ConstantTimeCompare(sum[:], e.sum[:]) == 1 && now < e.until {
			found = i
		}
	}
	return found
}
