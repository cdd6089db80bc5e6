package skills_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agentworker/worker/agentdefs/skills"
)

// TestPluginSkills has a skill of the workspace, and two plugins with skills of the same name.
func TestPluginSkills(t *testing.T) {
	root := t.TempDir()
	for file, text := range map[string]string{
		".agents/skills/deploy/SKILL.md": "---\nname: deploy\ndescription: Own.\n---\nOwn.",
		"p/qa/skills/deploy/SKILL.md":    "---\nname: deploy\ndescription: QA.\n---\nQA.",
		"p/qa/skills/check/SKILL.md":     "---\nname: check\ndescription: Check.\n---\nCheck.",
		"p/ops/skills/deploy/SKILL.md":   "---\nname: deploy\ndescription: Ops.\n---\nOps.",
	} {
		at := filepath.Join(root, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	set := skills.Load(root, "", skills.PluginFolder{Plugin: "QA", Folder: "p/qa/skills"}, skills.PluginFolder{Plugin: "ops", Folder: "p/ops/skills"}, skills.PluginFolder{Plugin: "out", Folder: "../x"})
	for name, want := range map[string]string{"deploy": "Own.", "qa:deploy": "QA.", "ops:deploy": "Ops.", "check": "Check."} {
		s := set.Get(name)
		if s == nil {
			t.Errorf("no skill %s: %v", name, set.Diagnostics())
			continue
		}
		if c, err := s.Read(); err != nil || c.Body != want {
			t.Errorf("%s is %+v, %v, want %q", name, c, err, want)
		}
	}
	if len(set.All()) != 4 {
		t.Errorf("%d skills, want 4", len(set.All()))
	}
}
