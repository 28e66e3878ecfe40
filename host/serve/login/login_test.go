package login

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// clock is time that a test moves.
type clock struct{ now time.Duration }

func (c *clock) elapsed() time.Duration { return c.now }

func newDesk() (*Desk, *clock) {
	c := new(clock)
	return New(c.elapsed), c
}

func (d *Desk) mustRedeem(t *testing.T, code string) string {
	t.Helper()
	session, ok := d.Redeem(code)
	if !ok || !d.Known(session) {
		t.Fatalf("the code %s gives no session", code)
	}
	return session
}

// A code is good once. // S4
func TestCodeOnce(t *testing.T) {
	d, _ := newDesk()
	code := d.Code()
	d.mustRedeem(t, code)
	if _, ok := d.Redeem(code); ok {
		t.Error("the code was good twice")
	}
}

// A code is good for a minute. // S4
func TestCodeExpires(t *testing.T) {
	d, c := newDesk()
	inTime, late := d.Code(), d.Code()
	c.now += CodeLife - 1
	d.mustRedeem(t, inTime)
	c.now++
	if _, ok := d.Redeem(late); ok {
		t.Error("the code was good after a minute")
	}
}

// Five wrong tries void every code, also one that nobody guessed at. // S4
func TestWrongTriesVoidCodes(t *testing.T) {
	d, _ := newDesk()
	first, second := d.Code(), d.Code()
	wrong := func(n int) {
		for i := range n {
			if _, ok := d.Redeem(fmt.Sprint("guess", i)); ok {
				t.Fatal("a guess was good")
			}
		}
	}
	wrong(4)
	d.mustRedeem(t, first) // the fifth try is right: what was wrong before does not count any more
	wrong(5)
	if _, ok := d.Redeem(second); ok {
		t.Error("the sixth try was good")
	}
	d.mustRedeem(t, d.Code())
}

// A code is no session, and a session no code. // S4
func TestCodeIsNoSession(t *testing.T) {
	d, _ := newDesk()
	code := d.Code()
	if d.Known(code) || d.Known("") {
		t.Error("a code is taken for a session")
	}
	session := d.mustRedeem(t, code)
	if _, ok := d.Redeem(session); ok {
		t.Error("a session is taken for a code")
	}
	if len(code) < 26 || len(session) < 52 { // five bits a letter
		t.Errorf("a code has %d letters and a session %d", len(code), len(session))
	}
}

// A session lasts while it is used. // S5
func TestSessionLife(t *testing.T) {
	d, c := newDesk()
	used, idle, ended := d.mustRedeem(t, d.Code()), d.mustRedeem(t, d.Code()), d.mustRedeem(t, d.Code())
	d.End(ended)
	if d.Known(ended) {
		t.Error("the session that was ended is open")
	}
	c.now += SessionLife - 1
	if !d.Known(used) {
		t.Error("the session ended too early")
	}
	c.now++
	if d.Known(idle) {
		t.Error("the session outlives twelve hours without use")
	}
	if !d.Known(used) {
		t.Error("the session ended although it was used")
	}
	c.now += SessionLife
	if d.Known(used) {
		t.Error("the session has no end")
	}
}

// What is kept does not grow: the oldest code ends, and the session that was not used for longest.
func TestDeskIsBounded(t *testing.T) {
	d, _ := newDesk()
	first := d.mustRedeem(t, d.Code())
	second := d.mustRedeem(t, d.Code())
	for range mostSessions - 1 {
		if !d.Known(first) {
			t.Fatal("the session that is used has ended")
		}
		d.mustRedeem(t, d.Code())
	}
	if d.Known(second) || !d.Known(first) || len(d.sessions) != mostSessions {
		t.Errorf("%d sessions are kept", len(d.sessions))
	}
	code := d.Code()
	for range mostCodes {
		d.Code()
	}
	if _, ok := d.Redeem(code); ok || len(d.codes) != mostCodes {
		t.Errorf("%d codes are kept", len(d.codes))
	}
}

// What is kept in memory is a digest of a secret, and not the secret. // S4
func TestOnlyDigestsAreKept(t *testing.T) {
	d, _ := newDesk()
	code := d.Code()
	session := d.mustRedeem(t, d.Code())
	kept := fmt.Sprintf("%v %v", d.codes, d.sessions)
	for _, secret := range []string{code, session} {
		if strings.Contains(kept, secret) {
			t.Errorf("%s is kept", secret)
		}
	}
}
