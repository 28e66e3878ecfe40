// Command landed prints what differs from the last landing: the commit, the files and their
// packages. With -write it keeps that in a folder instead, for a copy that has no history.
//
//	go run ./scripts/landed [-write FOLDER]
package main

import (
	"flag"
	"fmt"
	"os"

	"agent/scripts/landed/change"
)

func main() {
	write := flag.String("write", "", "keep the change in this empty `folder` and print only its size")
	root := flag.String("root", ".", "`folder` that holds go.mod")
	flag.Parse()

	if err := run(*root, *write); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(root, folder string) error {
	c, err := change.Find(root)
	if err != nil {
		return err
	}

	fmt.Printf("change: %d commits, %d files, since %.8s\n", c.Commits, len(c.Files), c.Base)
	if folder != "" {
		return c.Write(folder)
	}
	for _, name := range c.Files {
		fmt.Println("file:", name)
	}
	for _, name := range c.Packages() {
		fmt.Println("package:", name)
	}
	return nil
}
