package definition_test

import (
	"testing"

	"github.com/agentworker/worker/agentdefs/internal/definition"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
)

// FuzzParseList feeds the reader files of several agents. It must not panic, and must report
// each file that it can't read.
func FuzzParseList(f *testing.F) {
	f.Add(0, []byte(`{"agent": {"a": {"description": "x", "tools": {"write": false}}}}`))
	f.Add(1, []byte("[agents.a]\ndescription = \"x\"\n[agents]\nmax_threads = 1\n"))
	f.Add(2, []byte("customModes:\n  - slug: a\n    roleDefinition: x\n    groups: [read, [edit, {fileRegex: '\\.md$'}], mcp]\n"))
	f.Add(2, []byte(`{"customModes": [{"slug": "a", "groups": [["edit", {"fileRegex": "^(a|b+)?.*[x-z]$"}]]}]}`))
	forms := []struct {
		file string
		form dialect.Form
	}{{"opencode.json", dialect.OpencodeList}, {".codex/config.toml", dialect.CodexList}, {".roomodes", dialect.ModeList}}
	f.Fuzz(func(t *testing.T, form int, data []byte) {
		of := forms[uint(form)%uint(len(forms))]
		agents, found, ok := definition.ParseList(of.file, of.form, data, definition.Options{})
		if !ok && (len(agents) > 0 && of.form != dialect.OpencodeList || len(found) == 0) {
			t.Errorf("%d agents of a file that can't be read, %v", len(agents), found)
		}
		for _, a := range agents {
			if a.Key == "" || a.Def != nil && a.Def.Permission == nil {
				t.Errorf("%+v", a)
			}
		}
	})
}
