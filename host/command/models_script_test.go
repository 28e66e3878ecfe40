package command_test

import (
	"agent/host/witness/witnesstest"

	"context"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"agent/host/model/modeltest"
)

// serverKey finds the model server of a script.
type serverKey struct{}

// served holds it, once there is one.
type served struct {
	*modeltest.Server
	Witness   *witnesstest.Witness // the one that is spoken of
	Witnesses map[string]*witnesstest.Witness
}

func serverOf(ts *testscript.TestScript) *modeltest.Server {
	s := ts.Value(serverKey{}).(*served).Server
	if s == nil {
		ts.Fatalf("there is no model server: begin with server FILE")
	}
	return s
}

func cmdSays(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: says FILE")
	}
	script, err := modeltest.ParseScript([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	serverOf(ts).SetScript(script)
}

// cmdWaitHeld waits for a request whose answer is held, behind the first N:
//
//	waitheld [N]
func cmdWaitHeld(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: waitheld [N]")
	}
	skip := 0
	if len(args) == 1 {
		n, err := strconv.Atoi(args[0])
		ts.Check(err)
		skip = n
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := serverOf(ts).Held(ctx, skip)
	ts.Check(err)
}

func cmdAsked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 && len(args) != 3 {
		ts.Fatalf("usage: asked N [I J]")
	}
	var n []int
	for _, a := range args {
		k, err := strconv.Atoi(a)
		ts.Check(err)
		n = append(n, k)
	}
	es := serverOf(ts).Exchanges()
	if len(es) != n[0] {
		ts.Fatalf("the model was asked %d times, want %d", len(es), n[0])
	}
	if len(n) == 3 && es[n[1]-1].Body != es[n[2]-1].Body {
		ts.Fatalf("the requests differ:\n%s\n%s", es[n[1]-1].Body, es[n[2]-1].Body)
	}
}

// cmdRelease lets the answers go on that are held:
//
//	release
func cmdRelease(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: release")
	}
	if serverOf(ts).Release() == 0 {
		ts.Fatalf("no answer is held")
	}
}

// cmdHeard counts what a request to the model server says:
//
//	heard COUNT REQUEST TEXT
func cmdHeard(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: heard COUNT REQUEST TEXT")
	}
	number, err := strconv.Atoi(args[1])
	ts.Check(err)
	body := serverOf(ts).Exchanges()[number-1].Body
	if n := strings.Count(body, args[2]); strconv.Itoa(n) != args[0] {
		ts.Fatalf("request %d says %q %d times, want %s:\n%s", number, args[2], n, args[0], body)
	}
}
