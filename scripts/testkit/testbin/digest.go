package testbin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// module is the path in go.mod of what is built.
const module = "agent"

// tree is where the sources are.
type tree struct {
	root string // folder of the module

	// watched is another name of root, for what go's cache of test results is to know. That cache
	// counts a file if its name, as it is, begins with the folder of the module of the test. A
	// module within this one therefore names a file as HERE/../../host/app.go.
	watched string
}

// findTree looks for the module in a folder and in those above it.
func findTree(folder string, read func(name string) ([]byte, error)) (tree, error) {
	own := "" // the nearest module
	for dir := folder; ; dir = filepath.Dir(dir) {
		text, err := read(filepath.Join(dir, "go.mod"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return tree{}, err
		}

		if err == nil {
			if own == "" {
				own = dir
			}
			if moduleOf(text) == module {
				return tree{root: dir, watched: own + strings.Repeat("/..", depth(dir, own))}, nil
			}
		}
		if dir == filepath.Dir(dir) {
			return tree{}, fmt.Errorf("no go.mod of the module %s in %s or above it", module, folder)
		}
	}
}

// depth is how many folders below is under above.
func depth(above, below string) int {
	rest := strings.Trim(strings.TrimPrefix(below, above), "/")
	if rest == "" {
		return 0
	}
	return strings.Count(rest, "/") + 1
}

// moduleOf is the path of the module that a go.mod names.
func moduleOf(text []byte) string {
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) == 2 && words[0] == "module" {
			return words[1]
		}
	}
	return ""
}

// fields are what go list is asked for.
const fields = "Dir,Module,GoFiles,CgoFiles,CFiles,HFiles,SFiles,SysoFiles,EmbedFiles"

// listed is a package as go list prints it.
type listed struct {
	Dir    string
	Module *struct{ Path, Dir string }

	GoFiles, CgoFiles, CFiles, HFiles, SFiles, SysoFiles, EmbedFiles []string
}

// files are the names, below the package's folder, of what is compiled or embedded.
func (p listed) files() []string {
	return slices.Concat(p.GoFiles, p.CgoFiles, p.CFiles, p.HFiles, p.SFiles, p.SysoFiles, p.EmbedFiles)
}

// parse takes from the output of go list the files of the module, and the folders in which a new
// file would be one more of them. Both are sorted, and named from the module's folder; packages of
// others are known by go.sum.
func parse(list io.Reader) (files, folders []string, err error) {
	files = []string{"go.mod", "go.sum"}
	for in := json.NewDecoder(list); ; {
		var p listed
		if err := in.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, nil, fmt.Errorf("read what go list prints: %w", err)
		}
		if p.Module == nil || p.Module.Path != module {
			continue
		}

		dir, err := filepath.Rel(p.Module.Dir, p.Dir)
		if err != nil {
			return nil, nil, err
		}
		folders = append(folders, filepath.ToSlash(dir))
		for _, name := range p.files() {
			file := path.Join(filepath.ToSlash(dir), name)
			files = append(files, file)
			for between := path.Dir(file); between != filepath.ToSlash(dir); between = path.Dir(between) {
				folders = append(folders, between) // an embedded file may be deep below
			}
		}
	}

	if len(folders) == 0 {
		return nil, nil, fmt.Errorf("read what go list prints: no package of the module %s", module)
	}
	slices.Sort(files)
	slices.Sort(folders)
	return slices.Compact(files), slices.Compact(folders), nil
}

// source is one file.
type source struct {
	name string
	text []byte
}

// digestOf is the name of what is made of sources by a recipe: tags, system, version of go. It is
// the first half of a SHA-256, which is short enough for a path.
func digestOf(recipe []string, sources []source) string {
	h := sha256.New()
	for _, line := range recipe {
		fmt.Fprintf(h, "%q\n", line)
	}
	for _, s := range sources {
		fmt.Fprintf(h, "%q %d\n", s.name, len(s.text))
		h.Write(s.text)
	}
	return hex.EncodeToString(h.Sum(nil)[:sha256.Size/2])
}

// isDigest reports whether a file of BASE has the name of a state.
func isDigest(name string) bool {
	return len(name) == sha256.Size && strings.Trim(name, "0123456789abcdef") == ""
}

// mark is what each program contains that was made of the sources with a digest.
func mark(digest string) string { return "src-" + digest }
