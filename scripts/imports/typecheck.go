package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strings"
)

// program type-checks the packages of the tree as far as they go by themselves: of the standard
// library it knows package time, and a package of another module is an empty one. So nothing is
// built or fetched, and files of every system are looked at together. What cannot be known has no
// type, and the errors about it are of no interest.
type program struct {
	fset    *token.FileSet
	info    *types.Info
	files   map[string][]*source // by folder
	checked map[string]*types.Package
	outside map[string]*types.Package
}

func newProgram(sources []*source) *program {
	p := &program{
		info: &types.Info{
			Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{},
			Types: map[ast.Expr]types.TypeAndValue{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		},
		files: map[string][]*source{}, checked: map[string]*types.Package{}, outside: map[string]*types.Package{},
	}
	for _, s := range sources {
		if s.syntax != nil {
			p.fset = s.fset
			p.files[s.dir] = append(p.files[s.dir], s)
		}
	}
	return p
}

// checkTests type-checks every folder that has some, with its tests.
func (p *program) checkTests() {
	for dir, files := range p.files {
		if !slices.ContainsFunc(files, forTests) {
			continue
		}
		var inside, outside []*ast.File
		for _, s := range files {
			if strings.HasSuffix(s.syntax.Name.Name, "_test") {
				outside = append(outside, s.syntax)
			} else {
				inside = append(inside, s.syntax)
			}
		}

		tested := p.check(dir, inside, p, p.info)
		p.check(dir+"_test", outside, importerFunc(func(target string) (*types.Package, error) {
			if folder, ok := folderOf(target); ok && folder == dir {
				return tested, nil
			}
			return p.Import(target)
		}), p.info)
	}
}

// check type-checks files. Without an info to fill, functions are looked at from outside only.
func (p *program) check(name string, files []*ast.File, from types.Importer, info *types.Info) *types.Package {
	config := types.Config{Importer: from, FakeImportC: true, Error: func(error) {}, IgnoreFuncBodies: info == nil}
	checked, err := config.Check(name, p.fset, files, info)
	_ = err // what other packages have is missing here
	return checked
}

// importerFunc is a function that imports.
type importerFunc func(string) (*types.Package, error)

func (f importerFunc) Import(target string) (*types.Package, error) { return f(target) }

// Import returns a package without its tests, as the type checker asks for it.
func (p *program) Import(target string) (*types.Package, error) {
	if checked := p.checked[target]; checked != nil {
		return checked, nil
	}
	folder, ok := folderOf(target)
	if !ok || p.files[folder] == nil {
		return p.stub(target)
	}

	var files []*ast.File
	for _, s := range p.files[folder] {
		if !s.test {
			files = append(files, s.syntax)
		}
	}
	p.checked[target] = types.NewPackage(target, "") // an import cycle ends here
	p.checked[target] = p.check(target, files, p, nil)
	return p.checked[target], nil
}

// stub is package time, or a package of which nothing but its likely name is known.
func (p *program) stub(target string) (*types.Package, error) {
	switch {
	case target == "unsafe":
		return types.Unsafe, nil
	case p.outside[target] != nil:
	case target == "time":
		file, err := parser.ParseFile(p.fset, "time.go", timePackage, 0)
		if err != nil {
			return nil, err
		}
		p.outside[target] = p.check(target, []*ast.File{file}, p, nil)
	default:
		name := path.Base(target)
		if regexp.MustCompile(`^v[0-9]+$`).MatchString(name) {
			name = path.Base(path.Dir(target))
		}
		p.outside[target] = types.NewPackage(target, strings.ReplaceAll(strings.TrimPrefix(name, "go-"), "-", ""))
		p.outside[target].MarkComplete()
	}
	return p.outside[target], nil
}

// timePackage is what tests use of package time, without the bodies.
const timePackage = `package time

type Duration int64

const (
	Nanosecond  Duration = 1
	Microsecond          = 1000 * Nanosecond
	Millisecond          = 1000 * Microsecond
	Second               = 1000 * Millisecond
	Minute               = 60 * Second
	Hour                 = 60 * Minute
)

func (Duration) Abs() Duration
func (Duration) Hours() float64
func (Duration) Microseconds() int64
func (Duration) Milliseconds() int64
func (Duration) Minutes() float64
func (Duration) Nanoseconds() int64
func (Duration) Round(Duration) Duration
func (Duration) Seconds() float64
func (Duration) String() string
func (Duration) Truncate(Duration) Duration
func ParseDuration(string) (Duration, error)

type Month int
type Location struct{}
type Time struct{ wall int64 }

var UTC, Local *Location

func Date(year int, month Month, day, hour, min, sec, nsec int, loc *Location) Time
func Now() Time
func Parse(layout, value string) (Time, error)
func Unix(sec, nsec int64) Time
func UnixMicro(int64) Time
func UnixMilli(int64) Time
func Since(Time) Duration
func Until(Time) Duration
func (Time) Add(Duration) Time
func (Time) AddDate(years, months, days int) Time
func (Time) After(Time) bool
func (Time) Before(Time) bool
func (Time) Compare(Time) int
func (Time) Equal(Time) bool
func (Time) Format(string) string
func (Time) In(*Location) Time
func (Time) IsZero() bool
func (Time) Local() Time
func (Time) Round(Duration) Time
func (Time) Sub(Time) Duration
func (Time) Truncate(Duration) Time
func (Time) UTC() Time
func (Time) Unix() int64
func (Time) UnixMicro() int64
func (Time) UnixMilli() int64
func (Time) UnixNano() int64

type Timer struct{ C <-chan Time }
type Ticker struct{ C <-chan Time }

func After(Duration) <-chan Time
func AfterFunc(Duration, func()) *Timer
func NewTicker(Duration) *Ticker
func NewTimer(Duration) *Timer
func Sleep(Duration)
func Tick(Duration) <-chan Time
func (*Ticker) Reset(Duration)
func (*Ticker) Stop()
func (*Timer) Reset(Duration) bool
func (*Timer) Stop() bool
`
