package command_test

import (
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"agent/host/witness/witnesstest"
)

// cmdWitness starts a witness, has it answer as it is bidden, and looks at what it heard:
//
//	witness                  starts one, and sets $AGENT_WITNESS to its address
//	witness at SOCKET        starts another one there, or goes back to it
//	witness say WORD [MORE]  ok, hold, later [START] or fenced HOST
//	witness heard RUN WHY…   it heard this of the run, in this order, and the whole journal
func cmdWitness(ts *testscript.TestScript, neg bool, args []string) {
	at := ts.Value(serverKey{}).(*served)
	switch {
	case neg:
		ts.Fatalf("usage: witness | witness say WORD [MORE] | witness heard RUN WHY...")
	case len(args) == 2 && args[0] == "at" && at.Witnesses[args[1]] != nil:
		at.Witness = at.Witnesses[args[1]]
	case len(args) == 0 || len(args) == 2 && args[0] == "at":
		name := "w.sock"
		if len(args) == 2 {
			name = args[1]
		}
		path := filepath.Join(ts.Getenv("WORK"), name)
		w, err := witnesstest.Start(path)
		ts.Check(err)
		ts.Defer(func() {
			if err := w.Close(); err != nil {
				ts.Logf("end the witness: %v", err)
			}
		})
		if at.Witnesses == nil {
			at.Witnesses = map[string]*witnesstest.Witness{}
		}
		at.Witness, at.Witnesses[name] = w, w
		ts.Setenv("AGENT_WITNESS", "unix:"+path)
	case args[0] == "say" && len(args) > 1:
		ts.Check(at.Witness.Say(args[1], strings.Join(args[2:], " ")))
	case args[0] == "heard" && len(args) > 1:
		log := at.Witness.Heard(args[1])
		var heard []string
		for _, e := range log {
			if e.Why != "later" { // it comes when it comes
				heard = append(heard, e.Why)
			}
		}
		got := strings.Join(heard, ", ")
		if want := strings.Join(args[2:], ", "); got != want {
			ts.Fatalf("heard %s, want %s", got, want)
		}
		ts.Check(witnesstest.Whole(log))
	default:
		ts.Fatalf("usage: witness | witness say WORD [MORE] | witness heard RUN WHY...")
	}
}
