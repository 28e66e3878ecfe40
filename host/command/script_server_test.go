package command_test

import (
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"agent/host/model/modeltest"
)

// cmdServer starts a model server of the script in a JSON file, and ends it with the script:
//
//	server FILE       sets $SERVER to its address and $KEY to the key that it takes
func cmdServer(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: server FILE")
	}
	text, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	script, err := modeltest.ParseScript(text)
	ts.Check(err)
	s, err := modeltest.Start(modeltest.Options{Script: script})
	ts.Check(err)
	ts.Defer(func() {
		if err := s.Close(); err != nil {
			ts.Logf("end the model server: %v", err)
		}
	})
	ts.Value(serverKey{}).(*served).Server = s
	ts.Setenv("SERVER", s.URL())
	ts.Setenv("SERVER_HOST", strings.TrimPrefix(s.URL(), "http://"))
	ts.Setenv("KEY", modeltest.DefaultKey)
}
