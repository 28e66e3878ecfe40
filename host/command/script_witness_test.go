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
//	witness say WORD [HOST]  ok, hold, later or fenced
//	witness heard RUN WHY…   it heard this of the run, in this order, and the whole journal
func cmdWitness(ts *testscript.TestScript, neg bool, args []string) {
	at := ts.Value(serverKey{}).(*served)
	switch {
	case neg:
		ts.Fatalf("usage: witness | witness say WORD [HOST] | witness heard RUN WHY...")
	case len(args) == 0:
		path := filepath.Join(ts.Getenv("WORK"), "w.sock")
		w, err := witnesstest.Start(path)
		ts.Check(err)
		ts.Defer(func() {
			if err := w.Close(); err != nil {
				ts.Logf("end the witness: %v", err)
			}
		})
		at.Witness = w
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
		ts.Fatalf("usage: witness | witness say WORD [HOST] | witness heard RUN WHY...")
	}
}
