package model_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
)

func TestToolNames(t *testing.T) {
	legal := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	known := func(name string) bool { return name == "read_file" || name == "mcp:a:b" }
	for name, meant := range map[string]string{
		"read_file": "read_file", "functions.read_file": "read_file", "default_api:read_file": "read_file", "read_file<|channel|>commentary": "read_file",
		"Read File": "read_file", " read_file ": "read_file", "tools/read_file": "read_file", "mcp:a:b": "mcp:a:b",
		"$lookup": "$lookup", "": "", "read_file2": "read_file2", "日本": "日本", strings.Repeat("x", 200): strings.Repeat("x", 200), "a.b": "a.b", ":": ":",
	} {
		if got := model.MeantTool(name, known); got != meant {
			t.Errorf("%q means %q, want %q", name, got, meant)
		}
		if got := model.ToolName(name); !legal.MatchString(got) || legal.MatchString(name) && got != name {
			t.Errorf("%q is sent as %q", name, got)
		}
	}
}
