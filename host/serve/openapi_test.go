package serve

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"agent/host/launch"
)

// description is what the test reads of openapi.json.
type description struct {
	Paths map[string]map[string]struct {
		Responses map[string]response `json:"responses"`
	} `json:"paths"`
	Components struct {
		Responses map[string]response        `json:"responses"`
		Schemas   map[string]json.RawMessage `json:"schemas"`
	} `json:"components"`

	routes *http.ServeMux
	known  *sync.Map // *jsonschema.Resolved by the text of a schema
}

type response struct {
	Ref     string `json:"$ref"`
	Content map[string]struct {
		Schema json.RawMessage `json:"schema"`
	} `json:"content"`
}

func described(t *testing.T) description {
	t.Helper()
	d, err := readDescription()
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// readDescription reads it once: every answer of every test is compared with it.
var readDescription = sync.OnceValues(func() (d description, err error) {
	d.routes, d.known = (&Server{}).handlers(), &sync.Map{}
	var all any
	if err = json.Unmarshal(openAPI, &all); err != nil {
		return d, err
	}
	closeObjects(all)
	text, err := json.Marshal(all)
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	return d, err
})

// closeObjects has no object be more than is described. Clients take more, since fields are added;
// an answer with a field that nobody described is a fault here.
func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		_, described := v["properties"]
		if _, said := v["additionalProperties"]; described && !said && v["type"] != nil {
			v["additionalProperties"] = false
		}
		for _, inner := range v {
			closeObjects(inner)
		}
	case []any:
		for _, inner := range v {
			closeObjects(inner)
		}
	}
}

// validate compares an answer with what the description says of it.
func (d description) validate(method, path string, a reply) error {
	found, known := d.Paths[path][strings.ToLower(method)]
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	if !known { // everything is refused
		if kind != "application/problem+json" {
			return fmt.Errorf("%d with %q, and there is no such route", a.status, kind)
		}
		found = d.Paths["/v1/server"]["get"]
	}
	said, ok := found.Responses[strconv.Itoa(a.status)]
	if !ok {
		said = found.Responses[strconv.Itoa(a.status/100)+"XX"]
		said = d.Components.Responses[strings.TrimPrefix(said.Ref, "#/components/responses/")]
	}
	if ok && len(said.Content) == 0 && a.text == "" {
		return nil
	}
	content, ok := said.Content[kind]
	if !ok {
		return fmt.Errorf("%d with %q is not described", a.status, kind)
	}
	if !strings.HasSuffix(kind, "json") && !a.line {
		return nil
	}
	r, err := d.schema(content.Schema)
	if err != nil {
		return err
	}
	var v any
	if err := json.Unmarshal([]byte(a.text), &v); err != nil {
		return err
	}
	return r.Validate(v)
}

// asDescribed compares an answer to any request with what the description says of it.
func asDescribed(t *testing.T, r *http.Request, a reply) {
	t.Helper()
	d := described(t)
	_, pattern := d.routes.Handler(r)
	if a.header.Get("Content-Type") != "application/problem+json" && !strings.HasPrefix(pattern, "/v1/") { // a file of the page
		return
	}
	if err := d.validate(r.Method, pattern, a); err != nil {
		t.Errorf("%s %s: %d %s: %v", r.Method, pattern, a.status, a.text, err)
	}
}

func (d description) schema(of json.RawMessage) (*jsonschema.Resolved, error) {
	if r, ok := d.known.Load(string(of)); ok {
		return r.(*jsonschema.Resolved), nil
	}
	defs, err := json.Marshal(d.Components.Schemas)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf(`{"$defs":%s,"allOf":[%s]}`, defs, of)
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(strings.ReplaceAll(text, "#/components/schemas/", "#/$defs/")), &s); err != nil {
		return nil, err
	}
	r, err := s.Resolve(nil)
	if err == nil {
		d.known.Store(string(of), r)
	}
	return r, err
}

// Every route is described, and what is described is a route.
func TestDescriptionHasEveryRoute(t *testing.T) {
	d := described(t)
	var served, said []string
	for _, r := range (&Server{}).routes() {
		served = append(served, r.method+" "+r.path)
	}
	for path, methods := range d.Paths {
		for method := range methods {
			said = append(said, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(served)
	slices.Sort(said)
	if !slices.Equal(served, said) {
		t.Errorf("served:    %v\ndescribed: %v", served, said)
	}
}

// The codes of refusals that are described are those of the list and those in the source.
func TestDescriptionHasEveryCode(t *testing.T) {
	var problem struct {
		Properties struct {
			Code struct {
				Enum []string `json:"enum"`
			} `json:"code"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(described(t).Components.Schemas["Problem"], &problem); err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, c := range Codes() {
		listed = append(listed, c.Name)
	}
	slices.Sort(listed)
	if !slices.Equal(problem.Properties.Code.Enum, listed) {
		t.Errorf("described: %v\nlisted:    %v", problem.Properties.Code.Enum, listed)
	}
	if given := givenCodes(t); !slices.Equal(given, listed) {
		t.Errorf("given:  %v\nlisted: %v", given, listed)
	}
}

// givenCodes are the codes that stand in the source, in order.
func givenCodes(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{"too_many_requests": true, "too_many_streams": true} // written together
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || file == "codes.go" {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			var found ast.Expr
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if name, ok := n.Key.(*ast.Ident); ok && name.Name == "Code" {
					found = n.Value
				}
			case *ast.CallExpr:
				if name, ok := n.Fun.(*ast.Ident); ok && name.Name == "set" && len(n.Args) == 1 {
					found = n.Args[0]
				}
			}
			if l, ok := found.(*ast.BasicLit); ok && l.Kind == token.STRING {
				code, err := strconv.Unquote(l.Value)
				if err != nil {
					t.Fatal(err)
				}
				codes[code] = true
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(codes))
}

// Whatever a refusal is for, it is as it is described, and names a command that helps.
func TestRefusalsAreAsDescribed(t *testing.T) {
	d := described(t)
	for _, c := range Codes() {
		for _, run := range []string{"", "r-00000001"} {
			w := httptest.NewRecorder()
			(&Server{o: Options{App: newApp("")}}).refuse(w, &problem{Code: c.Name, Detail: "it cannot be", Run: run})
			a := reply{status: w.Code, header: w.Header(), text: w.Body.String()}
			next := fmt.Sprint(a.json(t, "next"))
			if c.next == "" && run != "" && next != "[agent show "+run+"]" || c.next != "" && c.next != topic && next != "["+c.next+"]" {
				t.Errorf("%s helps with %s", c.Name, next)
			}
			if err := d.validate("GET", "/v1/runs", a); err != nil || w.Code != c.Status || a.json(t, "title") == "" {
				t.Errorf("%d %s: %v", w.Code, a.text, err)
			}
		}
	}
}

// What is answered is as it is described.
func TestAnswersAreAsDescribed(t *testing.T) {
	w := newWorld(t)
	w.carrier = &launcher{do: func(job launch.Job) (launch.Answer, error) {
		switch {
		case job.Args[0] == "rewind" && job.Run == "":
			return launch.Answer{Ended: &launch.Ended{Out: rewindJSON}}, nil
		case slices.Contains(job.Args, "--digest=another"):
			return launch.Answer{Ended: &launch.Ended{Code: 1, Out: changedJSON}}, nil
		case job.Run == "":
			return launch.Answer{Ended: &launch.Ended{Out: planJSON}}, nil
		}
		w.record(job, "")
		return launch.Answer{Accepted: &launch.Accepted{Run: job.Run}}, nil
	}}
	w.serve()
	d := described(t)
	run, over := w.run("r-00000001", "p"), w.run("r-00000002", "p")
	w.hold(run)
	w.add(over, turn(over, 1, "text", "printed")...)
	w.complete(over, 2)
	p := w.question(run, never)
	ids := []string{run, over, "t" + run[1:], p, callID(over, 1), "r-0000000z"}
	seen := map[string]bool{}
	check := func(method, path string, a reply) {
		t.Helper()
		if err := d.validate(method, path, a); err != nil {
			t.Errorf("%s %s: %d %s: %v", method, path, a.status, a.text, err)
		}
		seen[fmt.Sprint(method, " ", path, " ", a.status)] = true
	}
	for _, r := range w.s.routes() {
		for _, id := range ids {
			path := strings.ReplaceAll(r.path, "{id}", id)
			if r.path == "/v1/events" {
				o, _ := w.stream(path)
				line := reply{status: 200, header: map[string][]string{"Content-Type": {"text/event-stream"}}, text: o.until("server.state")[0].data, line: true}
				check("GET", path, line)
				o.close()
				continue
			}
			if r.stream {
				o, a := w.stream(path + "?after=0")
				if a.StatusCode == 200 {
					for _, e := range o.until("run.state") {
						line := reply{status: 200, header: map[string][]string{"Content-Type": {"text/event-stream"}}, text: e.data, line: true}
						check("GET", r.path, line)
					}
				}
				o.close()
				continue
			}
			for _, body := range []string{`{}`, `{"answer":"third"}`, `{"answer":"first"}`, `{"answer":"second"}`, `{"word":"happened"}`, `{"prompt":"p","folder":"/"}`, `{"digest":"d1"}`, `{"digest":"another"}`} {
				if r.method == "GET" && body != `{}` {
					continue
				}
				check(r.method, r.path, w.ask(r.method, path, body))
			}
		}
	}
	for _, want := range []string{
		"GET /v1/runs 200", "GET /v1/runs/{id} 200", "GET /v1/runs/{id} 404", "GET /v1/calls/{id} 200", "GET /v1/calls/{id}/output 200",
		"POST /v1/pending/{id}/answer 200", "POST /v1/pending/{id}/answer 409", "POST /v1/pending/{id}/answer 422", "POST /v1/calls/{id}/resolution 409",
		"GET /v1/events 200", "GET /v1/models 200", "GET /v1/folders 200", "POST /v1/runs 201", "POST /v1/runs 422", "GET /v1/runs/{id}/plan 200", "POST /v1/runs/{id}/resume 409",
		"POST /v1/runs/{id}/cancel 202", "POST /v1/runs/{id}/cancel 200", "GET /v1/threads/{id} 200", "GET /v1/runs/{id}/events 200",
		"GET /v1/runs/{id}/diff 200", "GET /v1/runs/{id}/diff 404", "GET /v1/runs/{id}/rewind 200", "GET /v1/runs/{id}/rewind 404", "POST /v1/runs/{id}/rewind 201", "POST /v1/runs/{id}/rewind 409", "POST /v1/runs/{id}/rewind 422",
	} {
		if !seen[want] {
			t.Errorf("nothing was %s", want)
		}
	}
}
