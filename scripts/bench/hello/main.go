//go:build linux

// Command hello is the least that a Go process takes: it says one line.
//
// With arguments it starts what they name, as a parent too small to be seen in the memory that the
// kernel reports for a child, and says the most that the child held, in KiB.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Println("hello")
		return
	}
	kib, err := most(os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "hello: %v\n", err)
		os.Exit(1)
	}
	fmt.Println(kib)
}

func most(args []string) (int64, error) {
	c := exec.Command(args[0], args[1:]...)
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return 0, err
	}
	usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, errors.New("the kernel does not say what a child used")
	}
	return usage.Maxrss, nil
}
