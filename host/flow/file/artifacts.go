package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"agent/host/schema"
	"agent/recovery/flow"
	"agent/recovery/journal"
)

// itemMark stands for an item's name in the paths of a phase with each.
const itemMark = "{name}"

// Bounds of what a phase lists.
const (
	maxPath      = 500
	maxArtifacts = 100
)

var braces = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[A-Za-z0-9_.-]*\}`) })

// artifacts reads what the phase reads and makes.
func (r *reader) artifacts(p *phase) {
	each := r.text(p.keys, "each")
	if at, ok := r.path("each", each, p, false); ok {
		p.Each = at
		if strings.HasSuffix(at, "/") || strings.Contains(at, itemMark) {
			r.wrong(each.at, "name one JSON file", "each is a file with a JSON array, and not %q", brief(each.text))
		}
	}
	for _, s := range r.texts(p.keys, "inputs") {
		if in, ok := r.path("inputs", s, p, false); ok && !slices.Contains(p.Inputs, flow.Input{Path: in}) {
			p.Inputs, p.inputs = append(p.Inputs, flow.Input{Path: in}), append(p.inputs, s.at)
		}
	}
	if p.Each != "" && !slices.Contains(p.Inputs, flow.Input{Path: p.Each}) {
		p.Inputs, p.inputs = append(p.Inputs, flow.Input{Path: p.Each}), append(p.inputs, each.at)
	}
	for _, v := range items(p.keys, "outputs") {
		if o, at := r.output(p, "outputs", v); o.Path != "" {
			p.Outputs, p.outputs = append(p.Outputs, o), append(p.outputs, at)
		}
	}
	if e := p.keys.get("answer"); e != nil {
		r.answer(p, e)
	}
	if len(p.inputs) > maxArtifacts || len(p.outputs) > maxArtifacts {
		r.wrong(p.section.heading, "name folders (dir/), or split the phase", "the phase names more than %d files", maxArtifacts)
		p.Inputs, p.inputs = p.Inputs[:min(len(p.inputs), maxArtifacts)], p.inputs[:min(len(p.inputs), maxArtifacts)]
		p.Outputs, p.Answer, p.outputs = nil, nil, nil
	}
	if p.Mode == journal.ModePlan && len(p.Outputs) > 0 {
		r.wrong(p.at("outputs"), `write answer instead of outputs, or give the phase another mode`, "in mode plan nothing can be written, so these outputs cannot be made")
	}
}

// answer reads the output that the host writes.
func (r *reader) answer(p *phase, e *entry) {
	o, at := r.output(p, "answer", e.value)
	switch {
	case o.Path == "":
	case o.Dir():
		r.wrong(at, "name a file", "answer is one file, and %q is a folder", brief(o.Path))
	default:
		p.Answer, p.outputs = &o, append(p.outputs, at)
	}
}

// output reads a path, or a table that says what must hold of it. The path is empty where it is of
// no use.
func (r *reader) output(p *phase, key string, v *value) (flow.Output, place) {
	o, s := flow.Output{}, spot{}
	if v.table == nil {
		s = r.oneText(key, v)
	} else {
		r.stray(v.table, outputKeys(), "an output")
		if v.table.get("path") == nil {
			r.wrong(v.at, "add "+example("path"), "the output has no path")
		}
		s = r.text(v.table, "path")
	}
	var ok bool
	o.Path, ok = r.path(key, s, p, true)
	if v.table != nil {
		r.holds(&o, v.table)
	}
	if !ok {
		return flow.Output{}, s.at
	}
	for i, other := range p.All() {
		if other.Path == o.Path {
			r.wrong(s.at, "name it once", "%s is named at line %d already", o.Path, p.outputs[i].line)
			return flow.Output{}, s.at
		}
	}
	return o, s.at
}

// holds reads what must hold of an output.
func (r *reader) holds(o *flow.Output, t *table) {
	o.Empty, o.NoCopy = r.flag(t, "empty", false), !r.flag(t, "copy", true)
	if o.Dir() {
		for _, key := range []string{"min", "has", "match", "schema"} {
			if e := t.get(key); e != nil {
				r.wrong(e.at, "name the file in it as an output of its own", "%s is about a file, and %s is a folder", key, o.Path)
			}
		}
		return
	}
	o.Min = r.count(t, "min", 1, 1<<40, 0)
	for _, s := range r.texts(t, "has") {
		if strings.ContainsAny(strings.TrimSpace(s.text), "\r\n") {
			r.wrong(s.at, "write each line as a text of its own", "has lists lines")
			continue
		}
		o.Has = append(o.Has, strings.TrimSpace(s.text))
	}
	if s := r.text(t, "match"); s.text != "" {
		if _, err := regexp.Compile(s.text); err != nil {
			r.wrong(s.at, "correct it; in single quotes TOML leaves every \\ as it is", "match: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		} else {
			o.Match = s.text
		}
	}
	r.schema(o, r.text(t, "schema"))
	if e := t.get("empty"); o.Empty && (o.Min > 0 || len(o.Has) > 0) {
		r.wrong(e.at, "leave empty out, or min and has", "%s may be empty and must not be", o.Path)
	}
}

// schema reads and checks the JSON Schema that an output must satisfy. It is kept with the flow: a
// phase could change the file.
func (r *reader) schema(o *flow.Output, s spot) {
	if s.text == "" {
		return
	}
	name, ok := r.local("schema", s)
	if !ok || r.known.Folder == nil {
		o.Schema = name
		return
	}
	o.Schema = name
	text, err := readSchema(r.known.Folder, name)
	if err == nil {
		if err = schema.Check(text); err != nil {
			r.wrong(s.at, "correct that file", "%s is no JSON Schema: %v", name, err)
			return
		}
		o.SchemaText = string(text)
		return
	}
	fix := "write the schema there, or leave schema out"
	if !errors.Is(err, fs.ErrNotExist) {
		r.wrong(s.at, fix, "read the schema %s: %v", name, reason(err))
		return
	}
	r.wrong(s.at, fix, "the schema %s is not in the folder", name)
}

func readSchema(folder fs.FS, name string) ([]byte, error) {
	f, err := folder.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no regular file")
	}
	text, err := io.ReadAll(io.LimitReader(f, schema.Limit+1))
	if err == nil && len(text) > schema.Limit {
		err = fmt.Errorf("it is larger than %d MiB", schema.Limit>>20)
	}
	return text, err
}

// reason is an error without the path, which the message names.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// path reads the path of an artifact of a phase.
func (r *reader) path(key string, s spot, p *phase, made bool) (string, bool) {
	clean, ok := r.local(key, s)
	if !ok {
		return "", false
	}
	each := p.has("each")
	switch strange := braces().FindString(strings.ReplaceAll(clean, itemMark, "")); {
	case each && strange != "":
		r.wrong(s.at, "write "+itemMark, "%s in a path stands for nothing", strange)
		return "", false
	case !each && strings.Contains(clean, itemMark):
		r.wrong(s.at, `add each = "FILE", a JSON array with one item for each branch`, "%s is the name of an item of each, which the phase %s has not", itemMark, strings.TrimSpace(p.Name))
		return "", false
	case each && made && !strings.Contains(clean, itemMark):
		r.wrong(s.at, "put "+itemMark+" into the path, such as "+withMark(clean), "all branches of %s would write %s", strings.TrimSpace(p.Name), clean)
		return "", false
	}
	if made && slices.ContainsFunc(strings.Split(strings.ToLower(clean), "/"), func(part string) bool { return part == ".git" || part == ".agent" }) {
		r.wrong(s.at, "choose another folder", "no phase writes into .git or .agent: %s", clean)
		return "", false
	}
	return clean, true
}

// withMark is a path with an item's name in it.
func withMark(clean string) string {
	if strings.HasSuffix(clean, "/") {
		return clean + itemMark + "/"
	}
	return path.Join(path.Dir(clean), itemMark+path.Ext(clean))
}

// local reads a path below the workspace. A slash at its end stays: it is a folder.
func (r *reader) local(key string, s spot) (string, bool) {
	if s.text == "" {
		return "", false
	}
	clean := path.Clean(s.text)
	switch {
	case len(s.text) > maxPath:
		r.wrong(s.at, "choose a shorter one", "the path has more than %d bytes", maxPath)
	case strings.ContainsFunc(s.text, func(c rune) bool { return c < ' ' || c == 0x7f || c == '\ufffd' }):
		r.wrong(s.at, "write the path alone", "a path has no control characters: %q", brief(s.text))
	case strings.Contains(s.text, `\`):
		r.wrong(s.at, "write / between folders", `there is a \ in the path %q`, brief(s.text))
	case path.IsAbs(clean), len(clean) > 1 && clean[1] == ':', strings.HasPrefix(clean, "~"):
		r.wrong(s.at, "write the path from the folder of the run on", "%s stays in the folder of the run, and %q does not", key, brief(s.text))
	case clean == "..", strings.HasPrefix(clean, "../"):
		r.wrong(s.at, "name a path inside the folder", "%s stays in the folder of the run, and %q leads out of it", key, brief(s.text))
	case clean == ".":
		r.wrong(s.at, "name the files, or a folder in it", "%q is the whole folder", brief(s.text))
	default:
		if strings.HasSuffix(s.text, "/") {
			clean += "/"
		}
		return clean, true
	}
	return "", false
}
