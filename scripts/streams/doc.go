//go:build linux

// Command streams proves what a server promises to those who watch runs, with the built binary and
// with clients that are not ours: npm's eventsource and curl. See scripts/check for how it is run.
//
//	once       each client sees each fact once and in order, whatever is cut or killed
//	observers  a thousand of them, half of which read nothing, harm neither the run nor the server
//	leftover   two hundred runs leave no process behind
package main
