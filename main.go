// Agent hosts AI agents on one machine and goes on from where it was, whatever ended it.
package main

import (
	"os"

	"agent/host/command"
	_ "agent/tools/hidden" // the commands with which the binary starts itself
)

func main() {
	os.Exit(command.Main(os.Args, command.Standard()))
}
