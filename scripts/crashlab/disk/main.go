//go:build linux

// Command disk serves a folder as a file system that remembers what was done to it, fails on
// demand, and can say what a power cut would have left:
//
//	disk -back DIR -mount DIR
//
// The bytes are in DIR as they were written. Every operation that changes something is numbered,
// from 1. It is asked over its standard input, one JSON object a line, and answers with one line
// each ({"error":"…"} where it could not):
//
//	{"do":"index"}
//	    {"index":N}: operations so far
//	{"do":"ops","from":A,"to":B}
//	    {"ops":[{"n":…,"op":"write","path":"state/agent.db-wal","offset":…,"size":…}]}
//	{"do":"fault","op":"fsync","path":"state/","errno":"EIO","at":N,"sticky":false,"torn":false}
//	    {}: the N-th such operation from now on fails; with sticky all after it too
//	{"do":"slow","op":"fsync","path":"","ms":50}
//	    {}: such operations wait before they begin
//	{"do":"heal"}
//	    {"hit":N}: nothing fails or waits any more; so many had failed
//	{"do":"state","at":N,"model":"torn","seed":S,"into":DIR,"keep":["work/effects"],
//	    "omit":["state/ballast"]}
//	    {}: DIR is made, and holds what a cut after operation N leaves
//
// It is a process of its own because SQLite maps its index into memory: a server in the process
// that touches such a page waits for itself, and no signal ends that.
//
// At the end of its input it unmounts and ends.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "disk: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) (err error) {
	f := flag.NewFlagSet("disk", flag.ContinueOnError)
	back := f.String("back", "", "`folder` that holds the bytes")
	at := f.String("mount", "", "`folder` at which they are served")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *back == "" || *at == "" || f.NArg() > 0 {
		return errors.New("usage: disk -back DIR -mount DIR")
	}
	// A person's Ctrl-C reaches the whole group. What the lab does about it ends this process's
	// input.
	signal.Ignore(os.Interrupt, syscall.SIGHUP)
	folder, err := filepath.Abs(*back)
	if err != nil {
		return err
	}
	base, ids, err := snapshot(folder)
	if err != nil {
		return err
	}
	t := newTrace(ids)
	unmount, err := mount(folder, *at, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unmount()) }()
	return (&service{trace: t, base: base}).serve(in, out)
}

// mount serves the folder. The caller unmounts.
func mount(back, at string, t *trace) (unmount func() error, err error) {
	root, err := fs.NewLoopbackRoot(back)
	if err != nil {
		return nil, fmt.Errorf("serve %s: %w", back, err)
	}
	moment := time.Second
	server, err := fs.Mount(at, &node{LoopbackNode: root.(*fs.LoopbackNode), trace: t}, &fs.Options{
		AttrTimeout: &moment, EntryTimeout: &moment,
		MountOptions: fuse.MountOptions{
			DirectMountStrict: true, FsName: "crashlab", Name: "crashlab",
			// Else the kernel may read and write the files behind the server's back.
			DisabledCapabilities: fuse.CAP_PASSTHROUGH,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("mount %s at %s: %w", back, at, err)
	}
	return func() error {
		// Whoever still has a file open is cut off: it belongs to a world that is over.
		if err := syscall.Unmount(at, syscall.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", at, err)
		}
		_ = server // it ends with the process, which is now
		return nil
	}, nil
}
