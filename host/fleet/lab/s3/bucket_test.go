package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"agent/fleet/log"
	"agent/fleet/log/logtest"
)

var places = flag.Int("places", 1000, "for how many places writers race in each server")

const secret = "canary+of/the+secret"

// keys gives the test credentials.
func keys(tb testing.TB) {
	tb.Setenv("AWS_ACCESS_KEY_ID", "lab")
	tb.Setenv("AWS_SECRET_ACCESS_KEY", secret)
	tb.Setenv("AWS_SESSION_TOKEN", "")
	tb.Setenv("AWS_REGION", "")
	tb.Setenv("AWS_DEFAULT_REGION", "")
}

func url(address, more string) string { return "s3://logs/ci?endpoint=http://" + address + more }

func opener(url string) logtest.Open {
	return func(ctx context.Context, namespace string) (log.Log, error) { return log.Open(ctx, url, namespace) }
}

// requests stands before a server in memory. Each test disturbs it as it wants.
type requests struct {
	next    http.Handler
	disturb func(w http.ResponseWriter, r *http.Request, next http.Handler) bool // it has answered

	mu    sync.Mutex
	lists int
	puts  int
}

func (s *requests) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	switch {
	case r.Method == http.MethodPut:
		s.puts++
	case r.URL.Query().Has("list-type"):
		s.lists++
	}
	s.mu.Unlock()
	if s.disturb == nil || !s.disturb(w, r, s.next) {
		s.next.ServeHTTP(w, r)
	}
}

// memory serves a bucket from memory, which answers soon.
func memory(tb testing.TB, disturb func(w http.ResponseWriter, r *http.Request, next http.Handler) bool) (*requests, string) {
	tb.Helper()
	keys(tb)
	store := s3mem.New()
	if err := store.CreateBucket("logs"); err != nil {
		tb.Fatal(err)
	}
	s := &requests{next: gofakes3.New(store, gofakes3.WithLogger(gofakes3.DiscardLog())).Server(), disturb: disturb}
	l := httptest.NewServer(s)
	tb.Cleanup(l.Close)
	return s, l.Listener.Addr().String()
}

func TestMemoryConforms(t *testing.T) {
	_, address := memory(t, nil)
	logtest.Run(t, *places, opener(url(address, "&region=eu-west-1")))
}

func opened(tb testing.TB, address string) log.Log {
	tb.Helper()
	l, err := log.Open(tb.Context(), url(address, ""), "ns")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := l.Close(); err != nil {
			tb.Error(err)
		}
	})
	return l
}

// refused fails the test unless the log is refused for a reason, in a text that has no secret and
// no control character.
func refused(t *testing.T, url, want string) {
	t.Helper()
	l, err := log.Open(t.Context(), url, "ns")
	if err == nil {
		_ = l.Close()
		t.Fatalf("%s was opened", url)
	}
	printable(t, err, want)
}

func printable(t *testing.T, err error, want string) {
	t.Helper()
	t.Log(err)
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), secret) || strings.ContainsAny(err.Error(), "\x1b\x07\n") {
		t.Errorf("%q is not about %q", err, want)
	}
}

func TestAServerThatIgnoresTheConditionIsRefused(t *testing.T) {
	_, address := memory(t, func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		r.Header.Del("If-None-Match")
		return false
	})
	refused(t, url(address, ""), "ignores If-None-Match")
}

// A server that looks first and writes then has the condition, and is found by the race only.
func TestAServerThatLooksFirstDoesNotConform(t *testing.T) {
	_, address := memory(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		if r.Method != http.MethodPut {
			return false
		}
		head := httptest.NewRecorder()
		next.ServeHTTP(head, httptest.NewRequest(http.MethodHead, r.URL.String(), nil))
		if head.Code == http.StatusOK {
			answer(w, http.StatusPreconditionFailed, "PreconditionFailed", "there is one")
			return true
		}
		r.Header.Del("If-None-Match")
		return false
	})
	race := logtest.Checks(10_000)[0]
	err := race.Run(t.Context(), opener(url(address, "")))
	if err == nil {
		t.Fatal("four writers raced for 10000 places, and each had one winner: the check does not find what it is for")
	}
	t.Log(err)
}

func answer(w http.ResponseWriter, status int, code, text string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, text)
}

func TestDeniedAccessIsNamed(t *testing.T) {
	for name, denied := range map[string]func(r *http.Request) bool{
		"to write": func(r *http.Request) bool { return r.Method == http.MethodPut },
		"to read":  func(r *http.Request) bool { return strings.Contains(r.URL.Path, "probe") && r.Method == http.MethodGet },
		"to list":  func(r *http.Request) bool { return r.URL.Query().Has("list-type") },
	} {
		t.Run(name, func(t *testing.T) {
			_, address := memory(t, func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
				if denied(r) {
					answer(w, http.StatusForbidden, "AccessDenied", "Access Denied")
				}
				return denied(r)
			})
			refused(t, url(address, ""), "a host needs s3:PutObject")
		})
	}
}

func TestCredentialsAreLookedFor(t *testing.T) {
	_, address := memory(t, nil)
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/role")
	refused(t, url(address, ""), "there are no credentials")
	if err := os.Mkdir(filepath.Join(home, ".aws"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := "[ci]\naws_access_key_id = lab\naws_secret_access_key = " + secret + "\n"
	if err := os.WriteFile(filepath.Join(home, ".aws", "credentials"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, url(address, ""), "there are no credentials")
	t.Setenv("AWS_PROFILE", "ci")
	opened(t, address)
}

// What is no text in an answer does not reach a terminal.
func TestAnswersAreCleaned(t *testing.T) {
	_, address := memory(t, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, "\x1b]0;owned\x07\x1b[2Jno bucket\nhere")
		return true
	})
	refused(t, url(address, "&region=x"), "no bucket")
}

// A page on the way is neither an entry nor the absence of one.
func TestAPageIsNoAnswer(t *testing.T) {
	var between atomic.Int64
	_, address := memory(t, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
		status := int(between.Load())
		if status != 0 {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<!doctype html><title>sign in<br>")
		}
		return status != 0
	})
	l := opened(t, address)
	for _, status := range []int64{http.StatusOK, http.StatusNotFound, http.StatusFound} {
		between.Store(status)
		if err := l.Create(t.Context(), "r-a", 1, []byte("x")); err == nil || errors.Is(err, log.ErrTaken) {
			t.Errorf("%d: create gave: %v", status, err)
		}
		if _, err := l.Last(t.Context(), "r-a"); err == nil {
			t.Errorf("%d: the log seems empty", status)
		}
		if _, err := l.Read(t.Context(), "r-a", 1); status != http.StatusOK && (err == nil || errors.Is(err, log.ErrNone)) {
			t.Errorf("%d: read gave: %v", status, err)
		}
	}
}

// An answer that gets lost is unknown, and is not asked for again.
func TestALostAnswerIsUnknown(t *testing.T) {
	var lose atomic.Bool
	s, address := memory(t, func(_ http.ResponseWriter, r *http.Request, next http.Handler) bool {
		if r.Method != http.MethodPut || !lose.Load() {
			return false
		}
		next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	})
	l := opened(t, address)
	lose.Store(true)
	before := s.puts
	if err := l.Create(t.Context(), "r-a", 1, []byte("x")); err == nil || errors.Is(err, log.ErrTaken) {
		t.Errorf("create gave: %v", err)
	}
	if s.puts != before+1 {
		t.Errorf("it was put %d times", s.puts-before)
	}
	if data, err := l.Read(t.Context(), "r-a", 1); err != nil || string(data) != "x" {
		t.Errorf("there is %q: %v", data, err)
	}
}

// What a server could not decide is asked again, and unknown where that goes on.
func TestAConflictIsAskedAgain(t *testing.T) {
	var left atomic.Int64
	_, address := memory(t, func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		if r.Method != http.MethodPut || left.Add(-1) < 0 {
			return false
		}
		answer(w, http.StatusConflict, "ConditionalRequestConflict", "another request is under way")
		return true
	})
	l := opened(t, address)
	left.Store(2)
	if err := l.Create(t.Context(), "r-a", 1, []byte("x")); err != nil {
		t.Error(err)
	}
	left.Store(2)
	if err := l.Create(t.Context(), "r-a", 1, []byte("y")); !errors.Is(err, log.ErrTaken) {
		t.Errorf("the place was taken, and create gave: %v", err)
	}
	left.Store(1000)
	err := l.Create(t.Context(), "r-a", 2, []byte("x"))
	if errors.Is(err, log.ErrTaken) {
		t.Error("nobody has the place, and it is taken")
	}
	printable(t, err, "ConditionalRequestConflict")
}

func TestAnObjectThatIsTooLargeIsNotRead(t *testing.T) {
	_, address := memory(t, func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		large := strings.Contains(r.URL.Path, "r-large")
		if large {
			w.Header().Set("Content-Length", "1000000000000")
			w.Header().Set("Last-Modified", time.Unix(0, 0).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusOK)
		}
		return large
	})
	_, err := opened(t, address).Read(t.Context(), "r-large", 1)
	printable(t, err, "it is no entry")
}

// The end of a long log is found by one request; what else lies there does not count.
func TestALongLogAndManyRoots(t *testing.T) {
	s, address := memory(t, nil)
	l := opened(t, address)
	for place := int64(1); place <= 1100; place++ {
		if err := l.Create(t.Context(), "r-long", place, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if err := l.Create(t.Context(), fmt.Sprintf("r-%04d", place), 1, []byte("x")); err != nil {
			t.Fatal(err)
		}
	}
	before := s.lists
	if last, err := l.Last(t.Context(), "r-long"); err != nil || last != 1100 || s.lists != before+1 {
		t.Errorf("the last place is %d after %d requests: %v", last, s.lists-before, err)
	}
	for _, name := range []string{"0", "readme", "0000000000000000000-1", "9223372036854770000-1"} {
		r, err := http.NewRequest(http.MethodPut, "http://"+address+"/logs/ci/ns/r-long/"+name, strings.NewReader("x"))
		if err == nil {
			var done *http.Response
			if done, err = http.DefaultClient.Do(r); err == nil {
				err = done.Body.Close()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if last, err := l.Last(t.Context(), "r-long"); err != nil || last != 1100 {
		t.Errorf("with other objects there, the last place is %d: %v", last, err)
	}
	roots := 0
	err := l.Roots(t.Context(), func(string) error { roots++; return nil })
	if err != nil || roots != 1101 {
		t.Errorf("there are %d roots: %v", roots, err)
	}
	gone, stop := context.WithCancel(t.Context())
	stop()
	if _, err := l.Last(gone, "r-long"); err == nil {
		t.Error("nobody waited for the answer, and the log seems empty")
	}
}
