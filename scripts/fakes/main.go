// Command fakes is what the program talks to in tests. It is one program, so that it is built once:
//
//	fakes NAME ARGUMENT...
//
// A link to it with the name of a fake is that fake. The fakes are mcptest, an MCP server (package
// agent/tools/mcp/mcptest), and modelserver, a model on loopback that speaks the protocols of the
// providers and answers as its script has it (package agent/host/model/modeltest).
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"agent/host/model/modeltest"
	"agent/tools/mcp/mcptest"
)

// revision names the sources that this was made of. The linker sets it.
var revision = "unknown"

func main() { os.Exit(run(os.Args, os.Stderr)) }

// run carries out the fake that its name, or its first argument, names.
func run(args []string, stderr io.Writer) int {
	if len(args) > 0 {
		if fake := named(filepath.Base(args[0])); fake != nil {
			return fake(args[1:], stderr)
		}
	}
	if len(args) > 1 {
		if fake := named(args[1]); fake != nil {
			return fake(args[2:], stderr)
		}
	}
	fmt.Fprintf(stderr, "fakes (%s): the first argument is mcptest or modelserver\n", revision)
	return 2
}

// named is the fake of a name; nil where there is none.
func named(name string) func(args []string, stderr io.Writer) int {
	switch name {
	case "mcptest":
		return mcptest.Main
	case "modelserver":
		return modelserver
	}
	return nil
}

func modelserver(args []string, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return modeltest.Main(ctx, args, stderr)
}
