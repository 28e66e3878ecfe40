// Agent hosts AI agents on one machine and goes on from where it was, whatever ended it.
package main

import (
	"os"

	"agent/host/command"
)

func main() {
	os.Exit(command.Main(os.Args, command.Standard()))
}
