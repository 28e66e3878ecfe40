// Package tty is what the kernel knows of a terminal: who may read from it, and what was typed
// there.
package tty
