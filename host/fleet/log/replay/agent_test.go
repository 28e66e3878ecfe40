package replay_test

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agent/fleet/log"
	"agent/fleet/log/replay"
	"agent/fleet/seal"
	"agent/fleet/witness"
	"agent/host/pack"
	"agent/host/witness/line"
	"agent/scripts/testkit/testbin"
)

// host is a state folder and a folder to work in.
type host struct {
	*testing.T
	agent, home, files string
}

func (h host) run(want int, args ...string) string {
	h.Helper()
	cmd := exec.Command(h.agent, args...)
	cmd.Dir = h.files
	cmd.Env = append(os.Environ(), "AGENT_HOME="+h.home)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		h.Fatal(err)
	}
	if code := cmd.ProcessState.ExitCode(); code != want {
		h.Fatalf("agent %s ended with %d and not %d:\n%s%s", strings.Join(args, " "), code, want, &out, &errs)
	}
	return out.String() + errs.String()
}

// What agent records goes through a witness into a log, and from there into another state folder,
// where the run goes on: what was done before is not done again, and no question asks about it.
func TestAgentGoesOnFromTheLog(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds agent")
	}
	dir := t.TempDir()
	binary := testbin.Agent(t)
	one, two := host{t, binary, filepath.Join(dir, "a"), filepath.Join(dir, "fa")}, host{t, binary, filepath.Join(dir, "b"), filepath.Join(dir, "fb")}
	for _, folder := range []string{one.files, two.files} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	effects := filepath.Join(dir, "effects")
	book := "# Release\n\n- shell \"echo build >> " + effects + "\"\n- shell \"seq 20000\"\n- confirm_action \"Publish?\"\n- shell \"echo publish >> " + effects + "\"\n"
	if err := os.WriteFile(filepath.Join(one.files, "rb.md"), []byte(book), 0o600); err != nil {
		t.Fatal(err)
	}
	one.run(3, "run", "--runbook", "-f", "rb.md")
	records, run := reported(t, one)

	l, k := openDir(t, filepath.Join(dir, "log")), seal.NewKey()
	appendAll(t, l, k, run, records)

	to, err := pack.ParseAddress(strings.TrimSpace(two.run(0, "import", "--id")))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "moved.pack")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := replay.Pack(t.Context(), l, k, "ns", run, to, f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if len(sum.Runs) != 1 || sum.Place != 2 || sum.By != "h-05" {
		t.Errorf("%+v", sum)
	}
	two.run(0, "import", path, "--dir", two.files, "--behind", "--json")
	two.run(0, "answer", question(t, two, run), "yes")
	done, err := os.ReadFile(effects)
	if err != nil || string(done) != "build\npublish\n" {
		t.Errorf("the effects are %q: %v", done, err)
	}
}

func openDir(t *testing.T, folder string) log.Log {
	t.Helper()
	err := os.Mkdir(folder, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	l, err := log.Open(t.Context(), "dir:"+folder, "ns")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// reported is what a driver would report of the newest run: that of a pack sealed to nobody else.
func reported(t *testing.T, h host) (records []pack.Record, run string) {
	t.Helper()
	private, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	path := h.home + ".pack"
	h.run(0, "export", "last", path, "--to", pack.NewAddress("s-test", 1, private).String())
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := pack.NewReader(f)
	if err == nil {
		err = r.Open(private)
	}
	for err == nil {
		var one pack.Record
		if one, err = r.Next(); err != nil || one.About != nil || one.End != nil {
			continue
		}
		if one.Run != nil && run == "" {
			run = one.Run.ID
		}
		records = append(records, one)
	}
	if err != io.EOF {
		t.Fatal(err)
	}
	return records, run
}

// appendAll reports records to a witness, with the last fact in an entry of its own.
func appendAll(t *testing.T, l log.Log, k seal.Key, run string, records []pack.Record) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s", "w")
	socket, err := witness.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- witness.Serve(ctx, socket, l, k, witness.Options{By: "h-05", Namespace: "ns"}) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	in := json.NewDecoder(c)
	first, last := cut(records)
	for i, part := range [][]pack.Record{first, last} {
		q := line.Request{V: line.Version, Op: line.Append, Root: run, Place: int64(i + 1), Epoch: 1, Why: "test", Records: part}
		if err := json.NewEncoder(c).Encode(q); err != nil {
			t.Fatal(err)
		}
		var r line.Reply
		if err := in.Decode(&r); err != nil || r.OK == nil {
			t.Fatalf("%+v, %v", r, err)
		}
	}
}

// cut parts what is reported of a run into two appends.
func cut(records []pack.Record) (first, last []pack.Record) {
	n := len(records) - 1
	first = append(first, records[:n]...)
	var digest []byte
	for i, r := range first {
		if r.Run == nil {
			if r.Fact != nil {
				digest = pack.Chain(digest, r.Fact)
			}
			continue
		}
		whole := *r.Run
		last = []pack.Record{{Run: &whole}, records[n]}
		less := whole
		less.Facts--
		first[i].Run = &less
	}
	for _, r := range first {
		if r.Run != nil {
			r.Run.Digest = digest
		}
	}
	return first, last
}

// question is the one that a run waits with.
func question(t *testing.T, h host, run string) string {
	t.Helper()
	text := h.run(0, "ls", "--json")
	at := strings.Index(text, "p-")
	if at < 0 || !strings.Contains(text, run) {
		t.Fatalf("nothing waits:\n%s", text)
	}
	return text[at : at+10]
}
