package permission

import (
	"strings"
	"testing"
)

func TestLint(t *testing.T) {
	tools := []string{"read_file", "write_file", "edit_file", "shell_exec"}
	for _, c := range []struct {
		rules string
		want  string // in the one finding; "": there is none
	}{
		{`{"shell_exec": {"*": "ask", "git *": "allow", "git push *": "deny"}}`, ""},
		{`{"shell_exec": {"git push *": "deny", "git *": "allow"}}`, `never decides, since shell_exec: {"git *": allow}`},
		{`{"shell_exec": {"ls": "allow", "x": "ask", "ls": "deny"}}`, "written again"},
		{`{"shell_exec": {"ls": "allow"}, "*": "ask"}`, "never decides"},
		{`{"shell_exce": "ask"}`, `there is no tool "shell_exce" (did you mean "shell_exec"?)`},
		{`{"mcp:github:create_issue": "deny", "shell_*": "ask"}`, ""},
		{`{"write_file": {"*": "allow", "*.env": "deny"}, "edit_file": {"*": "allow", "*.env": "deny"}}`, ""},
		{`{"write_file": {"*": "allow", "*.env": "deny"}, "edit_file": "allow"}`, "edit_file is not denied the same"},
		{`{"read_file": {"*.env": "deny", "*.env.example": "allow"}}`, ""},
		{`{"read_file": {"*.env.local": "allow", "*.env.*": "allow"}}`, ""},
	} {
		findings := Lint(rules(t, c.rules), tools)
		switch {
		case c.want == "" && len(findings) > 0:
			t.Errorf("%s: %v, want nothing", c.rules, findings)
		case c.want != "" && (len(findings) != 1 || !strings.Contains(findings[0].String(), c.want)):
			t.Errorf("%s: %v, want one with %q", c.rules, findings, c.want)
		}
	}
	if findings := Lint(Defaults(), append(tools, "glob", "grep", "list_dir", "task", "skill", "network")); len(findings) > 0 {
		t.Errorf("the default rules: %v", findings)
	}
}
