package definition

import (
	"slices"
	"testing"

	"github.com/agentworker/worker/agentdefs/internal/diag"
)

// TestShadowed gives the lines of the rules that never count.
func TestShadowed(t *testing.T) {
	for _, tt := range []struct {
		fields string
		lines  []int
	}{
		{"permission:\n  '*': deny\n  read_file: allow", nil},
		{"permission:\n  read_file: allow\n  '*': deny", []int{4}},
		{"permission:\n  read_file: allow\n  '**': deny", []int{4}},
		{"permission:\n  read_file: allow\n  '*': allow", nil}, // it comes to the same
		{"permission:\n  read_file: deny\n  '*': deny\n  'read_*': allow", []int{4}},
		{"permission:\n  read_file: allow\n  '*': deny\n  read_*: allow", nil}, // the last one says the same again
		{"permission:\n  shell_exec:\n    'git push *': deny\n    'git *': allow", []int{5}},
		{"permission:\n  shell_exec:\n    'git *': allow\n    'git push *': deny", nil},
		{"permission:\n  shell_exec:\n    'git push': deny\n    'git p[au]*': allow", []int{5}},
		{"permission:\n  shell_exec:\n    'gitk': deny\n    'git *': allow", nil},
		{"permission:\n  shell_exec:\n    'git': deny\n    'git *': allow", nil},
		{"permission:\n  shell_exec: {'rm *': deny}\n  bash: ask", []int{4}},
		{"permission:\n  read_file:\n    '*.env': deny\n    '*': allow", []int{5}},
		{"permission:\n  read_file:\n    'src/secret/**': deny\n    'src/**': allow", []int{5}},
		{"permission:\n  read_file:\n    'src/**': deny\n    'src/*': allow", nil}, // src itself
		{"permission:\n  read_file:\n    'src/x': deny\n    '/src/*': allow", nil}, // another form of the path
		{"permission:\n  read_file:\n    '/etc/x': deny\n    '/etc/*': allow", nil},
		{"permission:\n  read_file:\n    '/etc/x': deny\n    '*': allow", []int{5}},
		{"permission:\n  read_file:\n    a: deny\n    '!b': allow", []int{5}},
		{"permission:\n  edit: deny\n  write_file: allow", nil}, // edit_file is left of it
		{"permission:\n  edit: deny\n  write_file: allow\n  edit_file: ask", []int{4}},
		{"permission:\n  edit: {'*.go': deny}\n  '*_file': allow", []int{4}},
		{"permission:\n  gh_get: deny\n  gh_*: allow", []int{4}},
		{"tools: '*'", nil},
		{"tools: Read, Write\ndisallowedTools: Write", []int{3}},
		{"tools: Read\npermission: {'*': allow}", nil},
		{"tools: Bash\npermission: {shell_exec: ask}", nil},
		{"tools: {bash: true}\npermission: {bash: ask}", nil},
		{"tools: {bash: true}\npermission: {bash: deny}", []int{3}},
		{"tools: {bash: false}\npermission: {bash: ask}", []int{3}},
		{"tools:\n  bash: false\n  Bash: true", []int{4}},
		{"permission: {shell_exec: allow}\nreadonly: true", nil},
		{"permission: {write_file: allow}\npermissionMode: plan", nil},
		{"permission: {task: allow}", nil},
	} {
		res := Parse("a.md", []byte("---\ndescription: x\n"+tt.fields+"\n---\nWork.\n"), Options{})
		var lines []int
		for _, d := range res.Diagnostics {
			if d.Code == diag.PermissionShadowed {
				lines = append(lines, d.Line)
			}
		}
		if !slices.Equal(lines, tt.lines) || res.Def == nil {
			t.Errorf("%s\nlines %v, want %v; %v", tt.fields, lines, tt.lines, res.Diagnostics)
		}
	}
}

func TestShadowedMessage(t *testing.T) {
	res := Parse("a.md", []byte("---\ndescription: x\npermission:\n  read_file: {'*.env': deny}\n  '*': allow\n---\nWork.\n"), Options{})
	want := `a.md:4:15: warning: the rule read_file: {"*.env": deny} never counts: *: {"*": allow} in a.md:5 matches all that it does, and comes later (permission-shadowed); ` +
		"write the wider rule first and the narrower one behind it, or remove this one"
	if len(res.Diagnostics) != 1 || res.Diagnostics[0].String() != want {
		t.Errorf("got  %v\nwant %s", res.Diagnostics, want)
	}
}
