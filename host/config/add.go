package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"agent/host/permission"
	"agent/tools/durable"
)

// lockPatience is how long a process waits while others add to the same file.
const lockPatience = 5 * time.Second

// Rules reads rules of permission from a text that holds nothing else, as permission.TOML writes
// them.
func Rules(text string) ([]permission.Rule, error) {
	c, err := parseUser("rules", []byte(text), Known{})
	if err != nil {
		return nil, err
	}
	rules := slices.Clone(c.Rules)
	for i := range rules {
		rules[i].Where = ""
	}
	if len(rules) == 0 || permission.TOML(rules) != text {
		return nil, errors.New("read rules of permission: the text holds something else")
	}
	return rules, nil
}

// Add writes rules at the end of the person's file, below a line of comment, and returns the line
// at which the first of them stands. What is in the file stays as it is. The file is replaced at
// once or not at all, and only by one that can be read; processes that add at the same time wait
// for each other.
func Add(path, rules, comment string, known Known) (line int, err error) {
	if path == "" {
		return 0, errors.New("add to the configuration: neither XDG_CONFIG_HOME nor HOME says where it is")
	}
	if _, err := Rules(rules); err != nil {
		return 0, err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link to where a person keeps it stays one
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, fmt.Errorf("add to %s: %v", path, err)
	}
	unlock, err := lockFolder(dir)
	if err != nil {
		return 0, fmt.Errorf("add to %s: %v", path, err)
	}
	defer unlock()
	old, there, err := read(path, openFile)
	if err != nil {
		return 0, err
	}
	if bytes.Contains(old, []byte(rules)) {
		return 1 + bytes.Count(old[:bytes.Index(old, []byte(rules))], []byte("\n")), nil
	}
	text := slices.Clone(old)
	if len(text) > 0 {
		text = append(bytes.TrimRight(text, "\n"), "\n\n"...)
	}
	text = append(text, "# "+strings.Join(strings.Fields(comment), " ")+"\n"...)
	line = bytes.Count(text, []byte("\n")) + 1
	text = append(text, rules...)
	if _, err := parseUser(path, text, known); err != nil {
		return 0, fmt.Errorf("add to %s: %v", path, err)
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); there && err == nil {
		mode = info.Mode().Perm()
	}
	if err := replace(path, old, text, mode); err != nil {
		return 0, fmt.Errorf("add to %s: %v", path, err)
	}
	return line, nil
}

// lockFolder keeps other processes that add from doing so at the same time. It leaves no file
// behind.
func lockFolder(dir string) (unlock func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	late := time.NewTimer(lockPatience)
	defer late.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		ok, err := tryLock(f)
		if ok {
			return func() { _ = f.Close() }, nil // which frees the lock; nothing was written to a folder
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %v", dir, err), f.Close())
		}
		select {
		case <-again.C:
		case <-late.C:
			return nil, errors.Join(fmt.Errorf("another process keeps %s locked", dir), f.Close())
		}
	}
}

// replace writes the new text beside the file and puts it in its place, unless somebody changed the
// file since it was read.
func replace(path string, old, text []byte, mode fs.FileMode) error {
	temp, err := durable.Temp(filepath.Dir(path), ".config-*.toml", mode, bytes.NewReader(text))
	if err != nil {
		return err
	}
	now, _, err := read(path, openFile)
	if err == nil && !bytes.Equal(now, old) {
		err = errors.New("it was changed at the same time")
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return durable.Rename(temp, path)
}
