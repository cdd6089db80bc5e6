package agenttest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

// TestExpect: each expectation holds, or fails with the line that has it.
func TestExpect(t *testing.T) {
	o := &outcome{
		document: taskt.Document{Status: record.Completed, Text: "```json\n{\"a\": {\"b\": [1, {\"c\": null}]}, \"d\": \"x\"}\n```"},
		calls:    []called{{"grep", false}, {"read_file", false}, {"grep", true}},
		changed:  []string{"a.go", "b.go"},
		tokens:   100,
	}
	for expect, want := range map[string]string{
		"{}":                        "",
		"status: completed":         "",
		"status: failed":            "the task is completed, not failed",
		"contains: '\"d\"'":         "",
		"contains: [x, nope]":       `does not contain "nope"`,
		"matches: 'b.*\\[1'":        "",
		"matches: ^x":               `does not match "^x"`,
		"equals: x":                 `is not "x"`,
		"json: {'a.b[0]': 1, d: x}": "",
		"json: {'a.b[1].c': null}":  "",
		"json: {a.b.0: 1.0}":        "",
		"json: {'.': {d: x}}":       ". is {",
		"json: {a.b: [1]}":          "a.b is [1,{\"c\":null}], not [1]",
		"json: {a.x: 1}":            "has no a.x",
		"json: {'a.b[2]': 1}":       "has no a.b[2]",
		"json: {d.e: 1}":            "has no d.e",
		"tools: [grep, read_file]":  "",
		"tools: glob":               "glob was not called: called were grep",
		"notTools: [glob]":          "",
		"notTools: [glob, grep]":    "grep was called",
		"order: [grep, grep]":       "",
		"order: [read_file, glob]":  "glob was not called in this order",
		"denials: 1":                "",
		"denials: [grep]":           "",
		"denials: 0":                "1 call was denied, not 0: grep",
		"denials: []":               "denied were calls of [grep], not of []",
		"changed: [b.go, a.go]":     "",
		"changed: a.go":             "changed are the files [a.go, b.go], not [a.go]",
		"changed: []":               "changed are the files [a.go, b.go], not []",
		"maxTokens: 100":            "",
		"maxTokens: 99":             "100 tokens were used, more than 99",
	} {
		cases, err := Parse("", "x.yaml", []byte("agent: a\nprompt: p\nexpect:\n  "+expect+"\n"))
		if expect == "{}" {
			cases, err = Parse("", "x.yaml", []byte("agent: a\nprompt: p\n"))
		}
		if err != nil || len(cases) != 1 {
			t.Fatalf("%s: %v", expect, err)
		}
		failures := cases[0].failures(o)
		got := ""
		for _, f := range failures {
			got += fmt.Sprintf("%d: %s\n", f.Line, f.Message)
		}
		if len(failures) > 1 || want == "" && got != "" || !strings.Contains(got, want) || got != "" && !strings.HasPrefix(got, "4: ") && expect != "changed: []" {
			t.Errorf("%s: %s, want %s", expect, got, want)
		}
	}
}

// TestCaseErrors: what is wrong with a file is said with its line.
func TestCaseErrors(t *testing.T) {
	const head = "agent: a\nprompt: p\n"
	for text, want := range map[string]string{
		"agent: a\n":                             "x.yaml:1: prompt is missing",
		head + "expect: {stauts: done}\n":        "x.yaml:3: unknown field stauts",
		head + "expect: {status: done}\n":        `x.yaml:3: unknown status "done"`,
		head + "passRate: 2\n":                   "x.yaml:3: passRate 2 is not",
		head + "timeout: soon\n":                 "x.yaml:3: ",
		head + "files: {../x: y}\n":              "the path \"../x\" is not one in the workspace",
		head + "permissions: [a]\n":              "x.yaml:3: permissions is neither",
		head + "expect:\n  json: [a]\n":          "x.yaml:4: json is not a mapping",
		head + "expect:\n  denials: many\n":      "x.yaml:4: ",
		head + "---\n" + head + "agent: twice\n": "x.yaml:6: mapping key \"agent\" already defined",
		"a: [\n":                                 "x.yaml:",
	} {
		if _, err := Parse("", "x.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
