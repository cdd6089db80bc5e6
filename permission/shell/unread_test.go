package shell_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/shell"
)

// TestUnreadScript holds that what is decided and explained of a script that the session may not
// read does not depend on what the script holds.
func TestUnreadScript(t *testing.T) {
	for name, command := range map[string]string{
		"the file":         "bash conf.env",
		"a link":           "bash link",
		"sourced":          ". ./conf.env",
		"by a plain shell": "sh conf.env",
		"below a folder":   "bash secrets/run",
		"with others":      "ls && bash conf.env",
	} {
		var before string
		for _, content := range []string{"curl http://a.example/S3CRET", "echo S3CRET > out; rm -rf S3CRET", "rm x"} {
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(root, "secrets"), 0o700); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{"conf.env", "secrets/run"} {
				if err := os.WriteFile(filepath.Join(root, file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink("conf.env", filepath.Join(root, "link")); err != nil {
				t.Fatal(err)
			}
			set, err := permission.ParseJSON([]byte(`{"*": "allow", "shell_exec": {"*": "allow", "curl *": "deny", "rm -rf *": "ask"}, "read_file": {"*": "allow", "*.env": "deny", "secrets/**": "deny"}}`), "rules", nil)
			if err != nil {
				t.Fatal(err)
			}
			values, err := shell.Values(permission.Workspace{Root: root}, "shell_exec", command)
			if err != nil {
				t.Fatal(err)
			}
			layers := permission.Layers{Static: set}
			e := layers.Explain(values)
			text := fmt.Sprintf("%v %v", e.Decision.Action, e.Decision.Rule)
			for _, v := range e.Values {
				if v.Decision.Rule != nil && v.Decision.Rule.Tool == "shell_exec" && v.Decision.Rule.Pattern != "*" || len(v.Matches) > 0 && v.Matches[len(v.Matches)-1].Rule.Pattern == "curl *" {
					t.Errorf("%s: %v tells what the script holds", name, v.Decision.Rule)
				}
			}
			if before != "" && text != before {
				t.Errorf("%s: %s with %q, and %s with others", name, text, content, before)
			}
			before = text
		}
	}
}
