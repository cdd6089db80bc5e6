package tool_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/tool"
)

// TestProtectedFound: what agent files and git's settings lead to is protected by
// whatever name it has, there or not.
func TestProtectedFound(t *testing.T) {
	for name, c := range map[string]struct{ setup, file string }{
		"a link to an agent file":         {`mkdir -p .agents/agents texts; echo old > texts/rev.md; ln -s ../../texts/rev.md .agents/agents/rev.md`, "texts/rev.md"},
		"a link to the folder":            {`mkdir -p .agents shared/agents; ln -s ../shared/agents .agents/agents`, "shared/agents/evil.md"},
		"a link above the folder":         {`mkdir -p shared; ln -s shared .agents`, "shared/agents/evil.md"},
		"a link to what is not there yet": {`mkdir -p .agents/agents texts; ln -s ../../texts/later.md .agents/agents/x.md`, "texts/later.md"},
		"a chain of links":                {`mkdir -p .agents/agents texts; echo old > texts/a.md; ln -s a.md texts/b.md; ln -s ../../texts/b.md .agents/agents/x.md`, "texts/a.md"},
		"a linked folder in the folder":   {`mkdir -p .agents/agents team; ln -s ../../team .agents/agents/team`, "team/evil.md"},
		"core.hooksPath":                  {`git init -q; mkdir .husky; git config core.hooksPath .husky`, ".husky/pre-commit"},
		"core.hooksPath, not there yet":   {`git init -q; mkdir tools; git config core.hooksPath tools/hooks`, "tools/hooks/pre-commit"},
		"include.path":                    {`git init -q; echo > .gitconfig; git config include.path ../.gitconfig`, ".gitconfig"},
		"include.path, not there yet":     {`git init -q; git config include.path ../.gitconfig`, ".gitconfig"},
		"an include of an include":        {`git init -q; printf '[include]\n\tpath = b.cfg\n' > a.cfg; echo > b.cfg; git config include.path ../a.cfg`, "b.cfg"},
		"includeIf":                       {`git init -q; echo > c.cfg; git config includeIf.onbranch:other.path ../c.cfg`, "c.cfg"},
		"a filter":                        {`git init -q; mkdir bin; echo > bin/clean; git config filter.x.clean "bin/clean %f"`, "bin/clean"},
		"core.fsmonitor":                  {`git init -q; echo > watch.sh; git config core.fsmonitor ./watch.sh`, "watch.sh"},
	} {
		t.Run(name, func(t *testing.T) {
			folders := []string{".agents/agents"}
			p := newPlace(t, &tool.Options{AgentFiles: tool.AgentFiles{Folders: folders}, Sandbox: tool.SandboxOptions{Protected: folders}}, map[string]string{"plain": ""})
			cmd := exec.Command("bash", "-ec", c.setup)
			cmd.Dir = p.dir
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			before, _ := os.ReadFile(filepath.Join(p.dir, c.file))
			result := p.exec(`{"*": "allow"}`, "mkdir -p "+filepath.Dir(c.file)+"; echo evil >> "+c.file+"; echo fine > plain; echo new > another", nil)
			after, _ := os.ReadFile(filepath.Join(p.dir, c.file))
			if string(after) != string(before) {
				t.Errorf("%s was written: %s", c.file, result.Text)
			}
			if text := p.read("plain") + p.read("another"); !strings.Contains(text, "fine") || !strings.Contains(text, "new") {
				t.Errorf("what is beside it was not written: %s", result.Text)
			}
		})
	}
}
