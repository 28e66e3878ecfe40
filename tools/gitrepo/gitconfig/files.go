// Package gitconfig reads git's configuration without git: its syntax, the files that it consists
// of, and the files that these include. Nothing that a configuration names is run.
package gitconfig

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// MaxFile bounds a file of a configuration, in bytes.
const MaxFile = 1 << 20

// Bounds of the files that include one another.
const (
	MaxInclude = 10  // depth, as git has it
	maxFiles   = 200 // in all
)

// ReadFile reads a regular file of at most so many bytes. It never waits, whatever lies in its
// place.
func ReadFile(name string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close() // it was only read from; nothing can be lost
	return ReadOpened(f, limit)
}

// ReadOpened is ReadFile of a file that is open.
func ReadOpened(f *os.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() > limit) {
		err = fmt.Errorf("%s is no file that can be read", f.Name())
	}
	if err != nil {
		return nil, err
	}
	content := make([]byte, 0, info.Size()+512)
	for int64(len(content)) <= limit {
		n, err := f.Read(content[len(content):cap(content)])
		content = content[:len(content)+n]
		if err == io.EOF {
			return content, nil
		}
		if err != nil {
			return nil, err
		}
		if len(content) == cap(content) {
			content = append(content, 0)[:len(content)]
		}
	}
	return nil, fmt.Errorf("%s is no file that can be read", f.Name())
}

// PersonFiles lists where the system's and a person's own configuration is: git-config, FILES.
func PersonFiles(home string) []string {
	files := []string{"/etc/gitconfig"}
	if home != "" {
		files = append(files, filepath.Join(Folder(home), "config"), filepath.Join(home, ".gitconfig"))
	}
	return files
}

// Folder is a person's folder of git's configuration.
func Folder(home string) string {
	config := os.Getenv("XDG_CONFIG_HOME")
	if config == "" {
		config = filepath.Join(home, ".config")
	}
	return filepath.Join(config, "git")
}

// Each shows what files say, and those that they include, whatever the condition. A file that is
// there and cannot be read comes with an error.
func Each(files []string, home string, visit func(file string, list []Setting, err error)) {
	seen := map[string]bool{}
	for depth := 0; len(files) > 0 && depth < MaxInclude; depth++ {
		var more []string
		for _, file := range files {
			if seen[file] {
				continue
			}
			seen[file] = true
			if len(seen) > maxFiles {
				visit(file, nil, fmt.Errorf("more than %d files include one another", maxFiles))
				return
			}
			content, err := ReadFile(file, MaxFile)
			list, wrong := Parse(content, filepath.Dir(file))
			if err == nil {
				err = wrong
			} else if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
				err = nil
			}
			visit(file, list, err)
			for _, s := range list {
				if s.Includes() {
					more = append(more, Resolve(home, s.Base, s.Value))
				}
			}
		}
		files = more
	}
}

// Resolve is the path that a value names, seen from a folder.
func Resolve(home, base, value string) string {
	if rest, ok := strings.CutPrefix(value, "~/"); ok {
		return filepath.Join(home, rest)
	}
	if filepath.IsAbs(value) {
		return filepath.Clean(value)
	}
	return filepath.Join(base, value)
}
