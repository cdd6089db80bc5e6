package httpserver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/frontdoor/httpserver/openapi"
	"github.com/agentworker/worker/frontdoor/httpserver/problem"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/control"
)

// object is a JSON object of the description.
type object = map[string]any

// description is openapi.yaml, for tests. The schemas of OpenAPI 3.1 are JSON Schemas, so
// that a validator of these holds requests and answers against it.
type description struct {
	doc     object
	defs    map[string]*jsonschema.Schema
	mu      sync.Mutex
	schemas map[string]*jsonschema.Resolved // by their JSON
}

var described = sync.OnceValues(func() (*description, error) {
	d := &description{schemas: make(map[string]*jsonschema.Resolved)}
	if err := yaml.Unmarshal(openapi.Document, &d.doc); err != nil {
		return nil, err
	}
	defs := at(d.doc, "components", "schemas")
	for name, schema := range defs {
		if name != "SessionFields" { // a part of others
			seal(schema)
		}
	}
	for _, path := range at(d.doc, "paths") {
		seal(path)
	}
	data, err := json.Marshal(defs)
	if err == nil {
		err = json.Unmarshal(inDefs(data), &d.defs)
	}
	return d, err
})

// seal has the objects of a schema have nothing that is not described.
func seal(v any) {
	switch v := v.(type) {
	case object:
		_, described := v["properties"].(object)
		_, said := v["unevaluatedProperties"]
		if (described || v["allOf"] != nil) && !said && v["additionalProperties"] == nil {
			v["unevaluatedProperties"] = false
		}
		for _, part := range v {
			seal(part)
		}
	case []any:
		for _, part := range v {
			seal(part)
		}
	}
}

// inDefs has references lead to where JSON Schema has them.
func inDefs(schema []byte) []byte {
	return bytes.ReplaceAll(schema, []byte("#/components/schemas/"), []byte("#/$defs/"))
}

// at returns the object at the end of a path of keys; nil where there is none.
func at(v object, keys ...string) object {
	for _, key := range keys {
		v, _ = v[key].(object)
	}
	return v
}

// follow returns what a reference leads to, or the object itself.
func (d *description) follow(v object) object {
	if ref, ok := v["$ref"].(string); ok {
		return at(d.doc, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	return v
}

// operation returns the description of a request; nil means that it has none.
func (d *description) operation(method, path string) object {
	paths := at(d.doc, "paths")
	for _, pattern := range slices.Backward(slices.Sorted(maps.Keys(paths))) { // "{" is behind all letters
		if item := at(paths, pattern); matches(pattern, path) && item[strings.ToLower(method)] != nil {
			return at(item, strings.ToLower(method))
		}
	}
	return nil
}

func matches(pattern, path string) bool {
	parts, names := strings.Split(path, "/"), strings.Split(pattern, "/")
	return slices.EqualFunc(names, parts, func(name, part string) bool { return name == part || strings.HasPrefix(name, "{") && part != "" })
}

// content holds a body against the description of a request or an answer.
func (d *description) content(of object, mediaType string, body []byte) error {
	kind, _, err := mime.ParseMediaType(mediaType)
	content := at(of, "content")
	switch {
	case mediaType == "" && content == nil && len(body) == 0:
		return nil
	case err != nil || content[kind] == nil:
		return fmt.Errorf("no body of the type %q is described", mediaType)
	case !strings.HasSuffix(kind, "json") || len(body) > 1<<20: // to read megabytes takes long
		return nil
	}
	raw, err := json.Marshal(at(content, kind)["schema"])
	if err != nil {
		return err
	}
	schema, err := d.schema(inDefs(raw))
	if err != nil {
		return err
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		return err
	}
	return schema.Validate(v)
}

func (d *description) schema(raw []byte) (*jsonschema.Resolved, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.schemas[string(raw)]; known != nil {
		return known, nil
	}
	s := &jsonschema.Schema{Defs: make(map[string]*jsonschema.Schema)}
	for name, def := range d.defs {
		s.Defs[name] = def.CloneSchemas()
	}
	var own *jsonschema.Schema
	if err := json.Unmarshal(raw, &own); err != nil {
		return nil, err
	}
	s.AllOf = []*jsonschema.Schema{own}
	resolved, err := s.Resolve(nil)
	if err == nil {
		d.schemas[string(raw)] = resolved
	}
	return resolved, err
}

// check holds an answer, and the request if it was taken, against the description.
func check(t testing.TB, r *http.Request, resp *http.Response, body []byte) {
	t.Helper()
	d, err := described()
	if err != nil {
		t.Fatal(err)
	}
	if r.Method == http.MethodHead || resp.StatusCode == 0 {
		return
	}
	kind := resp.Header.Get("Content-Type")
	op := d.operation(r.Method, r.URL.Path)
	switch {
	case op == nil && resp.StatusCode < 400:
		t.Errorf("%s %s: %s, and it is not described", r.Method, r.URL.Path, resp.Status)
		return
	case op == nil: // whatever is refused, is in the same way
		op = d.operation("GET", "/healthz")
	}
	if err := d.query(op, r); resp.StatusCode < 400 && err != nil && op["x-internal"] == nil {
		t.Errorf("%s %s: it was taken: %v", r.Method, r.URL, err)
	}
	if resp.StatusCode < 400 && r.GetBody != nil && r.ContentLength > 0 {
		sent, err := r.GetBody()
		var data bytes.Buffer
		if err == nil {
			_, err = data.ReadFrom(sent)
		}
		if err == nil {
			err = d.content(d.follow(at(op, "requestBody")), r.Header.Get("Content-Type"), data.Bytes())
		}
		if err != nil {
			t.Errorf("%s %s: it was taken: %v: %.300s", r.Method, r.URL.Path, err, &data)
		}
	}
	answers := at(op, "responses")
	answer := at(answers, strconv.Itoa(resp.StatusCode))
	if answer == nil && resp.StatusCode >= 400 {
		answer = at(answers, "default")
	}
	if answer == nil {
		t.Errorf("%s %s: status %d is not described", r.Method, r.URL.Path, resp.StatusCode)
		return
	}
	if err := d.content(d.follow(answer), kind, body); err != nil && (body != nil || !strings.HasSuffix(kind, "json")) {
		t.Errorf("%s %s: %s is not as it is described: %v: %.2000s", r.Method, r.URL.Path, resp.Status, err, body)
	}
	if e := new(problem.Document); kind == problem.MediaType && json.Unmarshal(body, e) == nil && e.Status != resp.StatusCode {
		t.Errorf("%s %s: %s says that it is %d", r.Method, r.URL.Path, resp.Status, e.Status)
	}
}

// TestDescribedFields: the description has all fields of task calls, sessions, agents and
// approvals, also those that no test's answer contains.
func TestDescribedFields(t *testing.T) {
	d, err := described()
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]reflect.Type{
		"TaskInput": reflect.TypeFor[taskt.Input](), "TaskDocument": reflect.TypeFor[taskt.Document](), "SessionFields": reflect.TypeFor[record.Record](),
		"Approval": reflect.TypeFor[approval.Approval](), "State": reflect.TypeFor[control.State](), "Work": reflect.TypeFor[record.Work](),
		"Usage": reflect.TypeFor[model.Usage](), "Worktree": reflect.TypeFor[record.Worktree](),
	} {
		var want []string
		for field := range of.Fields() {
			if tag, _, _ := strings.Cut(field.Tag.Get("json"), ","); tag != "" && tag != "-" {
				want = append(want, tag)
			}
		}
		slices.Sort(want)
		if got := slices.Sorted(maps.Keys(at(d.doc, "components", "schemas", name, "properties"))); !slices.Equal(got, want) {
			t.Errorf("openapi.yaml: the properties of %s are %v, want %v", name, got, want)
		}
	}
}

// query holds the parameters of a request's query against the description.
func (d *description) query(op object, r *http.Request) error {
	known := make(map[string]bool)
	list, _ := op["parameters"].([]any)
	for _, p := range list {
		if of := d.follow(p.(object)); of["in"] == "query" {
			known[of["name"].(string)] = true
		}
	}
	for name := range r.URL.Query() {
		if !known[name] {
			return fmt.Errorf("the parameter %s is not described", name)
		}
	}
	return nil
}
