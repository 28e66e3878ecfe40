package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// MCPPath is the person's file of MCP servers, beside their config.toml; "" without one.
func MCPPath(user string) string {
	if user == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(user), "mcp.json")
}

// WorkspaceMCPPath is the file of MCP servers that a workspace brings along.
func WorkspaceMCPPath(folder string) string { return filepath.Join(folder, ".mcp.json") }

// TrustPath is where a person's decision on such files is kept, beside their config.toml; ""
// without one.
func TrustPath(user string) string {
	if user == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(user), "trust.json")
}

// ReadPerson reads a file of the person. It says whether the file is there.
func ReadPerson(path string) ([]byte, bool, error) { return read(path, openFile) }

// ReadWorkspace reads a file that stands directly in a workspace. No link leads out of it.
func ReadWorkspace(path string) ([]byte, bool, error) {
	return read(path, func(path string) (*os.File, error) {
		root, err := os.OpenRoot(filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		defer func() {
			_ = root.Close() // it was only read
		}()
		f, err := root.OpenFile(filepath.Base(path), openFlags, 0)
		var cause *fs.PathError
		if errors.As(err, &cause) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return nil, fmt.Errorf("open %s within its workspace: %v", path, cause.Err)
		}
		return f, err
	})
}
