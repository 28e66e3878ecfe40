package command_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agent/host/model/modeltest"
)

// modelBench is the binary with a provider on loopback.
type modelBench struct {
	bench
	p      speaker
	server *modeltest.Server
}

func newModelBench(b *testing.B, p speaker, script modeltest.Script) *modelBench {
	b.Helper()
	m := &modelBench{bench: newBench(b), p: p}
	var err error
	m.server, err = modeltest.Start(modeltest.Options{Script: script, Only: []modeltest.Protocol{p.protocol}})
	must(b, err)
	b.Cleanup(func() { must(b, m.server.Close()) })
	conf := filepath.Join(m.home, "config", "agent")
	must(b, os.MkdirAll(conf, 0o700))
	must(b, os.WriteFile(filepath.Join(conf, "config.toml"), []byte("[providers.openai]\nkind = \"responses\"\n"), 0o600))
	return m
}

// agent is the binary, ready to start.
func (m *modelBench) agent(args ...string) *exec.Cmd {
	cmd := m.command(args...)
	cmd.Env = append(plainEnv(), "AGENT_HOME="+filepath.Join(m.home, "state"), "XDG_CONFIG_HOME="+filepath.Join(m.home, "config"), "NO_COLOR=1", "TERM=xterm")
	cmd.Env = append(cmd.Env, m.p.env(m.server, modeltest.DefaultKey)...)
	return cmd
}

func (m *modelBench) run() *exec.Cmd {
	return m.agent(append(append([]string{"run", "--mode", "yolo", "--model", m.p.model}, m.p.flags(m.server)...), "go")...)
}

func (m *modelBench) seen() int { return len(m.server.Exchanges()) }

func (m *modelBench) held(b *testing.B, skip int) modeltest.Exchange {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	e, err := m.server.Held(ctx, skip)
	must(b, err)
	return e
}

// events reads a stream as plainly as it can be read: lines, and the text in the JSON of each. It
// asks what the host asked.
type events struct {
	lines *bufio.Reader
	body  io.Closer
}

// ask sends the request of an exchange again.
func (m *modelBench) ask(b *testing.B, as modeltest.Exchange) *events {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), "POST", m.server.URL()+as.Path, strings.NewReader(as.Body))
	must(b, err)
	for _, name := range []string{"Content-Type", "Authorization", "X-Api-Key", "Anthropic-Version"} {
		if v := as.Header.Get(name); v != "" {
			r.Header.Set(name, v)
		}
	}
	res, err := http.DefaultClient.Do(r)
	must(b, err)
	return &events{bufio.NewReaderSize(res.Body, 4<<20), res.Body}
}

// next is the next piece of text; io.EOF at the end.
func (e *events) next() (string, error) {
	for {
		line, err := e.lines.ReadSlice('\n')
		if err != nil {
			return "", err
		}
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if !ok || bytes.HasPrefix(data, []byte("[DONE]")) {
			continue
		}
		var v struct {
			Type    string          `json:"type"`
			Delta   json.RawMessage `json:"delta"`
			Choices []struct {
				Delta struct {
					Content string `json:"content"`
				} `json:"delta"`
			} `json:"choices"`
		}
		if err := json.Unmarshal(data, &v); err != nil {
			return "", err
		}
		text := ""
		switch v.Type {
		case "":
			if len(v.Choices) > 0 {
				text = v.Choices[0].Delta.Content
			}
		case "response.output_text.delta":
			if err := json.Unmarshal(v.Delta, &text); err != nil {
				return "", err
			}
		case "content_block_delta":
			var d struct {
				Text string `json:"text"`
			}
			if err := json.Unmarshal(v.Delta, &d); err != nil {
				return "", err
			}
			text = d.Text
		}
		if text != "" {
			return text, nil
		}
	}
}

// BenchmarkModelFirstToken is the time from the moment when a provider sends the first piece of an
// answer to its being on the terminal. The limit is a client in this process that only parses it.
func BenchmarkModelFirstToken(b *testing.B) {
	before := map[modeltest.Protocol]int{modeltest.Anthropic: 2, modeltest.Responses: 4, modeltest.Chat: 1} // events
	for _, p := range speakers() {
		b.Run(string(p.protocol), func(b *testing.B) {
			const first = "zero"
			turn := modeltest.Turn{Text: first + " and the rest of it."}
			m := newModelBench(b, p, modeltest.Script{Turns: []modeltest.Turn{turn}})
			must(b, m.run().Run())
			turn.Faults = []modeltest.Fault{{Kind: modeltest.Hold, At: m.server.Exchanges()[0].Ends[before[p.protocol]-1]}}
			m.server.SetScript(modeltest.Script{Turns: []modeltest.Turn{turn}})
			var host, raw []time.Duration
			for b.Loop() {
				seen := m.seen()
				master, slave := openPTY(b)
				cmd := m.run()
				cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
				must(b, cmd.Start())
				must(b, slave.Close())
				asked := m.held(b, seen)
				began := time.Now()
				m.server.Release()
				awaitText(b, master, first)
				host = append(host, time.Since(began))
				go io.Copy(io.Discard, master) //nolint:errcheck // a terminal that is gone is an error to read
				must(b, cmd.Wait())

				seen = m.seen()
				e := m.ask(b, asked)
				m.held(b, seen)
				began = time.Now()
				m.server.Release()
				_, err := e.next()
				raw = append(raw, time.Since(began))
				must(b, err)
				must(b, e.body.Close())
			}
			h, r := middle(host, time.Microsecond), middle(raw, time.Microsecond)
			b.ReportMetric(h, "us/terminal")
			b.ReportMetric(r, "us/parse")
			b.ReportMetric(h-r, "us/added")
		})
	}
}

// awaitText reads a terminal until the text is on it.
func awaitText(b *testing.B, from io.Reader, text string) {
	b.Helper()
	var all []byte
	buf := make([]byte, 4096)
	for !bytes.Contains(all, []byte(text)) {
		n, err := from.Read(buf)
		all = append(all, buf[:n]...)
		if err != nil {
			b.Fatalf("%v\n%s", err, all)
		}
	}
}

// BenchmarkModelFirstRequest is the time from the start of agent run to its first request at the
// provider, in a state folder that is there; beside it the start of the process alone.
func BenchmarkModelFirstRequest(b *testing.B) {
	for _, p := range speakers() {
		b.Run(string(p.protocol), func(b *testing.B) {
			m := newModelBench(b, p, modeltest.Script{Turns: []modeltest.Turn{{Text: "Hi."}}})
			must(b, m.run().Run())
			var request, version []time.Duration
			for b.Loop() {
				seen := m.seen()
				cmd := m.run()
				began := time.Now()
				must(b, cmd.Run())
				request = append(request, m.server.Exchanges()[seen].Received.Sub(began))
				version = append(version, took(b, m.agent("version")))
			}
			b.ReportMetric(middle(request, time.Millisecond), "ms/first-request")
			b.ReportMetric(middle(version, time.Millisecond), "ms/version")
		})
	}
}
