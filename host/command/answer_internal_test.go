package command

import (
	"bytes"
	"testing"

	"agent/host"
	"agent/host/app"
	"agent/host/terminal"
)

// With --json, or without a terminal behind stderr, nobody is asked here. // DESIGN 7
func TestNoTerminalNoQuestion(t *testing.T) {
	s := &session{Folder: &app.Folder{Host: &host.Host{}}, app: newCommandLine(IO{Terminal: terminal.Terminal{Err: &bytes.Buffer{}}})}
	c := runCommand{newCommandLine(IO{})}.command()
	s.askHere(c)
	if s.Env.Ask != nil {
		t.Error("a question would be asked into a file")
	}
}
