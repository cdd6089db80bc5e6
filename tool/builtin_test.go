package tool_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/web"
)

func TestSpecs(t *testing.T) {
	p := newPlace(t, nil, nil)
	for name, want := range map[string]struct {
		readOnly   bool
		required   string
		properties string
	}{
		"read_file":   {true, "path", "limit offset path"},
		"write_file":  {false, "path content", "content path"},
		"edit_file":   {false, "path", "edits newText oldText path replaceAll"},
		"apply_patch": {false, "input", "input"},
		"list_dir":    {true, "", "path"},
		"glob":        {true, "pattern", "path pattern"},
		"grep":        {true, "pattern", "context ignoreCase include limit path pattern"},
		"shell_exec":  {false, "command", "background command description notify timeoutSeconds tty waitSeconds"},
	} {
		b, ok := p.tools[name]
		if !ok {
			t.Errorf("%s is not among the built-in tools", name)
			continue
		}
		spec := b.Spec()
		var s jsonschema.Schema
		if err := json.Unmarshal(spec.InputSchema, &s); err != nil {
			t.Errorf("%s: schema: %v", name, err)
			continue
		}
		properties := strings.Join(slices.Sorted(maps.Keys(s.Properties)), " ")
		if spec.Name != name || spec.ReadOnly != want.readOnly || s.Type != "object" || properties != want.properties || strings.Join(s.Required, " ") != want.required {
			t.Errorf("%s: spec %+v, schema of %s with properties %q, required %q; want %+v", name, spec, s.Type, properties, s.Required, want)
		}
		for property, ps := range s.Properties {
			if len(ps.Description) < 20 {
				t.Errorf("%s: the description of %s is %q, want a sentence", name, property, ps.Description)
			}
		}
	}
	if len(p.tools) != 8 {
		t.Errorf("there are %d built-in tools, want 8", len(p.tools))
	}
}

// TestCatalog holds the built-in tools against the table of all tools.
func TestCatalog(t *testing.T) {
	p := newPlace(t, nil, nil)
	for _, b := range web.Tools(web.Options{Search: web.Search{Provider: "brave"}}) {
		p.tools[b.Spec().Name] = b
	}
	for name, b := range p.tools {
		row, ok := toolcatalog.Find(name)
		if !ok || row.Reserved && name != toolcatalog.WebSearch || row.Own {
			t.Errorf("internal/toolcatalog has no row for the built-in tool %s: %+v", name, row)
			continue
		}
		var s jsonschema.Schema
		if err := json.Unmarshal(b.Spec().InputSchema, &s); err != nil || s.Properties[row.Argument] == nil {
			t.Errorf("%s: its row names the argument %q, and its schema does not (%v)", name, row.Argument, err)
		}
		if b.Spec().ReadOnly != (row.Kind == toolcatalog.KindRead || row.Kind == toolcatalog.KindSearch || row.Kind == toolcatalog.KindFetch) {
			t.Errorf("%s: its row has the kind %s, its description ReadOnly %v", name, row.Kind, b.Spec().ReadOnly)
		}
	}
	for _, row := range toolcatalog.All {
		if !row.Own && !row.Reserved && row.Name != toolcatalog.Task && row.Name != toolcatalog.Skill && p.tools[row.Name] == nil {
			t.Errorf("%s has a row, and is not built in", row.Name)
		}
	}
}

func TestSchema(t *testing.T) {
	p := newPlace(t, nil, nil)
	for _, c := range []struct {
		tool, args string
		ok         bool
	}{
		{"read_file", `{"path":"a"}`, true},
		{"read_file", `{"path":"a","offset":null,"limit":3}`, true},
		{"read_file", `{}`, false},
		{"read_file", `{"path":null}`, false},
		{"read_file", `{"path":"a","offset":"3"}`, false},
		{"read_file", `{"path":"a","line":3}`, false},
		{"write_file", `{"path":"a"}`, false},
		{"edit_file", `{"path":"a","oldText":"b","newText":"","replaceAll":null}`, true},
		{"edit_file", `{"path":"a","oldText":null,"newText":null,"edits":[{"oldText":"a","newText":"b"},{"oldText":"a","newText":"b","replaceAll":null}]}`, true},
		{"edit_file", `{"path":"a","edits":[{"oldText":"a"}]}`, false},
		{"apply_patch", `{"input":"*** Begin Patch"}`, true},
		{"list_dir", `{}`, true},
		{"list_dir", `{"path":null}`, true},
		{"grep", `{"pattern":"a","ignoreCase":true,"context":2,"limit":3,"include":"*.go","path":"x"}`, true},
		{"glob", `{"pattern":["a"]}`, false},
		{"shell_exec", `{"command":"ls","timeoutSeconds":5,"description":"list"}`, true},
	} {
		var s jsonschema.Schema
		if err := json.Unmarshal(p.tools[c.tool].Spec().InputSchema, &s); err != nil {
			t.Fatal(err)
		}
		resolved, err := s.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", c.tool, err)
		}
		var instance any
		if err := json.Unmarshal([]byte(c.args), &instance); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(instance); (err == nil) != c.ok {
			t.Errorf("%s with %s: %v, want ok=%v", c.tool, c.args, err, c.ok)
		}
	}
}

// What a call wants is judged by the path it works on.
func TestValues(t *testing.T) {
	p := newPlace(t, nil, map[string]string{"sub/a.txt": ""})
	for _, c := range []struct{ tool, args, want string }{
		{"read_file", `{"path":"./sub/../sub/a.txt"}`, "sub/a.txt"},
		{"read_file", `{"path":"` + p.dir + `/sub/a.txt"}`, "sub/a.txt"},
		{"write_file", `{"path":"new/b.txt","content":""}`, "new/b.txt"},
		{"read_file", `{"path":"./~/x"}`, "~/x"}, // a folder of that name, not the home folder
		{"edit_file", `{"path":"sub/a.txt","oldText":"a","newText":"b"}`, "sub/a.txt"},
		{"list_dir", `{}`, "."},
		{"list_dir", `{"path":"sub/"}`, "sub"},
		{"glob", `{"pattern":"*"}`, "."},
		{"glob", `{"pattern":"*","path":"sub"}`, "sub"},
		{"grep", `{"pattern":"a","path":null}`, "."},
		{"grep", `{"pattern":"a","path":"sub/a.txt"}`, "sub/a.txt"},
		{"shell_exec", `{"command":"ls"}`, "ls"},
	} {
		values, err := p.tools[c.tool].Values(json.RawMessage(c.args))
		if err != nil || len(values) == 0 || values[0].Tool != c.tool || values[0].Text != c.want {
			t.Errorf("%s.Values(%s) = %+v (%v), want a first value %s %q", c.tool, c.args, values, err, c.tool, c.want)
		}
	}
}

func TestOpenWorkspace(t *testing.T) {
	p := newPlace(t, nil, map[string]string{"file": ""})
	for _, root := range []string{p.dir + "/none", p.dir + "/file"} {
		if ws, err := tool.OpenWorkspace(root, nil); err == nil {
			ws.Close()
			t.Errorf("OpenWorkspace(%s): no error", root)
		}
	}
	ws, err := tool.OpenWorkspace(p.dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := ws.Close(); err != nil {
		t.Error(err)
	}
	for _, b := range tool.Builtin(ws) {
		p.tools[b.Spec().Name] = b
	}
	p.fails("read_file", args{"path": "file"}, "closed")
	p.fails("write_file", args{"path": "file", "content": "x"}, "closed")
}

// Whether oldText is in a file tells what the file holds. So an agent that may not read
// a file may not edit it, although no rule has to allow the reading.
func TestEditValues(t *testing.T) {
	p := newPlace(t, nil, map[string]string{"secret.txt": "", "link": "-> secret.txt"})
	values, err := p.tools["edit_file"].Values(json.RawMessage(`{"path":"link","oldText":"a","newText":"b"}`))
	var got []string
	for _, v := range values {
		s := v.Tool + " " + v.Text
		if v.OnlyDenies() {
			s += " deny only"
		}
		got = append(got, s)
	}
	for _, want := range []string{"edit_file link", "edit_file secret.txt", "read_file link deny only", "read_file secret.txt deny only"} {
		if err != nil || !slices.Contains(got, want) {
			t.Errorf("edit_file.Values of a link: %q (%v), want %q among them", got, err, want)
		}
	}
}

// What is judged and what runs are refused alike.
func TestArgumentsWithTwoMeanings(t *testing.T) {
	p := newPlace(t, nil, nil)
	for _, raw := range []string{`{"command":"make test","COMMAND":"touch x"}`, `{"command":"make test","command":"touch x"}`} {
		_, judged := p.tools["shell_exec"].Values(json.RawMessage(raw))
		_, ran := p.tools["shell_exec"].Run(t.Context(), &tool.Call{Args: json.RawMessage(raw)})
		for _, err := range []error{judged, ran} {
			if !strings.HasPrefix(fmt.Sprint(err), "arguments: ") { // whoever calls it names the tool
				t.Errorf("shell_exec with %s: %v, want it refused", raw, err)
			}
		}
	}
	p.wantTree()
}
