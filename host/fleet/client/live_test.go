package client_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"

	"agent/fleet/client"
	"agent/fleet/custody"
	"agent/fleet/seal"
)

func TestAFleetIsKnownByItsKey(t *testing.T) {
	e := newEngine(t, "-namespace", "default,bare", "-search-attributes", "", "-list-attributes", "")
	ctx, key := within(t, time.Minute), seal.NewKey()
	refused := func(o client.Options, words ...string) {
		t.Helper()
		c, err := client.Connect(ctx, o)
		if err == nil {
			c.Close()
			t.Fatalf("connected with %+v", o)
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("the refusal does not name %q: %v", w, err)
			}
		}
	}
	o := e.options(key)
	refused(o, "AgentHost, AgentQuestion, AgentRepo, AgentStatus, AgentUser", "agent-fleet setup")
	missing := o
	missing.Namespace = "nowhere"
	refused(missing, "no namespace nowhere", "agent-fleet setup --engine "+e.address+" --namespace nowhere")
	nobody := o
	nobody.Address = "127.0.0.1:1"
	refused(nobody, "127.0.0.1:1", "--engine")
	for range 2 { // the second time there is nothing to do
		c, err := client.Setup(ctx, o, func(string) {})
		if err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	other := o
	other.Key = seal.NewKey()
	refused(other, key.Fleet(), other.Key.Fleet(), "--key-file")
	c, err := client.Setup(ctx, missing, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}

func TestAQuestionOnAServer(t *testing.T) {
	e := newEngine(t)
	c := connected(t, e)
	h := newHosts(t, c, "h-1")
	h.drives(func(_ context.Context, _ string, d custody.Drive) (custody.Report, error) {
		if d.Step.Answer != nil {
			return done, nil
		}
		return publish, nil
	})
	asked := custody.Run{Key: "build 7", Git: "https://ada:secret@example.org/r.git@0123456"}
	run := h.start(asked)
	if again := h.start(asked); again != run {
		t.Errorf("the same key began %s and %s", run, again)
	}
	asked.Labels = []string{"linux"}
	asked.Prompt, asked.By = canary, "ada"
	if _, err := c.Start(t.Context(), asked); !errors.As(err, new(*client.KeyReusedError)) {
		t.Errorf("another request with the key gave %v", err)
	}
	row := h.until(run, "waiting")
	if row.Host != "h-1" || row.Request.Text != canary || row.Repo != "https://example.org/r.git" || row.By != "ada" {
		t.Errorf("it is %+v", row)
	}
	if _, err := c.Answer(t.Context(), custody.Answer{Request: "p-aaaa1111", Text: "perhaps", By: "ada"}); !errors.As(err, new(*client.RefusedError)) {
		t.Errorf("an answer that is none gave %v", err)
	}
	if _, err := c.Answer(t.Context(), custody.Answer{Request: "p-zzzz9999", Text: "yes"}); err == nil {
		t.Error("a question that nobody asked was answered")
	}
	h.race(50)
	h.until(run, "completed")
	late := custody.Answer{Request: "p-aaaa1111", Text: "neither", By: "zoe"}
	if _, err := c.Answer(t.Context(), late); !errors.As(err, new(*client.AnsweredError)) {
		t.Errorf("an answer after the end gave %v", err)
	}
	out, err := c.Outcome(t.Context(), run)
	if err != nil || out.Text != canary || out.Host != "h-1" {
		t.Errorf("it ended as %+v: %v", out, err)
	}
	if rows, err := c.List(t.Context(), false); err != nil || len(rows) != 1 || rows[0].Status != "completed" || rows[0].Next != "" || rows[0].Reason != "" {
		t.Errorf("the list is %+v: %v", rows, err)
	}
	h.save(run, "question")
	e.holds(t, canary)
}

// race has many people answer at once: one answer is taken, and all who gave it hear that.
func (h *hosts) race(n int) {
	h.t.Helper()
	var wait sync.WaitGroup
	var mu sync.Mutex
	taken, refused := map[string]int{}, map[string]int{}
	for i := range n {
		wait.Go(func() {
			text := []string{"yes", "no"}[i%2]
			_, err := h.client.Answer(h.t.Context(), custody.Answer{Request: "p-aaaa1111", Text: text, By: fmt.Sprint("person ", i)})
			mu.Lock()
			defer mu.Unlock()
			var first *client.AnsweredError
			switch {
			case err == nil:
				taken[text]++
			case errors.As(err, &first):
				refused[first.First.Text]++
			default:
				h.t.Errorf("answer: %v", err)
			}
		})
	}
	wait.Wait()
	if len(taken) != 1 || len(refused) != 1 {
		h.t.Errorf("taken: %v, refused for: %v", taken, refused)
	}
	for text, n := range taken {
		if n == 0 || refused[text] == 0 {
			h.t.Errorf("taken: %v, refused for: %v", taken, refused)
		}
	}
}

// holds fails if the engine has a text in the clear.
func (e *engine) holds(t *testing.T, text string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(e.folder, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the engine has no files: %v", err)
	}
	known := false
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		known = known || strings.Contains(string(b), "p-aaaa1111")
		if strings.Contains(string(b), text) {
			t.Errorf("%s holds %s in the clear", filepath.Base(f), text)
		}
	}
	if !known {
		t.Error("the engine's files do not even hold an id: the wrong files were looked at")
	}
}

// untilLetGo drives until the workflow lets go, as a worker does.
func untilLetGo(ctx context.Context) (custody.Report, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		activity.RecordHeartbeat(ctx, custody.Progress{Facts: 9, Turn: 3, Call: "shell", Log: 2, Later: canary})
		select {
		case <-ctx.Done():
			return custody.Report{}, ctx.Err()
		case <-tick.C:
		}
	}
}

func TestAMoveOnAServer(t *testing.T) {
	e := newEngine(t)
	h := newHosts(t, connected(t, e), "h-1", "h-2")
	h.drives(func(ctx context.Context, host string, d custody.Drive) (custody.Report, error) {
		switch {
		case d.Step.Hand:
			return custody.Report{Status: "interrupted", Cause: "shutdown", Facts: 12, Place: 3, Turn: 4, Handed: true}, nil
		case host == "h-2":
			return done, nil
		}
		return untilLetGo(ctx)
	})
	run := h.start(custody.Run{})
	row, err := h.client.Wait(within(t, time.Minute), run, 20*time.Millisecond, func(r client.Row) bool { return r.Progress != nil }, func(client.Row) {})
	if err != nil || row.Progress.Call != "shell" || row.Host != "h-1" {
		t.Fatalf("it is %+v: %v", row, err)
	}
	if _, err := h.client.Move(t.Context(), run, custody.Move{To: "h-9", By: "ada"}); err == nil || !strings.Contains(err.Error(), "h-9") {
		t.Errorf("a move to nowhere gave %v", err)
	}
	if _, err := h.client.Move(t.Context(), run, custody.Move{To: "h-2", By: "ada"}); err != nil {
		t.Fatal(err)
	}
	if row := h.until(run, "completed"); row.Host != "h-2" {
		t.Errorf("it is %+v", row)
	}
	if _, err := h.client.Resume(t.Context(), run); !errors.As(err, new(*client.RefusedError)) {
		t.Errorf("a run that has ended was resumed: %v", err)
	}
	h.save(run, "move")
	e.holdsOnly(t)
}

func (e *engine) holdsOnly(t *testing.T) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join(e.folder, "*"))
	for _, f := range files {
		if b, err := os.ReadFile(f); err != nil || strings.Contains(string(b), canary) {
			t.Errorf("%s holds a canary: %v", f, err)
		}
	}
}

func TestAHostThatVanishesOnAServer(t *testing.T) {
	e := newEngine(t)
	h := newHosts(t, connected(t, e), "h-1", "h-2")
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	h.drives(func(ctx context.Context, host string, d custody.Drive) (custody.Report, error) {
		if host == "h-1" {
			activity.RecordHeartbeat(ctx, custody.Progress{Facts: 9, Turn: 3, Log: 2})
			<-release // not another word
			return custody.Report{}, errors.New("too late")
		}
		if !d.Step.Resume {
			t.Errorf("%s was asked for %+v", host, d.Step)
		}
		return done, nil
	})
	run := h.start(custody.Run{Away: -1})
	if row := h.until(run, "completed"); row.Host != "h-2" {
		t.Errorf("it is %+v", row)
	}
	h.save(run, "vanished")
}

func TestACancelOnAServer(t *testing.T) {
	e := newEngine(t)
	h := newHosts(t, connected(t, e), "h-1")
	h.drives(func(ctx context.Context, _ string, d custody.Drive) (custody.Report, error) {
		if d.Step.Cancel {
			return custody.Report{Status: "cancelled", Exit: 6, Facts: 12}, nil
		}
		return untilLetGo(ctx)
	})
	run := h.start(custody.Run{})
	h.until(run, "running")
	for range 2 {
		if err := h.client.Cancel(t.Context(), run); err != nil {
			t.Fatal(err)
		}
		h.until(run, "cancelled")
	}
	if err := h.client.Cancel(t.Context(), "r-00000000"); !errors.As(err, new(*client.UnknownRunError)) {
		t.Errorf("a run that nobody began was cancelled: %v", err)
	}
	h.save(run, "cancel")
}

func TestALongRunOnAServer(t *testing.T) {
	e := newEngine(t)
	h := newHosts(t, connected(t, e), "h-1")
	const questions = 135
	n := 0
	h.drives(func(_ context.Context, _ string, d custody.Drive) (custody.Report, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if n++; n > questions {
			return done, nil
		}
		r := publish
		q := *r.Request
		q.ID, r.Request, r.Facts = fmt.Sprintf("p-%08d", n), &q, int64(20*n)
		return r, nil
	})
	run := h.start(custody.Run{Key: "long"})
	for i := 1; i <= questions; i++ {
		id := fmt.Sprintf("p-%08d", i)
		_, err := h.client.Wait(within(t, time.Minute), run, 5*time.Millisecond, func(r client.Row) bool {
			return r.Request != nil && r.Request.ID == id
		}, func(client.Row) {})
		if err != nil {
			t.Fatalf("wait for %s: %v", id, err)
		}
		if _, err := h.client.Answer(t.Context(), custody.Answer{Request: id, Text: "yes", By: "ada"}); err != nil {
			t.Fatal(err)
		}
	}
	h.until(run, "completed")
	if again := h.start(custody.Run{Key: "long"}); again != run {
		t.Errorf("the key began %s and %s", run, again)
	}
	d, err := h.client.Engine().DescribeWorkflow(t.Context(), custody.RunWorkflow+run, "")
	if err != nil || d.WorkflowExecution.RunID == "" || d.WorkflowExecutionMetadata.HistoryLength > 2100 {
		t.Fatalf("its history: %+v: %v", d, err)
	}
	h.save(run, "long")
}

func TestAScheduleOnAServer(t *testing.T) {
	e := newEngine(t)
	h := newHosts(t, connected(t, e), "h-1")
	h.drives(func(context.Context, string, custody.Drive) (custody.Report, error) { return publish, nil })
	ctx := within(t, time.Minute)
	s := client.Schedule{Name: "often", Cron: []string{"@every 1s"}, Zone: "UTC", Run: custody.Run{Prompt: canary, By: "ada"}}
	if err := h.client.AddSchedule(ctx, s); err != nil {
		t.Fatal(err)
	}
	if err := h.client.AddSchedule(ctx, s); err == nil || !strings.Contains(err.Error(), "schedule rm often") {
		t.Errorf("the same schedule once more gave %v", err)
	}
	var rows []client.Row
	for len(rows) == 0 || rows[0].Status != "waiting" {
		var err error
		if rows, err = h.client.List(ctx, false); err != nil {
			t.Fatal(err)
		}
	}
	all, err := h.client.Schedules(ctx)
	for err == nil && len(all) == 0 { // the list is a little behind
		all, err = h.client.Schedules(ctx)
	}
	if err != nil || len(all) != 1 || all[0].Name != "often" {
		t.Errorf("the schedules are %+v: %v", all, err)
	}
	if err := h.client.RemoveSchedule(ctx, "often"); err != nil {
		t.Fatal(err)
	}
	if rows, err = h.client.List(ctx, true); err != nil || len(rows) != 1 {
		t.Errorf("while its run waited a schedule began others: %+v: %v", rows, err)
	}
	if err := h.client.RemoveSchedule(ctx, "often"); err == nil {
		t.Error("a schedule was removed twice")
	}
}
