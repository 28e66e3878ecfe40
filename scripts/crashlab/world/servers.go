//go:build linux

package world

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"agent/scripts/crashlab/mcp"
)

// WaitServers waits until no MCP server of the world is left: they end with the host that started
// them.
func (w *World) WaitServers() error {
	if !w.hasMCP {
		return nil
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(Limit)
	line := []byte("\x00" + mcp.Command + "\x00" + w.Witness.Counter.Addr() + "\x00" + strconv.Itoa(w.Number) + "\x00")
	for {
		all, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return err
		}
		left := ""
		for _, path := range all {
			if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, line) {
				left = path
			}
		}
		if left == "" {
			return nil
		}
		select {
		case <-tick.C:
		case <-late:
			return fmt.Errorf("%w: an MCP server outlives its host by %s: %s", ErrStuck, Limit, left)
		}
	}
}
