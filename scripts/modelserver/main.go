// Command modelserver is a model on loopback that speaks the providers' wire protocols and says
// what a script says:
//
//	go run ./scripts/modelserver -protocol anthropic -script FILE -addr-file FILE -log FILE
//
// Package agent/host/model/modeltest says what a script may hold.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"agent/host/model/modeltest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := modeltest.Main(ctx, os.Args[1:], os.Stderr)
	stop()
	os.Exit(code)
}
