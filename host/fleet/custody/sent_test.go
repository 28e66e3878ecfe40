package custody_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"agent/fleet/custody"
)

// Files go to each host that is to begin the run, and to none that goes on with it.
func TestFilesGoToWhoeverBeginsTheRun(t *testing.T) {
	f := newFleet(t)
	steps := []any{temporal.NewHeartbeatTimeoutError(), lost(custody.Progress{Facts: 7, Log: 2, Turn: 1}), done}
	f.script(steps...)
	script, got := f.drives, []string(nil)
	f.drives = func(ctx context.Context, n int, d custody.Drive) (custody.Report, error) {
		begun := 0
		if d.Step.Start != nil {
			begun = len(d.Step.Start.Sent)
		}
		got = append(got, fmt.Sprintf("%s %d %d", step(d.Step), begun, len(d.Run.Sent)))
		return script(ctx, n, d)
	}
	r := run
	r.Send("image", custody.File{Name: "a.png", Data: []byte("a")})
	f.run(r)
	if want := []string{"start 1 0", "start 1 0", "resume 0 0"}; !slices.Equal(got, want) {
		t.Errorf("hosts got %q", got)
	}
}

// A history that is begun anew keeps the files of a run that has not begun, once.
func TestFilesAreKeptUntilTheRunHasBegun(t *testing.T) {
	f := newFleet(t)
	f.offers = func(int, custody.Offer) (custody.Taken, error) { return custody.Taken{}, errors.New("no slot") }
	f.at(time.Minute, func() {
		f.SetCurrentHistoryLength(5000)
		f.update(custody.UpdateMove, "1", custody.Move{By: "ada", To: "h-7"})
	})
	r := run
	r.Send("image", custody.File{Name: "a.png", Data: []byte("a")})
	f.ExecuteWorkflow(custody.Custody, r)
	again, ok := errors.AsType[*temporalContinue](f.GetWorkflowError())
	if !ok {
		t.Fatalf("it ended with %v", f.GetWorkflowError())
	}
	var next custody.Run
	if err := defaultConverter.FromPayloads(again.Input, &next); err != nil {
		t.Fatal(err)
	}
	if next.Was == nil || len(next.Was.Run.Sent) != 1 || len(next.Sent) != 0 {
		t.Errorf("it goes on with %+v", next)
	}
}

func TestArgumentsNameTheFilesWhereTheyWerePut(t *testing.T) {
	var r custody.Run
	r.Args = []string{"--mode=auto"}
	r.Send("output-schema", custody.File{Name: "s.json", Data: []byte("{}")})
	r.Send("image", custody.File{Name: "a.png", Data: []byte("a")})
	put := func(n int, f custody.File) (string, error) { return fmt.Sprintf("/put/%d/%s", n, f.Name), nil }
	args, err := r.Unpack(put)
	if want := []string{"--mode=auto", "--output-schema=/put/1/s.json", "--image=/put/2/a.png"}; err != nil || !slices.Equal(args, want) {
		t.Errorf("the arguments are %q, %v", args, err)
	}
	if i := slices.IndexFunc(r.Args, func(arg string) bool { return strings.Contains(arg, "/put/") }); i >= 0 {
		t.Errorf("the request itself was changed: %q", r.Args)
	}
	r.Sent = r.Sent[:1] // what a workflow of before they were known leaves of it is less
	if args, err := r.Unpack(put); err == nil || !strings.Contains(err.Error(), "--image did not come with the run") {
		t.Errorf("without its picture it is carried out: %q, %v", args, err)
	}
}

func TestAnotherFileIsAnotherRequest(t *testing.T) {
	plain := func(text string) []byte { return []byte(text) }
	with := func(data string) []byte {
		r := custody.Run{ID: "r-1", Prompt: "p"}
		r.Send("output-schema", custody.File{Name: "s.json", Data: []byte(data)})
		return r.Digest(plain)
	}
	if bytes.Equal(with("true"), with("false")) || bytes.Equal(with("true"), custody.Run{ID: "r-1", Prompt: "p"}.Digest(plain)) {
		t.Error("requests with other files are not told apart")
	}
	if !bytes.Equal(with("true"), with("true")) {
		t.Error("one request is two")
	}
}

// What the engine takes is two megabytes at a time, sealed.
func TestWhatIsTooMuchIsRefused(t *testing.T) {
	for _, x := range []struct {
		prompt, file int
		fits         bool
	}{{512<<10 - 2, 0, true}, {530_000, 0, false}, {1000, 1_300_000, true}, {1000, 1_400_000, false}, {512<<10 - 2, 640 << 10, false}} {
		r := custody.Run{Prompt: strings.Repeat("x", x.prompt)}
		r.Send("image", custody.File{Name: "a.png", Data: make([]byte, x.file)})
		if err := r.CheckSize(); (err == nil) != x.fits || err != nil && !strings.Contains(err.Error(), " go") {
			t.Errorf("a prompt of %d bytes with a file of %d: %v", x.prompt, x.file, err)
		}
	}
}

// A history that is begun anew takes along what a run was asked, and what it was answered.
func TestTheLargestRunIsBegunAnew(t *testing.T) {
	r := custody.Run{ID: "r-1", Prompt: strings.Repeat("x", 512<<10-2)}
	if err := r.CheckSize(); err != nil {
		t.Fatal(err)
	}
	s := custody.New(r, time.Time{})
	s.Request = &custody.Request{ID: "p-1"}
	longest := custody.Answer{Request: "p-1", Text: strings.Repeat("\n", 6<<10-1)}
	if err := s.RefuseAnswer(longest); err != nil {
		t.Fatal(err)
	}
	if err := s.RefuseAnswer(custody.Answer{Request: "p-1", Text: longest.Text + "\n"}); err == nil || !strings.Contains(err.Error(), "at most 12 go through the engine") {
		t.Errorf("a longer answer: %v", err)
	}
	for i := range 100 {
		a := longest
		a.Request = fmt.Sprintf("p-%d", i)
		s.Request = &custody.Request{ID: a.Request}
		s = s.On(custody.Event{Answer: &a})
	}
	if len(s.Answered) < 20 {
		t.Fatalf("%d answers are kept", len(s.Answered))
	}
	r.Was = &s
	if b, err := json.Marshal(r); err != nil || len(b) > 1_900_000 {
		t.Errorf("it takes %d bytes: %v", len(b), err)
	}
}
