package page

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	numbers "encoding/binary"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// A newer agent brings the database up to date: the server ends; the page says why and what to do.
func TestNewerAgent(t *testing.T) {
	w := newWorld(t, stories(asks("deploy", "Which environment?", "staging"))).serve()
	run := w.waiting("deploy it")
	b := w.login(open(t))
	b.at(run)
	b.shows("Which environment?")
	db, err := sql.Open("sqlite", filepath.Join(w.home, "agent.db")+"?_pragma=busy_timeout(20000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() // what it wrote is committed
	var was int
	if err := db.QueryRow("PRAGMA user_version").Scan(&was); err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(fmt.Sprintf("PRAGMA user_version = %d", was+1)); err != nil {
		t.Fatal(err)
	}
	b.shows("A newer agent has brought the database up to date")
	b.shows("agent serve")
	b.until(`document.getElementById("how").textContent === "offline"`)
	b.shows("A newer agent has brought the database up to date") // and not only that nobody answers
	b.lacks("The server does not answer")
	if err := w.server.Wait(); err == nil || w.server.ProcessState.ExitCode() != 1 {
		t.Errorf("the server ended: %v", err)
	}
	w.server = nil
	// It is started again, here the one of before, and the page is as it was.
	if _, err := db.Exec(fmt.Sprintf("PRAGMA user_version = %d; PRAGMA wal_checkpoint(TRUNCATE)", was)); err != nil {
		t.Fatal(err)
	}
	w.serve()
	b.shows("No session")
	b.lacks("A newer agent")
	w.login(b.beside())
	b.shows("Which environment?")
	b.clean(w.page)
}

// A newer agent wrote a fact of a kind that this server does not know: the page says so and what to
// do, and shows everything else.
func TestUnknownKind(t *testing.T) {
	w := newWorld(t, stories(counted("do it"))).serve("--recover", "none")
	run := w.interrupted("do it once")
	b := w.login(open(t))
	b.at(run)
	b.shows("The process that drove it died.")
	b.lacks("A newer agent")
	w.newerFact()
	b.do(chromedp.Reload())
	b.shows("A newer agent wrote a part of this")
	b.shows("agent serve")
	b.shows("The process that drove it died.")
	b.shows("do it once")
	b.clean(w.page)
}

// newerFact turns the last fact of the journal into one that a newer agent wrote, with its digest.
func (w *world) newerFact() {
	w.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(w.home, "agent.db")+"?_pragma=busy_timeout(20000)")
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close() // what it wrote is committed
	var id, version, turn, at int64
	var body string
	var before []byte
	const last = "SELECT j.id, j.v, j.turn, j.time, j.body, p.digest FROM journal j JOIN journal p ON p.id = j.id - 1 ORDER BY j.id DESC LIMIT 1"
	if err := db.QueryRow(last).Scan(&id, &version, &turn, &at, &body, &before); err != nil {
		w.t.Fatal(err)
	}
	const kind = 200
	text := bytes.Clone(before)
	for _, n := range []int64{id, kind, version, turn, at} {
		text = numbers.BigEndian.AppendUint64(text, uint64(n))
	}
	hash := sha256.Sum256([]byte(body))
	sum := sha256.Sum256(append(text, hash[:]...))
	if _, err := db.Exec("UPDATE journal SET kind = ?, digest = ? WHERE id = ?", kind, sum[:len(before)], id); err != nil {
		w.t.Fatal(err)
	}
}
