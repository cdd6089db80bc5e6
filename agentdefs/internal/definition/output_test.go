package definition

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs/internal/diag"
)

func TestOutput(t *testing.T) {
	for _, tt := range []struct {
		output string // YAML
		want   string // JSON; empty means refused
	}{
		{"{type: object}", `{"type":"object"}`},
		{"{}", `{}`},
		{"\n  type: object\n  required: [b, a]\n  properties:\n    b: {type: string, enum: [2020-01-01, yes, '1']}\n    a: {type: [integer, 'null'], minimum: 0x10, default: ~}",
			`{"type":"object","required":["b","a"],"properties":{"b":{"type":"string","enum":["2020-01-01","yes","1"]},"a":{"type":["integer","null"],"minimum":16,"default":null}}}`},
		{"{type: object, properties: {a: {$ref: '#/$defs/a~1b'}}, $defs: {a/b: {type: string, pattern: '^<a>$'}}}",
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"type":"string","pattern":"^<a>$"}}}`},
		{"{$id: 'https://example.com/x', type: object}", `{"$id":"https://example.com/x","type":"object"}`},
		{"{enum: [{type: nothing}]}", `{"enum":[{"type":"nothing"}]}`},
		{"text", ""},
		{"", ""},
		{"[1]", ""},
		{"'{\"type\": \"object\"}'", ""},
		{"{1: a}", ""},
		{"{type: objekt}", ""},
		{"{type: [string, text]}", ""},
		{"{properties: {a: {type: map}}}", ""},
		{"{type: object, type: array}", ""},
		{"{minimum: .nan}", ""},
		{"{maximum: .inf}", ""},
		{"{pattern: '('}", ""},
		{"{properties: {a: }}", ""},
		{"{required: a}", ""},
		{"{const: !!binary aGk=}", ""},
		{"{$ref: 'https://example.com/schema'}", ""},
		{"{$ref: 'file:///etc/passwd'}", ""},
		{"{$ref: other.json}", ""},
		{"{$ref: '#/$defs/a'}", ""},
		{"{$ref: '#'}", ""},
		{"{$ref: '#/$defs/a', $defs: {a: {$ref: '#/$defs/a'}}}", ""},
		{"{properties: {child: {$ref: '#'}}}", ""},
		{"{$dynamicRef: '#a', $defs: {a: {$dynamicAnchor: a}}}", ""},
		{"{properties: {a: {$id: 'https://example.com/x', $ref: '#/$defs/b'}}}", ""},
		{"{$defs: {a: {$ref: '#/$defs/b'}, b: {$ref: '#/$defs/a'}}}", ""},
		{"{const: '" + strings.Repeat("x", maxOutputBytes) + "'}", ""},
		{strings.Repeat("{not: ", maxJSONDepth+2) + "{}" + strings.Repeat("}", maxJSONDepth+2), ""},
		{doubling(30), ""},
	} {
		res := Parse("a.md", []byte("---\ndescription: x\noutput: "+tt.output+"\n---\nWork.\n"), Options{})
		refused := slices.ContainsFunc(res.Diagnostics, func(d diag.Diagnostic) bool {
			return d.Code == diag.OutputInvalid && d.Line == 3 && d.Severity == diag.Error
		})
		if tt.want == "" {
			if res.Def != nil || !refused || res.Name != "a" {
				t.Errorf("%.200s: served %v, name %q, diagnostics %v; want it refused", tt.output, res.Def != nil, res.Name, res.Diagnostics)
			}
			continue
		}
		if res.Def == nil || string(res.Def.Output) != tt.want || len(res.Diagnostics) > 0 {
			t.Errorf("%.200s: %+v, %v, want %s", tt.output, res.Def, res.Diagnostics, tt.want)
		}
	}
}

// doubling is a schema of n definitions each of which needs the next one twice.
func doubling(n int) string {
	defs := "$defs: {z: {}"
	for i := range n {
		next := "z"
		if i < n-1 {
			next = name(i + 1)
		}
		ref := "{$ref: '#/$defs/" + next + "'}"
		defs += ", " + name(i) + ": {allOf: [" + ref + ", " + ref + "]}"
	}
	return "{$ref: '#/$defs/a00', " + defs + "}}"
}

func name(i int) string { return "a" + string(rune('0'+i/10)) + string(rune('0'+i%10)) }
