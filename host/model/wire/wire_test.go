package wire_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/host/model/wire"
	"agent/recovery"
)

// ask sends one streaming request and reads the answer to its end.
func ask(t *testing.T, o wire.Options, url string, turn int) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(wire.WithTurn(t.Context(), turn), http.MethodPost, url+"/v1/messages", strings.NewReader(`{"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := wire.Client(o).Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// A recorded exchange is answered again from the file alone.
func TestRecordAndReplay(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"key\":\"very-secret-\\u0076alue\"}\n\n")
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "rec")
	recorder, err := wire.NewRecorder(file, wire.Header{Model: "m", Provider: "anthropic"})
	if err != nil {
		t.Fatal(err)
	}
	o := wire.Options{Recorder: recorder, Secrets: func() []string { return []string{"very-secret-value"} }}
	if _, err := ask(t, o, server.URL, 1); err != nil {
		t.Fatal(err)
	}
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	replay, err := wire.OpenReplay(file)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ask(t, wire.Options{Base: replay.Transport()}, "http://nowhere.invalid", 1)
	if want := "data: {\"key\":\"[secret]\"}\n\n"; err != nil || got != want {
		t.Fatalf("got %q, %v; want %q", got, err, want)
	}
	if _, err := ask(t, wire.Options{Base: replay.Transport()}, "http://nowhere.invalid", 2); wire.Explain(err, false).Fault != recovery.FaultRequest {
		t.Fatal(err)
	}
}

// A server that says nothing is not waited for.
func TestStall(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {}\n\n")
		w.(http.Flusher).Flush()
		<-release
	}))
	defer server.Close()
	defer close(release)
	_, err := ask(t, wire.Options{Idle: 50 * time.Millisecond}, server.URL, 1)
	if e := wire.Explain(err, true); e.Fault != recovery.FaultStalled || !e.Began {
		t.Fatalf("%+v", e)
	}
}
