//go:build !unix

package prompt

import "io/fs"

// trusted says whose files may instruct a run in folder. Here a file does not say whose it is.
func trusted(fs.FileInfo) func(fs.FileInfo) bool {
	return func(fs.FileInfo) bool { return true }
}
