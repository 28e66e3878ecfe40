package command_test

import (
	"context"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"

	"agent/host/model/modeltest"
)

// serverKey finds the model server of a script.
type serverKey struct{}

// served holds it, once there is one.
type served struct{ *modeltest.Server }

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

func cmdWaitHeld(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: waitheld")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	_, err := serverOf(ts).Held(ctx, 0)
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
