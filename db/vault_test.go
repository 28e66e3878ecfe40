package db

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"agent/db/redact"
	"agent/recovery/journal"
	"agent/scripts/testkit/seed"
)

// canary is a secret that the environment is known to hold. No pattern finds it.
const canary = "kx7Qw2-canary-9fT4zLmV0bRs"

func knowing(o *Options) {
	o.Known = []redact.Known{{Rule: "env-canary", Value: canary}}
}

// spelled are the forms in which a value must not be found.
func spelled(value string) []string {
	escaped, _ := json.Marshal(value)
	return []string{
		value, url.QueryEscape(value), strings.Trim(string(escaped), `"`), fmt.Sprintf("%x", value),
		strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(value)), "="), value[:14], value[len(value)-14:],
	}
}

// nowhere fails for each file below a folder that holds a form of the value. It opens what the
// store has compressed.
func nowhere(t *testing.T, s *Store, value string) {
	t.Helper()
	err := filepath.WalkDir(s.Dir(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, form := range spelled(value) {
			if bytes.Contains(data, []byte(form)) {
				t.Errorf("%s holds %q", path, form)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	stored := everything(t, s)
	for _, form := range spelled(value) {
		if strings.Contains(stored, form) {
			t.Errorf("a row holds %q:\n%s", form, stored)
		}
	}
}

func restoredAll(t *testing.T, s *Store, run string) (out []journal.Event, lost []Unrecoverable) {
	t.Helper()
	for e, err := range s.Restored(context.Background(), run, 0, func(l Unrecoverable) { lost = append(lost, l) }) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out, lost
}

// SEC, behaviour 4 of issue 4: a secret in a prompt, in arguments, in results of every size, in an
// error, in names of folders and files, in an answer and in a message lies nowhere in the state
// folder, while the run goes on with the true values.
// EN-22, EN-23.
func TestSecretsLieNowhere(t *testing.T) {
	ctx := context.Background()
	s := openStore(t, stateDir(t), knowing)
	made := createdFact("r-secretss", "t-secretss")
	made.Prompt, made.Folder, made.Source = "use "+canary, "/work/"+canary, canary+".md"
	said := append(events(made, journal.RunClaimed{Epoch: 1, PID: 42, Host: canary}), inTurn(1, journal.ModelRequested{})...)
	want := clone(said)
	h, err := s.Create(ctx, ThreadRef{ID: "t-secretss", Folder: made.Folder, New: true}, said)
	if err != nil {
		t.Fatal(err)
	}
	for n, size := range []int{10, 40 << 10, 300 << 10} {
		content := strings.Repeat("x", size) + " " + canary + "\n" + base64.StdEncoding.EncodeToString([]byte("key="+canary))
		a, b := turnFacts(n+1, fmt.Sprintf("c-%08d", n), content)
		m := a[0].Body.(journal.ModelAnswered)
		m.Calls[0].Args = json.RawMessage(`{"command":"echo ` + canary + `"}`)
		a[0].Body = m
		r := b[0].Body.(journal.CallSettled)
		if size > 100<<10 { // the model sees a part, and it is cut inside the secret
			cut := size + 1 + len(canary)/2
			r.Result.Full, r.Result.Content = []byte(content), content[:cut]+"\n[… and more]\n"+content[len(content)-9:]
		}
		b[0].Body = r
		want = append(want, clone(a)...)
		want = append(want, clone(b)...)
		h = appendAll(t, s, h, a, AppendOptions{})
		h = appendAll(t, s, h, b, AppendOptions{})
	}
	a, b := turnFacts(4, "c-00000003", canary[9:]+" is the end of a page that began in the middle, and this one ends so: "+canary[:15])
	want = append(append(want, clone(a)...), clone(b)...)
	h = appendAll(t, s, h, a, AppendOptions{})
	h = appendAll(t, s, h, b, AppendOptions{})
	asked := events(journal.RequestOpened{Request: journal.Request{ID: "p-secretss", Question: journal.Question{
		Kind: journal.RequestMaxTurns, Message: "is it " + canary + "?"}}})
	h = appendAll(t, s, h, asked, AppendOptions{})
	if _, err := s.Answer(ctx, "p-secretss", json.RawMessage(`"it is `+canary+`"`), "by "+canary); err != nil {
		t.Fatal(err)
	}
	if _, err := s.PutInbox(ctx, h.Run, MessageRuling, json.RawMessage(`{"by":"`+canary+`"}`), canary); err != nil {
		t.Fatal(err)
	}
	p, err := s.AnswerFor(ctx, h.Run)
	if err != nil || string(p.Answer) != `"it is `+canary+`"` || p.By != "by "+canary {
		t.Errorf("the owner gets the answer %s by %s (%v)", p.Answer, p.By, err)
	}
	if p, err := s.Answered(ctx, h.Run); err != nil || strings.Contains(string(p.Answer)+p.By+p.Request.Message, canary) {
		t.Errorf("others see the answer %s by %s to %s (%v)", p.Answer, p.By, p.Request.Message, err)
	}
	if m, err := s.Inbox(ctx, h.Run); err != nil || len(m) != 1 || m[0].By != canary || string(m[0].Body) != `{"by":"`+canary+`"}` {
		t.Errorf("the owner gets the message %+v (%v)", m, err)
	}
	h = appendAll(t, s, h, events(journal.RequestAnswered{ID: "p-secretss", Answer: p.Answer, By: p.By}), AppendOptions{})
	h = appendAll(t, s, h, events(journal.RunInterrupted{Cause: journal.CauseModel, Detail: "failed: " + canary}), AppendOptions{})
	if ok, err := s.MarkInterrupted(ctx, h, journal.CauseCorrupt, "again "+canary, s.now()); err != nil || !ok {
		t.Fatal(ok, err)
	}
	nowhere(t, s, canary)

	got, lost := restoredAll(t, s, h.Run)
	if len(lost) > 0 {
		t.Errorf("lost: %+v", lost)
	}
	if diff := cmp.Diff(bodies(want), bodies(got[:len(want)])); diff != "" {
		t.Errorf("the run goes on with other values (-said +restored):\n%s", diff)
	}
	r, size, err := s.TrueOutput(ctx, "c-00000002")
	if err != nil {
		t.Fatal(err)
	}
	if data, err := io.ReadAll(io.NewSectionReader(r, 0, size)); err != nil || !bytes.Contains(data, []byte(canary)) {
		t.Errorf("the model reads on without the secret: %v", err)
	}
	if rows, err := s.Runs(ctx, Filter{Folder: made.Folder}); err != nil || len(rows) != 1 {
		t.Errorf("the run is not found by its folder: %v %v", rows, err)
	}
	if kept := s.TakeRedacted(h.Run); len(kept) != 1 || kept[0].Rule != "env-canary" || !strings.HasPrefix(kept[0].Placeholder, "[secret:env-canary:") {
		t.Errorf("%+v", kept)
	}
	if kept := s.TakeRedacted(h.Run); len(kept) != 0 {
		t.Errorf("said twice: %+v", kept)
	}
}

func clone(e []journal.Event) []journal.Event { return append([]journal.Event(nil), e...) }

// bodies leaves out what the store fills in.
func bodies(list []journal.Event) (out []journal.Body) {
	for _, e := range list {
		if c, ok := e.Body.(journal.CallSettled); ok {
			c.Result.Full, c.Result.Blob, c.Result.Size = nil, "", 0
			e.Body = c
		}
		out = append(out, e.Body)
	}
	return out
}

// What Append leaves in the events is what Load reads, and what Restored reads is what was given:
// whatever the texts are, placeholders of secrets that exist among them.
func TestRestoredIsWhatWasSaid(t *testing.T) {
	checks(t, 60)
	s := openStore(t, stateDir(t), knowing)
	n := 0
	seed.Rapid(t)
	rapid.Check(t, func(t *rapid.T) {
		n++
		word := rapid.SampledFrom([]string{
			canary, "plain", "\n", `"`, `\`, "é", " ", "[secret:env-canary:abcdefghjk]", "[secret:", s.Redact(canary), s.Redact(canary) + "]",
			"postgres://me:hunter2hunter2@db/x", "[secret:literal:0]", canary[:13], "password=", "Zm9v",
		})
		line := func(name string) string { return strings.Join(rapid.SliceOfN(word, 0, 6).Draw(t, name), "") }
		made := createdFact(fmt.Sprintf("r-%08d", n), fmt.Sprintf("t-%08d", n))
		made.Prompt, made.Setup.System = line("prompt"), line("system")
		args, err := json.Marshal(map[string]string{"command": line("command"), "password": line("password")})
		if err != nil {
			t.Fatal(err)
		}
		a, b := turnFacts(1, "c-00000001", line("content"))
		m := a[0].Body.(journal.ModelAnswered)
		m.Calls[0].Args = args
		m.Blocks = []journal.Block{{Kind: journal.BlockText, Text: line("text")}}
		a[0].Body = m
		first := append(events(made, journal.RunClaimed{Epoch: 1}), inTurn(1, journal.ModelRequested{})...)
		said := append(append(clone(first), clone(a)...), clone(b)...)
		h, err := s.Create(context.Background(), ThreadRef{ID: made.Thread, Folder: made.Folder, New: true}, first)
		for _, batch := range [][]journal.Event{a, b} {
			if err == nil {
				h, err = s.Append(context.Background(), h, batch, AppendOptions{})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		var shown, restored []journal.Event
		for e, err := range s.Load(context.Background(), h.Run, 0) {
			if err != nil {
				t.Fatal(err)
			}
			shown = append(shown, e)
		}
		for e, err := range s.Restored(context.Background(), h.Run, 0, func(l Unrecoverable) { t.Fatalf("lost: %+v", l) }) {
			if err != nil {
				t.Fatal(err)
			}
			restored = append(restored, e)
		}
		if diff := cmp.Diff(bodies(append(append(first, a...), b...)), bodies(shown)); diff != "" {
			t.Fatalf("published and read differ:\n%s", diff)
		}
		if diff := cmp.Diff(bodies(said), bodies(restored)); diff != "" {
			t.Fatalf("said and restored differ:\n%s", diff)
		}
		for _, e := range shown {
			if data, _ := json.Marshal(e.Body); bytes.Contains(data, []byte(canary)) {
				t.Fatalf("others see the secret: %s", data)
			}
		}
	})
}

// The same secret has the same placeholder in every process, and what a pattern found once is found
// bare as well.
func TestFoundIsKnown(t *testing.T) {
	dir := stateDir(t)
	s := openStore(t, dir)
	const found = "hG5sdK2mQ8pLw0Zt"
	startRun(t, s, "r-pattern1")
	h, err := s.Head(context.Background(), "r-pattern1")
	if err != nil {
		t.Fatal(err)
	}
	a, b := turnFacts(1, "c-00000001", "the bare "+found+" again")
	m := a[0].Body.(journal.ModelAnswered)
	m.Blocks = []journal.Block{{Kind: journal.BlockText, Text: "I take " + found + " for it"}} // before the place where a pattern finds it
	m.Calls[0].Args = json.RawMessage(`{"url":"https://me:` + found + `@example.org/"}`)
	a[0].Body = m
	h = appendAll(t, s, h, a, AppendOptions{})
	appendAll(t, s, h, b, AppendOptions{})
	nowhere(t, s, found)
	before := s.Redact(canary + " " + found)

	other := openStore(t, dir) // another process, which learns it from the run that it drives
	if got := other.Redact("say " + found); got != "say "+found {
		t.Errorf("it is known before anything is read: %s", got)
	}
	if _, lost := restoredAll(t, other, "r-pattern1"); len(lost) > 0 {
		t.Errorf("%+v", lost)
	}
	if got := other.Redact(canary + " " + found); got != before || strings.Contains(got, found) {
		t.Errorf("%s, and %s in another process", before, got)
	}
}

// A secret that is gone, or whose row was changed, stays a placeholder, and is named; nothing else
// is lost.
func TestLostSecrets(t *testing.T) {
	for name, harm := range map[string]string{
		"gone":    "DELETE FROM secrets",
		"changed": "UPDATE secrets SET sealed = CAST(substr(sealed, 1, 20) || zeroblob(length(sealed) - 20) AS BLOB)",
	} {
		t.Run(name, func(t *testing.T) {
			dir := stateDir(t)
			s := openStore(t, dir, knowing)
			h := startRun(t, s, "r-lostlost")
			a, b := turnFacts(1, "c-00000001", "it is "+canary)
			h = appendAll(t, s, h, a, AppendOptions{})
			appendAll(t, s, h, b, AppendOptions{})
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			execIn(t, dir, harm)
			s = openStore(t, dir)
			got, lost := restoredAll(t, s, h.Run)
			if len(lost) != 1 || lost[0].Why == "" {
				t.Fatalf("%+v", lost)
			}
			content := got[len(got)-3].Body.(journal.CallSettled).Result.Content
			if !strings.Contains(content, "[secret:env-canary:"+lost[0].ID+"]") {
				t.Errorf("%q", content)
			}
			shut, err := s.vault.CheckSealed(t.Context())
			if said := strings.Join(shut, "; "); err != nil || strings.Contains(said, lost[0].ID) != (name == "changed") {
				t.Errorf("a check says %q (%v)", said, err)
			}
		})
	}
}

// sealedAs makes what a vault with this key stores of a value under a name.
func sealedAs(t *testing.T, key []byte, id, value string) []byte {
	t.Helper()
	sealing, err := hkdf.Key(sha256.New, key, nil, "agent: sealed secrets", 32)
	if err != nil {
		t.Fatal(err)
	}
	block, err := aes.NewCipher(sealing)
	if err != nil {
		t.Fatal(err)
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	nonce := make([]byte, gcm.NonceSize())
	return gcm.Seal(nonce, nonce, []byte(value), []byte(id))
}

// Another secret under the same name gives the second a longer one, and both are given back.
func TestTakenNames(t *testing.T) {
	dir := stateDir(t)
	s := openStore(t, dir, knowing)
	id := strings.TrimSuffix(strings.TrimPrefix(s.Redact(canary), "[secret:env-canary:"), "]")
	sealed := sealedAs(t, s.key, id, "somebody else's")
	err := s.write(context.Background(), func(tx *tx) error {
		_, err := tx.q.AddSecret(context.Background(), id, "other", sealed, 1)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	h := startRun(t, s, "r-takenids")
	a, b := turnFacts(1, "c-00000001", "it is "+canary)
	h = appendAll(t, s, h, a, AppendOptions{})
	appendAll(t, s, h, b, AppendOptions{})
	got, lost := restoredAll(t, s, h.Run)
	if content := got[len(got)-3].Body.(journal.CallSettled).Result.Content; content != "it is "+canary || len(lost) > 0 {
		t.Errorf("%q %+v", content, lost)
	}
	nowhere(t, s, canary)
}

// execIn changes a database that nobody has open.
func execIn(t *testing.T, dir, text string) {
	t.Helper()
	s := openStore(t, dir)
	err := s.write(context.Background(), func(t *tx) error { return t.Once(text) })
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkRedact is the look for secrets in what a turn writes, beside all that is done to encode
// it; nothing is found, as in nearly every turn. Ten values are known.
func BenchmarkRedact(b *testing.B) {
	s := openStore(b, stateDir(b), func(o *Options) {
		for i := range 10 {
			o.Known = append(o.Known, redact.Known{Rule: "env-many", Value: fmt.Sprintf("%d-%s", i, canary)})
		}
	})
	said, result := turnFacts(1, "c-00000001", kib)
	var all [][]byte
	for _, e := range append(said, result...) {
		data, err := json.Marshal(e.Body)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, data)
	}
	var looked, whole int64
	for b.Loop() {
		looked += timed(func() {
			for _, data := range all {
				if found, err := s.vault.Find(data); err != nil || len(found) > 0 {
					b.Fatal(found, err)
				}
			}
		})
		whole += timed(func() {
			if _, err := s.prepare(Head{No: 1}, append(clone(said), clone(result)...)); err != nil {
				b.Fatal(err)
			}
		})
	}
	b.ReportMetric(float64(looked)/float64(b.N)/1e3, "us-redact/turn")
	b.ReportMetric(float64(whole)/float64(b.N)/1e3, "us-encode/turn")
}
