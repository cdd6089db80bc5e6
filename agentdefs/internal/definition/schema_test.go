package definition

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/diag"
)

// resolved is the schema as an editor gets it: through its JSON.
func resolved(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	s, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var again jsonschema.Schema
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	r, err := again.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// frontmatter returns the fields of text as an editor reads them; false: they
// are no YAML.
func frontmatter(t *testing.T, text []byte) (any, bool) {
	t.Helper()
	_, rest, _ := strings.Cut(string(text), "---\n")
	header, _, ok := strings.Cut(rest, "\n---")
	var fields map[string]any
	if !ok || yaml.Unmarshal([]byte(header), &fields) != nil {
		return nil, false
	}
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, false
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	return v, true
}

// TestSchemaFields holds that the schema has every spelling.
func TestSchemaFields(t *testing.T) {
	s := resolved(t).Schema()
	for _, row := range fields {
		for _, name := range row.Spellings {
			if f := s.Properties[name]; name != "<<" && (f == nil || f.Description == "") {
				t.Errorf("the schema does not describe %s", name)
			}
		}
	}
}

// TestFieldTable holds that each field is in the table once.
func TestFieldTable(t *testing.T) {
	ids, names := map[string]bool{}, map[string]bool{}
	for _, f := range fields {
		if f.ID == "" || ids[f.ID] || f.set == nil && !f.Each {
			t.Errorf("%q has no name or no use, or is there twice", f.ID)
		}
		ids[f.ID] = true
		for _, name := range f.Spellings {
			if names[name] {
				t.Errorf("two fields are written %s", name)
			}
			names[name] = true
		}
	}
}

// TestSchemaCorpus validates the files that are read without a warning.
func TestSchemaCorpus(t *testing.T) {
	files, err := filepath.Glob("../../testdata/corpus/*/*.md")
	more, err2 := filepath.Glob("../../starter/*.md")
	if err != nil || err2 != nil || len(files) < 39 || len(more) < 5 {
		t.Fatalf("%d files of the corpus and %d starters, %v, %v", len(files), len(more), err, err2)
	}
	r, checked := resolved(t), 0
	for _, file := range append(files, more...) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		res := Parse(filepath.Base(file), data, Options{})
		clean := res.Def != nil
		for _, d := range res.Diagnostics {
			clean = clean && d.Severity == diag.Information
		}
		fields, ok := frontmatter(t, data)
		if !clean || !ok {
			continue
		}
		checked++
		if err := r.Validate(fields); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	if checked < 15 {
		t.Errorf("%d files were checked, want at least 15", checked)
	}
}

// TestSchemaValues holds that the schema and the reader of files agree.
func TestSchemaValues(t *testing.T) {
	r := resolved(t)
	for _, tt := range []struct {
		fields string
		ok     bool
	}{
		{"description: x", true},
		{"description: ''", false},
		{"name: a", false},
		{"description: x\nvibe: calm", true},
		{"description: x\nmaxSteps: 1", true},
		{"description: x\nmaxSteps: '7'", true},
		{"description: x\nmaxSteps: 1000", true},
		{"description: x\nmaxSteps: 0", false},
		{"description: x\nmaxSteps: '0'", false},
		{"description: x\nmaxSteps: 1001", false},
		{"description: x\nmax_turns: many", false},
		{"description: x\nmaxSteps: 1.5", false},
		{"description: x\nmode: all", true},
		{"description: x\nmode: sideways", false},
		{"description: x\ntemperature: 2.5", false},
		{"description: x\ntop_p: 0.5", true},
		{"description: x\nhidden: yes", true},
		{"description: x\nhidden: perhaps", false},
		{"description: x\ninspectable: false", true},
		{"description: x\ncallers: [planner, host]", true},
		{"description: x\ncallers: a, b", true},
		{"description: x\ncallers: []", false},
		{"description: x\ncallers:", false},
		{"description: x\ncallers: '*'", false},
		{"description: x\ncaller: agent", true},
		{"description: x\ncaller: [agent]", false},
		{"description: x\nallowAgents: []", true},
		{"description: x\nallowAgents: ['*']", false},
		{"description: x\npermission: ask", true},
		{"description: x\npermission: {'*': deny, read_file: {'*': allow, '*.env': deny}}", true},
		{"description: x\npermission: {read_file: nope}", false},
		{"description: x\npermission: {read_file: {'*': nope}}", false},
		{"description: x\npermission: [deny]", false},
		{"description: x\npermission:", false},
		{"description: x\ntools: Read, Bash(git:*)", true},
		{"description: x\ntools: [Read, {name: Grep}]", true},
		{"description: x\ntools: {write: false}", true},
		{"description: x\ntools: {write: maybe}", false},
		{"description: x\ntools: 7", false},
		{"description: x\npermissionMode: plan", true},
		{"description: x\npermissionMode: loud", false},
		{"description: x\noutput: {type: object}", true},
		{"description: x\noutput: text", false},
		{"description: x\nmemory: true", true},
		{"description: x\nmemory: project", true},
		{"description: x\nmemory: all", false},
		{"description: x\nresidentFile: src/a.go", true},
		{"description: x\nresidentFile: ''", false},
	} {
		file := []byte("---\n" + tt.fields + "\n---\nWork.\n")
		fields, ok := frontmatter(t, file)
		if !ok {
			t.Fatalf("%q: no YAML", tt.fields)
		}
		if err := r.Validate(fields); (err == nil) != tt.ok {
			t.Errorf("%q: the schema says %v, want valid %v", tt.fields, err, tt.ok)
		}
		res := Parse("a.md", file, Options{})
		clean := res.Def != nil
		for _, d := range res.Diagnostics {
			clean = clean && d.Severity == diag.Information
		}
		if clean != tt.ok && tt.fields != "description: x\ntools: 7" { // a name that is not a tool: the reader cannot tell it from a text
			t.Errorf("%q: read without a warning %v, want %v; %v", tt.fields, clean, tt.ok, res.Diagnostics)
		}
	}
}
