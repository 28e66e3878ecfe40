package shape

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// A Module is the code of one module, parsed and type-checked.
type Module struct {
	path     string // as go.mod has it
	fset     *token.FileSet
	packages []*pkg // in the order of their folders
	files    []*file
	byPath   map[string]*pkg
	outside  map[string]*types.Package // empty packages of other modules
}

// A pkg is one package of the module.
type pkg struct {
	path   string
	syntax []*ast.File // all files, generated ones too
	files  []*file     // those written by hand
	types  *types.Package
	info   *types.Info
}

// A file is one file that was written by hand.
type file struct {
	*ast.File
	name   string // below the folder of go.mod
	folder string
	pkg    *pkg
	lines  []string
}

// Load reads a module. It fails where there is no go.mod, and where a file cannot be parsed.
func Load(tree fs.FS) (*Module, error) {
	mod, err := fs.ReadFile(tree, "go.mod")
	if err != nil {
		return nil, fmt.Errorf("read go.mod: %w", err)
	}
	name := modulePath(string(mod))
	if name == "" {
		return nil, errors.New("read go.mod: it names no module")
	}
	m := &Module{path: name, fset: token.NewFileSet(), byPath: map[string]*pkg{}, outside: map[string]*types.Package{}}

	folders, err := packageFolders(tree)
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		if err := m.parse(tree, folder); err != nil {
			return nil, err
		}
	}

	for _, p := range m.packages {
		m.check(p)
		m.files = append(m.files, p.files...)
	}
	return m, nil
}

// modulePath is the path in a go.mod, or "".
func modulePath(mod string) string {
	for line := range strings.Lines(mod) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "module" {
			return strings.Trim(fields[1], `"`)
		}
	}
	return ""
}

// packageFolders are the folders in which go looks for packages of the module. A module within the
// module is measured by itself.
func packageFolders(tree fs.FS) (folders []string, err error) {
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name != "." && (ignored(d.Name()) || ownModule(tree, name)) {
			return fs.SkipDir
		}
		folders = append(folders, name)
		return nil
	})
	return folders, err
}

func ignored(folder string) bool {
	if strings.HasPrefix(folder, ".") || strings.HasPrefix(folder, "_") {
		return true
	}
	return folder == "testdata" || folder == "vendor" || folder == "node_modules"
}

func ownModule(tree fs.FS, folder string) bool {
	_, err := fs.Stat(tree, path.Join(folder, "go.mod"))
	return err == nil
}

// parse adds the package of a folder, if there is one.
func (m *Module) parse(tree fs.FS, folder string) error {
	names, err := fs.Glob(tree, path.Join(folder, "*.go"))
	if err != nil {
		return fmt.Errorf("list %s: %w", folder, err)
	}

	p := &pkg{path: path.Join(m.path, folder)}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		if built, err := onLinux(name, source); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		} else if !built {
			continue
		}

		syntax, err := parser.ParseFile(m.fset, name, source, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse %w", err)
		}
		p.syntax = append(p.syntax, syntax)
		if !ast.IsGenerated(syntax) {
			text := strings.TrimRight(string(source), "\n")
			p.files = append(p.files, &file{File: syntax, name: name, folder: folder, pkg: p, lines: strings.Split(text, "\n")})
		}
	}

	if len(p.syntax) > 0 {
		m.packages = append(m.packages, p)
		m.byPath[p.path] = p
	}
	return nil
}

// onLinux reports whether a file is part of a plain build for Linux, without cgo.
func onLinux(name string, source []byte) (bool, error) {
	target := build.Default
	target.GOOS, target.GOARCH, target.CgoEnabled, target.BuildTags = "linux", "amd64", false, nil
	target.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(source)), nil }
	return target.MatchFile(path.Dir(name), path.Base(name))
}

// check finds out what the names of a package mean. What other modules declare is missing, so the
// errors of the checker are expected and mean nothing.
func (m *Module) check(p *pkg) {
	if p.types != nil {
		return
	}
	p.info = &types.Info{
		Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	p.types = types.NewPackage(p.path, p.syntax[0].Name.Name)
	config := types.Config{Importer: m, Error: func(error) {}, FakeImportC: true}
	_ = types.NewChecker(&config, m.fset, p.types, p.info).Files(p.syntax)
}

// Import is what the type checker calls for the package of a path.
func (m *Module) Import(name string) (*types.Package, error) {
	if name == "unsafe" {
		return types.Unsafe, nil
	}
	if p := m.byPath[name]; p != nil {
		m.check(p)
		return p.types, nil
	}

	if m.outside[name] == nil {
		m.outside[name] = types.NewPackage(name, assumedName(name))
		m.outside[name].MarkComplete()
	}
	return m.outside[name], nil
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// assumedName is what a package of another module is probably called.
func assumedName(name string) string {
	base := path.Base(name)
	if majorVersion.MatchString(base) {
		base = path.Base(path.Dir(name))
	}
	return strings.ReplaceAll(strings.TrimPrefix(base, "go-"), "-", "")
}

// owns reports whether a package is one of the module.
func (m *Module) owns(p *types.Package) bool { return p != nil && m.byPath[p.Path()] != nil }

// folderOf is the folder of a package of the module.
func (m *Module) folderOf(p *types.Package) string { return strings.TrimPrefix(p.Path(), m.path+"/") }

// handwritten finds the file in which a position of a package is; nil for a generated one.
func (m *Module) handwritten(p *pkg) func(token.Pos) *file {
	files := map[*token.File]*file{}
	for _, f := range p.files {
		files[m.fset.File(f.Pos())] = f
	}
	return func(pos token.Pos) *file { return files[m.fset.File(pos)] }
}

// A function is a declared function or method with a body, or a function literal that is part of a
// variable of a package.
type function struct {
	name string
	file *file
	node ast.Node
	body *ast.BlockStmt
	decl *ast.FuncDecl // nil for a literal
}

// functions are those of all files.
func (m *Module) functions() (all []function) {
	for _, f := range m.files {
		for _, d := range f.Decls {
			switch x := d.(type) {
			case *ast.FuncDecl:
				if x.Body != nil {
					all = append(all, function{name: x.Name.Name, file: f, node: x, body: x.Body, decl: x})
				}
			case *ast.GenDecl:
				all = append(all, literals(f, x)...)
			}
		}
	}
	return all
}

// literals are the outermost function literals of a declaration, each named after its variable.
func literals(f *file, d *ast.GenDecl) (all []function) {
	for _, s := range d.Specs {
		v, ok := s.(*ast.ValueSpec)
		if !ok {
			continue
		}
		ast.Inspect(v, func(n ast.Node) bool {
			l, ok := n.(*ast.FuncLit)
			if ok {
				all = append(all, function{name: v.Names[0].Name, file: f, node: l, body: l.Body})
			}
			return !ok
		})
	}
	return all
}

// declared are the functions that are declarations, methods among them.
func (m *Module) declared() []function {
	return slices.DeleteFunc(m.functions(), func(fn function) bool { return fn.decl == nil })
}

// position is a place in the file itself, whatever a line directive claims.
func (m *Module) position(p token.Pos) token.Position { return m.fset.PositionFor(p, false) }

func (m *Module) line(p token.Pos) int { return m.position(p).Line }

// place is the file and line of a node.
func (m *Module) place(f *file, n ast.Node) string {
	return fmt.Sprintf("%s:%d", f.name, m.line(n.Pos()))
}
