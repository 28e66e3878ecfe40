package serve

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"agent/host/app"
	"agent/host/owner"
	"agent/host/view"
	"agent/tools/durable"
)

// The files of a server in its state folder.
const (
	lockName   = "serve" // in the folder locks
	socketName = "serve.sock"
	tokenName  = "token"
	aboutName  = "serve.json"
)

// TakenError says that another process serves the state folder.
type TakenError struct {
	Holder string
	Since  time.Time // zero: not known
	Page   string    // where it shows its page; empty where it does not
}

// Error names who serves.
func (e *TakenError) Error() string {
	text := fmt.Sprintf("serve: %s serves this state folder already", e.Holder)
	if !e.Since.IsZero() {
		text += fmt.Sprintf(" (since %s)", e.Since.Local().Format(time.DateTime))
	}
	if e.Page != "" {
		text += ", with its page on " + e.Page
	}
	return text
}

// Fixes is what has its page shown.
func (e *TakenError) Fixes() []view.Fix {
	return []view.Fix{{Does: "see its page", Command: "agent web"}}
}

// ReadOnlyError says that there is no server in a state folder that cannot be written: its socket
// would lie there.
type ReadOnlyError struct {
	Home string
	Err  error // how that was seen
}

func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("serve: the socket of a server lies in %s, which cannot be written: make it writable (%v)", e.Home, e.Err)
}

func (e *ReadOnlyError) Unwrap() error { return e.Err }

// Fixes are the ways to read what is there, and to serve elsewhere.
func (e *ReadOnlyError) Fixes() []view.Fix {
	return []view.Fix{
		{Does: "read its runs", Command: "agent ls --all"}, {Does: "check it", Command: "agent doctor"},
		{Does: "serve another", Command: "AGENT_HOME=FOLDER agent serve"},
	}
}

// about is what serve.json says, for whoever looks for the server.
type about struct {
	Version int       `json:"version"`
	PID     int       `json:"pid"`
	Host    string    `json:"host"`
	Started time.Time `json:"started_at"`
	Socket  string    `json:"socket"`
	Page    string    `json:"page,omitempty"` // where it is shown
}

func takeLock(folder *app.Folder) (io.Closer, error) {
	lock, err := folder.Locks().Take(lockName)
	var held *owner.HeldError
	if !errors.As(err, &held) {
		return lock, err
	}
	taken := &TakenError{Holder: held.Holder.String()}
	var now about
	text, err := os.ReadFile(filepath.Join(folder.Home, aboutName))
	if err == nil && json.Unmarshal(text, &now) == nil && now.PID == held.Holder.PID { // else the process alone is named
		taken.Since, taken.Page = now.Started, now.Page
	}
	return nil, taken
}

// announce writes where this server is, and says it. Without that file there is a server all the
// same: on a full disk it shows what is recorded.
func (s *Server) announce() {
	v, err := s.writeAbout()
	s.o.Say("agent serve: process %d, socket %s", v.PID, v.Socket)
	switch {
	case s.o.Link != nil: // it names the page
	case v.Page != "":
		s.o.Say("  page on %s (open it with: agent web)", v.Page)
	default:
		s.o.Say("  no page is shown (agent web shows it)")
	}
	if err != nil {
		s.o.Say("warning: %v", err)
	}
	if warning := unchecked(); warning != "" {
		s.o.Say("warning: %s", warning)
	}
}

// writeAbout writes where this server is.
func (s *Server) writeAbout() (about, error) {
	home, self := s.o.Folder.Home, s.o.Folder.Self
	v := about{Version: 1, PID: self.PID, Host: self.Host, Started: s.started, Socket: filepath.Join(home, socketName), Page: s.door.address()}
	text, err := json.Marshal(v)
	if err == nil {
		err = durable.Replace(filepath.Join(home, aboutName), 0o600, bytes.NewReader(append(text, '\n')))
	}
	if err != nil {
		return v, fmt.Errorf("write %s: %w", aboutName, err)
	}
	return v, nil
}

// found says whether the socket of the state folder is this server's: not where the folder, or the
// socket alone, was removed or replaced.
func (s *Server) found() bool {
	if s.socket == nil {
		return true
	}
	now, err := os.Lstat(filepath.Join(s.o.Folder.Home, socketName))
	return err == nil && os.SameFile(now, s.socket)
}

// withdraw removes what says where this server is, unless that is another one by now. The lock is
// still held.
func (s *Server) withdraw() error {
	if s.socket == nil || !s.found() {
		return nil
	}
	var errs []error
	for _, name := range []string{aboutName, socketName} {
		if err := os.Remove(filepath.Join(s.o.Folder.Home, name)); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// readToken is the digest of the credential, which is made at the first start, and again where its
// file does not hold one or could be read by others.
func readToken(home string) ([32]byte, error) {
	path := filepath.Join(home, tokenName)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return [32]byte{}, fmt.Errorf("read the token: %w", err)
	}
	token := strings.TrimSuffix(string(text), "\n")
	if raw, bad := hex.DecodeString(token); err == nil && bad == nil && len(raw) == sha256.Size && closed(path) {
		return sha256.Sum256([]byte(token)), nil
	}
	var b [sha256.Size]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	token = hex.EncodeToString(b[:])
	if err := durable.Replace(path, 0o600, strings.NewReader(token+"\n")); err != nil {
		return [32]byte{}, fmt.Errorf("make a token: %w", err)
	}
	return sha256.Sum256([]byte(token)), nil
}
