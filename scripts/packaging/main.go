// Command packaging makes what a release consists of from binaries that are built: archives, deb
// and rpm packages, packages for npm, a Homebrew formula, lists of the modules that are inside, and
// checksums. It writes the same bytes for the same files, version and time. It is a module of its
// own, so that what makes packages is no dependency of the product. scripts/release runs it.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// release is what all packages have in common.
type release struct {
	version  string // without v
	revision string
	time     time.Time // of the commit
	files    string    // holds OS_ARCH/agent, man and completions
	out      string
	url      string // folder that archives are downloaded from; "" if there is none
	common   []file // text that goes with every binary
}

// target is a system that a binary is for.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "_" + t.arch }

// targets are what a release is for.
func targets() []target {
	return []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}
}

func main() {
	var r release
	flag.StringVar(&r.version, "version", "", "the `VERSION`")
	flag.StringVar(&r.revision, "revision", "", "the `COMMIT` that it is built from")
	flag.StringVar(&r.files, "files", "", "`FOLDER` of the binaries, man and completions")
	flag.StringVar(&r.out, "o", "", "write into `FOLDER`")
	flag.StringVar(&r.url, "url", "", "`URL` of the folder that archives are downloaded from; without it there is no Homebrew formula")
	seconds := flag.Int64("time", 0, "when it was committed, in `SECONDS` since 1970")
	root := flag.String("root", "", "`FOLDER` of the repository")
	flag.Parse()
	r.time = time.Unix(*seconds, 0).UTC()
	if err := r.make(*root); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

func (r *release) make(root string) error {
	if err := r.gather(root); err != nil {
		return err
	}
	targets := r.built()
	errs := make([]error, len(targets))
	var all sync.WaitGroup
	for i, t := range targets {
		all.Go(func() { errs[i] = r.packages(t) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := r.mainPackage(); err != nil {
		return err
	}
	if err := r.formula(); err != nil {
		return err
	}
	return r.sums()
}

// built are the targets for which there is a binary: whoever tries something needs but one.
func (r *release) built() []target {
	return slices.DeleteFunc(targets(), func(t target) bool {
		_, err := os.Stat(r.binary(t))
		return err != nil
	})
}

func (r *release) binary(t target) string { return filepath.Join(r.files, t.String(), "agent") }

// packages writes all that holds the binary of a target, or lists what is in it.
func (r *release) packages(t target) error {
	binary, err := readFile(r.binary(t), "agent", 0o755)
	if err != nil {
		return err
	}
	if err := r.archive(t, binary); err != nil {
		return err
	}
	if err := r.sbom(t); err != nil {
		return err
	}
	if err := r.platformPackage(t, binary); err != nil || t.os != "linux" {
		return err
	}
	return r.systemPackages(t)
}

// gather reads what goes with every binary.
func (r *release) gather(root string) error {
	notices, err := r.notices(root)
	if err != nil {
		return err
	}
	r.common = []file{notices}
	for _, name := range []string{"README.md", "LICENSE"} {
		f, err := readFile(filepath.Join(root, name), name, 0o644)
		if err != nil {
			return err
		}
		r.common = append(r.common, f)
	}
	for _, pattern := range []string{"man/*", "completions/*"} {
		found, err := filepath.Glob(filepath.Join(r.files, pattern))
		if err != nil {
			return err
		}
		for _, path := range found {
			f, err := readFile(path, filepath.Join(filepath.Dir(pattern), filepath.Base(path)), 0o644)
			if err != nil {
				return err
			}
			r.common = append(r.common, f)
		}
	}
	slices.SortFunc(r.common, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return nil
}

// pages are the manual pages.
func (r *release) pages() []file {
	return slices.DeleteFunc(slices.Clone(r.common), func(f file) bool { return !strings.HasPrefix(f.path, "man/") })
}

// name is that of a file of the release.
func (r *release) name(t target, ending string) string {
	return fmt.Sprintf("agent_%s_%s%s", r.version, t, ending)
}

func (r *release) write(name string, data []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}

func (r *release) sum(name string) (string, error) {
	data, err := os.ReadFile(filepath.Join(r.out, name))
	return fmt.Sprintf("%x", sha256.Sum256(data)), err
}

// sums writes the checksum of each file, as sha256sum -c reads them.
func (r *release) sums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, e := range entries {
		sum, err := r.sum(e.Name())
		if err != nil {
			return err
		}
		fmt.Fprintf(&lines, "%s  %s\n", sum, e.Name())
	}
	return r.write("SHA256SUMS", []byte(lines.String()))
}
