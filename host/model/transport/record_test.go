package transport_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"agent/host/model/transport"
	"agent/recovery/journal"
)

// outcome is what came of one request.
type outcome struct {
	text    string
	fault   journal.Fault
	message string
}

func outcomeOf(t *testing.T, c client, o transport.Options, url string, turn int) outcome {
	t.Helper()
	text, err := drive(t, c, o, url, turn)
	if err == nil {
		return outcome{text: text}
	}
	e := transport.Explain(err, false)
	return outcome{text, e.Fault, e.Message}
}

// record makes a recording of run r-1 with what the function does, and returns its path.
func record(t *testing.T, do func(o transport.Options)) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "conversation.jsonl")
	recorder, err := transport.NewRecorder(file, transport.Header{Run: "r-1", Model: "m-1", Provider: "chat", BaseURL: "https://u:pw@host/v1?key=1"})
	if err != nil {
		t.Fatal(err)
	}
	do(transport.Options{Recorder: recorder, Idle: time.Second, Secrets: func() []string { return []string{testKey, plainKey} }})
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	return file
}

func open(t *testing.T, file string) *transport.Replay {
	t.Helper()
	replay, err := transport.OpenReplay(file)
	if err != nil {
		t.Fatal(err)
	}
	return replay
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// troubled is a server that fails in another way at each request, and answers at last.
func troubled() func(w http.ResponseWriter, r *http.Request, ended <-chan struct{}) {
	var mu sync.Mutex
	asked := 0
	return func(w http.ResponseWriter, r *http.Request, ended <-chan struct{}) {
		mu.Lock()
		asked++
		n := asked
		mu.Unlock()
		switch n {
		case 1:
			hijack(w, true, "")
		case 2:
			w.Header().Set("Retry-After", "30")
			w.WriteHeader(http.StatusTooManyRequests)
			io.WriteString(w, `{"error":{"type":"rate_limit_error","message":"slower"}}`)
		case 3:
			answers(w, r)
			hijack(w, true, "")
		case 4:
			answers(w, r)
			<-ended
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			for _, event := range speak(r.URL.Path, fmt.Sprintf("ans\u00e9wer %d ", n), "\u2713") {
				io.WriteString(w, event)
				w.(http.Flusher).Flush()
			}
		}
	}
}

// A conversation comes out of its recording as it was, failed attempts first, through every
// protocol and without a network. After the last one the last success comes again.
func TestReplayIsWhatWasRecorded(t *testing.T) {
	for name, through := range clients() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turns := []int{1, 1, 1, 1, 1, 2, 2, 3}
			var recorded []outcome
			file := record(t, func(o transport.Options) {
				s := serve(t, troubled())
				for _, turn := range turns {
					recorded = append(recorded, outcomeOf(t, through, o, s.URL, turn))
				}
			})
			for i, fault := range []journal.Fault{journal.FaultNetwork, journal.FaultRateLimit, journal.FaultCut, journal.FaultStalled, ""} {
				if recorded[i].fault != fault {
					t.Errorf("attempt %d: got %+v, want %q", i+1, recorded[i], fault)
				}
			}
			replay := open(t, file)
			o := transport.Options{Base: replay.Transport()}
			for i, turn := range turns {
				if got := outcomeOf(t, through, o, "http://nowhere.invalid", turn); got != recorded[i] {
					t.Errorf("request %d of turn %d:\n got %+v\nwant %+v", i+1, turn, got, recorded[i])
				}
			}
			if got := outcomeOf(t, through, o, "http://nowhere.invalid", 1); got != recorded[4] {
				t.Errorf("after the last: got %+v", got)
			}
			// A process that resumes the run asks for its turn first.
			o.Base = open(t, file).Transport()
			if got := outcomeOf(t, through, o, "http://nowhere.invalid", 3); got != recorded[7] {
				t.Errorf("after a crash: got %+v", got)
			}
			got := outcomeOf(t, through, o, "http://nowhere.invalid", 9)
			if want := "replay " + file + ": turn 9 is not in the recording, which has 3 turns"; got.fault != journal.FaultRequest || got.message != want {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// The provider's wish to wait is kept only with the recorded timing: at full speed nobody waits for
// it.
func TestReplayWithoutWaiting(t *testing.T) {
	file := record(t, func(o transport.Options) {
		s := serve(t, troubled())
		for range 2 {
			outcomeOf(t, throughChat, o, s.URL, 1)
		}
	})
	for _, timing := range []bool{false, true} {
		replay := open(t, file)
		replay.Timing(timing)
		o := transport.Options{Base: replay.Transport()}
		outcomeOf(t, throughChat, o, "http://nowhere.invalid", 1)
		_, err := drive(t, throughChat, o, "http://nowhere.invalid", 1)
		want := map[bool]time.Duration{false: 0, true: 30 * time.Second}[timing]
		if e := transport.Explain(err, false); e.Fault != journal.FaultRateLimit || e.After != want {
			t.Errorf("timing %v: got %+v", timing, e)
		}
	}
}

// Pauses are recorded, and come again when they are asked for.
func TestTiming(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := script{headers: 2 * time.Second, moments: []moment{{time.Second, "data: 1\n\n"}, {3 * time.Second, "data: 2\n\n"}, {4 * time.Second, ""}}}
		file := filepath.Join(t.TempDir(), "f")
		recorder, err := transport.NewRecorder(file, transport.Header{Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bare(t.Context(), 1, transport.Client(transport.Options{Base: server, Recorder: recorder}), "http://script.invalid", testKey); err != nil {
			t.Fatal(err)
		}
		if err := recorder.Close(); err != nil {
			t.Fatal(err)
		}
		for timing, want := range map[bool]time.Duration{false: 0, true: 10 * time.Second} {
			replay := open(t, file)
			replay.Timing(timing)
			began := time.Now()
			if _, err := bare(t.Context(), 1, transport.Client(transport.Options{Base: replay.Transport()}), "http://nowhere.invalid", ""); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(began); took != want {
				t.Errorf("timing %v took %s, want %s", timing, took, want)
			}
		}
	})
}

// A turn that asked for a summary before its answer gets each from the request of its kind,
// whichever is asked first.
func TestReplayOfSeveralKinds(t *testing.T) {
	ask := func(o transport.Options, url, tools, text string) string {
		body := fmt.Sprintf(`{"stream":true,"tools":[%s],"messages":[%q]}`, tools, text)
		req, err := http.NewRequestWithContext(transport.WithTurn(t.Context(), 4), http.MethodPost, url+"/v1/messages", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := transport.Client(o).Do(req)
		if err != nil {
			return transport.Explain(err, false).Message
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		if err != nil {
			return err.Error()
		}
		return string(got)
	}
	file := record(t, func(o transport.Options) {
		s := serveBody(t, func(w http.ResponseWriter, body string) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, "data: "+body+"\n\n")
		})
		for _, kind := range []string{"", `"shell"`} {
			ask(o, s, kind, "first")
		}
	})
	o := transport.Options{Base: open(t, file).Transport()}
	for _, tools := range []string{`"shell"`, "", `"shell"`} {
		if got, want := ask(o, "http://nowhere.invalid", tools, "other words"), fmt.Sprintf("data: {\"stream\":true,\"tools\":[%s],\"messages\":[\"first\"]}\n\n", tools); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := ask(o, "http://nowhere.invalid", `"another"`, ""); !strings.Contains(got, `"tools":[]`) {
		t.Errorf("a kind that was not recorded gets the turn's exchanges in order, got %q", got)
	}
}

// An exchange that was aborted, by Ctrl-C for one, is no part of what is replayed.
func TestCancelledExchangeIsNotReplayed(t *testing.T) {
	file := record(t, func(o transport.Options) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := serve(t, func(w http.ResponseWriter, r *http.Request, ended <-chan struct{}) {
			answers(w, r)
			cancel()
			<-ended
		})
		if _, err := throughChat(ctx, 1, transport.Client(o), s.URL, testKey); err == nil {
			t.Fatal("it was not cancelled")
		}
		s = serve(t, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
			w.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(w, strings.Join(speak(r.URL.Path, "whole"), ""))
		})
		outcomeOf(t, throughChat, o, s.URL, 1)
	})
	if got := outcomeOf(t, throughChat, transport.Options{Base: open(t, file).Transport()}, "http://nowhere.invalid", 1); got.text != "whole" {
		t.Errorf("got %+v", got)
	}
}

const plainKey = "zq9Vx7Lm2Tn4Rb8Kc6Wd"

// No secret is in the file, whatever spelling it came in, in whatever pieces, and no header that
// carries one.
func TestNoSecretInRecording(t *testing.T) {
	for name, through := range clients() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := record(t, func(o transport.Options) {
				s := serveBody(t, func(w http.ResponseWriter, body string) {
					w.Header().Set("Content-Type", "text/event-stream")
					w.Header().Set("Set-Cookie", "session="+plainKey)
					w.Header().Set("X-Request-Id", "id-"+plainKey)
					path := map[string]string{"anthropic": "/messages", "responses": "/responses"}[name]
					if path == "" {
						path = "/chat"
					}
					for _, spelled := range spellings(testKey) {
						half := len(spelled) / 2
						io.WriteString(w, ": "+spelled[:half])
						w.(http.Flusher).Flush()
						io.WriteString(w, spelled[half:]+"\n\n")
					}
					var parts []string
					for _, text := range []string{"{\"k\":\"" + testKey + "\"}", plainKey, url.QueryEscape(testKey), body} {
						for _, r := range text {
							parts = append(parts, string(r))
						}
						parts = append(parts, text)
					}
					io.WriteString(w, strings.Join(speak(path, parts...), ""))
				})
				outcomeOf(t, through, o, s, 1)
				refuse := serveBody(t, func(w http.ResponseWriter, _ string) {
					w.Header().Set("Location", "http://127.0.0.1/"+plainKey+"?t="+plainKey)
					w.WriteHeader(http.StatusFound)
				})
				if got := outcomeOf(t, through, o, refuse, 2); strings.Contains(got.message, plainKey) {
					t.Errorf("the message has the key: %s", got.message)
				}
				outcomeOf(t, through, o, refuse+"/v1/"+plainKey, 3)
			})
			text := read(t, file)
			for _, spelled := range spellings(testKey, plainKey) {
				if strings.Contains(text, spelled) {
					t.Errorf("the recording has %q", spelled)
				}
			}
			for _, header := range []string{"authorization", "x-api-key", "cookie", "Bearer", ":pw@", "key=1"} {
				if strings.Contains(strings.ToLower(text), strings.ToLower(header)) {
					t.Errorf("the recording has %q", header)
				}
			}
			// What the events of the recording say, put together, has it neither.
			got, err := drive(t, through, transport.Options{Base: open(t, file).Transport()}, "http://nowhere.invalid", 1)
			if err != nil {
				t.Fatal(err)
			}
			for _, spelled := range spellings(testKey, plainKey) {
				if strings.Contains(got, spelled) {
					t.Errorf("the answer has %q", spelled)
				}
			}
			if name != "bare" && !strings.HasPrefix(got, `{"k":"[secret]"}`) {
				t.Errorf("more than the secret was taken out: %q", got)
			}
		})
	}
}

// spellings are the ways in which JSON and URLs write the values, one level deep and two.
func spellings(values ...string) []string {
	quote := func(s string, html bool) string {
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(html)
		if err := e.Encode(s); err != nil {
			panic(err)
		}
		return strings.Trim(strings.TrimSpace(b.String()), `"`)
	}
	var all []string
	for _, v := range values {
		var units, percents strings.Builder
		for _, c := range []byte(v) {
			fmt.Fprintf(&units, `\u%04X`, c)
			fmt.Fprintf(&percents, "%%%02x", c)
		}
		all = append(all, v, quote(v, false), quote(v, true), quote(quote(v, true), false), quote(quote(quote(v, false), false), false),
			strings.ReplaceAll(quote(v, false), "/", `\/`), units.String(), strings.ToLower(units.String()),
			url.QueryEscape(v), url.PathEscape(v), url.QueryEscape(url.QueryEscape(v)), strings.ToLower(url.QueryEscape(v)), percents.String(),
			quote(units.String(), false))
	}
	return all
}

// A recording is its owner's, and its first line says what it is.
func TestRecordingFile(t *testing.T) {
	file := record(t, func(transport.Options) {})
	info, err := os.Stat(file)
	if err != nil || info.Mode() != fs.FileMode(0o600) {
		t.Errorf("got mode %v, %v", info.Mode(), err)
	}
	h := open(t, file).Header()
	if h.Version != 1 || h.Model != "m-1" || h.Provider != "chat" || h.BaseURL != "https://host/v1" || h.Run != "r-1" {
		t.Errorf("got %+v", h)
	}
}

// A file that is there is left alone, unless it is what the same run recorded before it was
// resumed.
func TestRecordingOverFile(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, strings.Join(speak(r.URL.Path, "hi"), ""))
	})
	file := record(t, func(o transport.Options) { outcomeOf(t, throughChat, o, s.URL, 1) })
	before := read(t, file)
	for name, h := range map[string]transport.Header{"another run": {Run: "r-2"}, "no run": {}} {
		if _, err := transport.NewRecorder(file, h); err == nil || !strings.Contains(err.Error(), file+" is there already: name a new file, or remove it") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	notes := filepath.Join(t.TempDir(), "notes")
	if err := os.WriteFile(notes, []byte("mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := transport.NewRecorder(notes, transport.Header{Run: "r-1"}); err == nil || read(t, notes) != "mine\n" {
		t.Errorf("got %v", err)
	}
	if read(t, file) != before {
		t.Fatal("a file that was refused has changed")
	}
	// Killed while it wrote the second exchange; then resumed.
	if err := os.WriteFile(file, []byte(before+`{"turn":2,"att`), 0o600); err != nil {
		t.Fatal(err)
	}
	recorder, err := transport.NewRecorder(file, transport.Header{Run: "r-1"})
	if err != nil {
		t.Fatal(err)
	}
	outcomeOf(t, throughChat, transport.Options{Recorder: recorder}, s.URL, 1)
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	text := read(t, file)
	if !strings.HasPrefix(text, before) || strings.Count(text, "\n") != 3 || !strings.Contains(text, `{"turn":1,"attempt":2,`) {
		t.Errorf("the recording went on as\n%s", text)
	}
	open(t, file)
}

// What cannot be replayed is refused with the reason; what a killed process left is replayed as far
// as it is whole.
func TestReplayOfFile(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, strings.Join(speak(r.URL.Path, "hi"), ""))
	})
	whole := read(t, record(t, func(o transport.Options) {
		outcomeOf(t, throughChat, o, s.URL, 1)
		outcomeOf(t, throughChat, o, s.URL, 2)
	}))
	lines := strings.SplitAfter(whole, "\n")
	cases := []struct{ name, text, says string }{
		{"empty", "", "the file is empty"},
		{"no recording", "# Notes\n", "the file is no recording made by agent run --record"},
		{"other JSON", "{\"a\":1}\n", "the file is no recording made by agent run --record"},
		{"newer", strings.Replace(whole, `"agent_recording":1`, `"agent_recording":2`, 1), "made by a newer agent: it has format 2, and this one reads format 1"},
		{"damaged", lines[0] + lines[1][1:] + lines[2], "line 2 is no exchange"},
		{"no ending", lines[0] + "{\"turn\":1}\n", `line 2 is no exchange: it ends with ""`},
		{"torn", whole[:len(whole)-20], ""},
		{"torn at its line's end", whole[:len(whole)-1], ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			replay, err := transport.OpenReplay(file)
			if c.says != "" {
				if err == nil || !strings.Contains(err.Error(), "replay "+file+": ") || !strings.Contains(err.Error(), c.says) {
					t.Errorf("got %v, want %s", err, c.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			o := transport.Options{Base: replay.Transport()}
			if got := outcomeOf(t, throughChat, o, "http://nowhere.invalid", 1); got.text != "hi" {
				t.Errorf("got %+v", got)
			}
			if got := outcomeOf(t, throughChat, o, "http://nowhere.invalid", 2); !strings.Contains(got.message, "turn 2 is not in the recording, which has 1 turn") {
				t.Errorf("got %+v", got)
			}
		})
	}
	if _, err := transport.OpenReplay(filepath.Join(t.TempDir(), "none")); err == nil || !strings.HasSuffix(err.Error(), "none: open the recording: no such file or directory") {
		t.Errorf("got %v", err)
	}
}

// Exchanges at the same time are each one whole line.
func TestRecordingSideBySide(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request, _ <-chan struct{}) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, event := range speak(r.URL.Path, strings.Repeat("x", 10000), "y") {
			io.WriteString(w, event)
			w.(http.Flusher).Flush()
		}
	})
	file := record(t, func(o transport.Options) {
		var all sync.WaitGroup
		for turn := range 16 {
			all.Go(func() { outcomeOf(t, throughChat, o, s.URL, turn%4+1) })
		}
		all.Wait()
	})
	text := read(t, file)
	for turn := 1; turn <= 4; turn++ {
		for attempt := 1; attempt <= 4; attempt++ {
			if n := strings.Count(text, fmt.Sprintf(`{"turn":%d,"attempt":%d,`, turn, attempt)); n != 1 {
				t.Errorf("turn %d has %d attempts with number %d", turn, n, attempt)
			}
		}
	}
	open(t, file)
}

// The values of variables whose names say so are secret.
func TestEnvSecrets(t *testing.T) {
	got := transport.EnvSecrets([]string{"OPENAI_API_KEY=sk-12345678", "github_token=gh-1234567", "DB_PASSWORD=correct=horse", "CLIENT_SECRET=short", "HOME=/home/me-and-you", "KEY"})
	if want := []string{"sk-12345678", "gh-1234567", "correct=horse"}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q", got)
	}
}
