//go:build linux

package main

import (
	"cmp"
	"context"
	"debug/buildinfo"
	"debug/elf"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// shownModules is how many modules have a row of their own.
const shownModules = 6

// size is the size of the binary as it is released, and, where there is time to link it once more,
// what of it bears the name of which module.
func size(ctx context.Context, b *bench) ([]row, error) {
	released, err := b.released(ctx, "agent-released", "-s -w")
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(released)
	if err != nil {
		return nil, fmt.Errorf("look at the binary: %v", err)
	}

	rows := []row{plain("binary, stripped", float64(info.Size())/1e6, "MB")}
	if b.quick {
		return rows, nil
	}
	sizes, err := b.bySizes(ctx)
	if err != nil {
		return rows, err
	}
	largest := slices.SortedFunc(maps.Keys(sizes), func(x, y string) int { return cmp.Compare(sizes[y], sizes[x]) })
	for _, module := range largest[:min(len(largest), shownModules)] {
		rows = append(rows, plain("code and data of "+module, float64(sizes[module])/1e6, "MB"))
	}
	rows[0].Note = "What the rows of modules leave out is tables of the runtime for them: lines, types, and where pointers are, 8 MB. Of x/text 0.3 MB are tables for " +
		"writing Chinese, Japanese and Korean, which come with those for reading pages in them (x/net/html/charset). The SDK of MCP brings encoding/gob, " +
		"segmentio/encoding and jsonschema; with their tables they and it are 0.9 MB."
	return rows, nil
}

// released builds the binary as it is released, but for flags of the linker. It is built here and
// not taken from testbin, since it is the form of a release that is measured: without paths and,
// with -s and -w, without names and lines for debuggers.
func (b *bench) released(ctx context.Context, name, ldflags string) (string, error) {
	out := filepath.Join(b.dir, name)
	c := exec.CommandContext(ctx, "go", "build", "-tags", "urfave_cli_no_template", "-trimpath", "-ldflags", ldflags, "-o", out, "agent")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the binary as it is released: %v\n%s", err, text)
	}
	return out, nil
}

// bySizes is the bytes of code and data by module.
func (b *bench) bySizes(ctx context.Context) (map[string]uint64, error) {
	out, err := b.released(ctx, "agent-symbols", "-w")
	if err != nil {
		return nil, err
	}
	built, err := buildinfo.ReadFile(out)
	if err != nil {
		return nil, fmt.Errorf("read what the binary is made of: %v", err)
	}
	f, err := elf.Open(out)
	if err != nil {
		return nil, fmt.Errorf("read the binary's symbols: %v", err)
	}
	defer f.Close() // it was only read
	symbols, err := f.Symbols()
	if err != nil {
		return nil, fmt.Errorf("read the binary's symbols: %v", err)
	}
	modules := []string{"agent"}
	for _, d := range built.Deps {
		modules = append(modules, d.Path)
	}
	sizes := map[string]uint64{}
	for _, s := range symbols {
		if int(s.Section) < len(f.Sections) && f.Sections[s.Section].Type != elf.SHT_NOBITS { // which takes no room in the file
			sizes[moduleOf(s.Name, modules)] += s.Size
		}
	}
	return sizes, nil
}

// moduleOf is the module of a symbol; what no module names is of Go itself.
func moduleOf(symbol string, modules []string) string {
	best := "Go itself"
	for _, m := range modules {
		after, ok := strings.CutPrefix(symbol, m)
		if ok && (strings.HasPrefix(after, "/") || strings.HasPrefix(after, ".")) && (best == "Go itself" || len(m) > len(best)) {
			best = m
		}
	}
	return best
}
