package mcpclient_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/mcpclient"
)

// TestFolders: what rules deny holds in the folders that the trust of a server names, and no link of an agent
// leads further.
func TestFolders(t *testing.T) {
	p := newPlace(t, self("t"))
	if held, why := p.tools()["mcp__t__read"].(tool.Sandboxed).Held("ses_1", allowAll); !held {
		t.Skip("no sandbox here: " + why)
	}
	base := filepath.Dir(p.dir)
	for _, name := range []string{"read", "write", "other"} {
		if err := os.Mkdir(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, file := range []string{"plain", "a.env", "locked"} {
			if err := os.WriteFile(filepath.Join(base, name, file), []byte("CONTENT\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Symlink(filepath.Join(base, "other"), filepath.Join(base, "write", "sub")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(base, "other"), filepath.Join(p.dir, "sub")); err != nil {
		t.Fatal(err)
	}
	said := mcpclient.Trusted{Read: []string{base + "/read", p.dir + "/sub"}, Write: []string{base + "/write"}}
	if err := p.trust.Add(p.opts.Own[0], said); err != nil {
		t.Fatal(err)
	}
	rules := &permission.Layers{Static: permission.MustRuleset(
		permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow},
		permission.Rule{Tool: "read_file", Pattern: "*.env", Action: permission.Deny},
		permission.Rule{Tool: "write_file", Pattern: "*.env", Action: permission.Deny},
		permission.Rule{Tool: "write_file", Pattern: base + "/write/locked", Action: permission.Deny},
	)}
	for _, c := range []struct {
		tool, path string
		fails      bool
	}{
		{"read", "read/plain", false}, {"read", "write/plain", false}, {"write", "write/new", false}, {"write", "write/plain", false},
		{"read", "read/a.env", true}, {"read", "write/a.env", true}, {"write", "read/plain", true}, {"write", "write/a.env", true},
		{"write", "write/locked", true}, {"write", "write/new.env", true}, {"read", "other/plain", true},
	} {
		args, _ := json.Marshal(map[string]string{"text": filepath.Join(base, c.path)})
		r, err := p.tools()["mcp__t__"+c.tool].Run(t.Context(), &tool.Call{SessionID: "ses_f", Args: args, Rules: rules})
		if err != nil || r.IsError != c.fails {
			t.Errorf("%s %s: error=%v %q, %v", c.tool, c.path, r.IsError, r.Text, err)
		}
	}
	if _, err := os.Stat(base + "/write/new.env"); err == nil {
		t.Error("a server has made a file that a rule denies")
	}
}
