package tool_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool"
)

// TestSandboxFolderLinks: a folder for commands is where its path leads, except through a link that an agent may
// have made. One that becomes a link later is left out.
func TestSandboxFolderLinks(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"ws/data", "out/sub", "other"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"ws/link": "other", "ws/up": ".", "out/link": "other", "mine": "out", "in": "ws/link"} {
		if err := os.Symlink(filepath.Join(base, to), filepath.Join(base, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"ws/data": "ws/data", "mine": "out", "out/sub": "out/sub", "ws/link": "", "ws/up/other": "", "out/link": "", "in": ""} {
		folders := []sandbox.Folder{{Path: filepath.Join(base, "mine"), Access: sandbox.Write, Given: true}, {Path: filepath.Join(base, path), Access: sandbox.Write, Given: true}}
		ws, err := tool.OpenWorkspace(filepath.Join(base, "ws"), &tool.Options{Sandbox: tool.SandboxOptions{Folders: folders}})
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "is a link in") || !strings.Contains(err.Error(), "--sandbox-folder") {
				t.Errorf("%s: %v", path, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		has := func() bool {
			p := ws.SandboxProfile(&permission.Layers{}, false)
			return slices.Contains(p.Folders, sandbox.Folder{Path: filepath.Join(base, want), Access: sandbox.Write, Given: true})
		}
		if !has() {
			t.Errorf("%s is not at %s", path, want)
		}
		if want == "ws/data" {
			if err := os.Remove(filepath.Join(base, want)); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(filepath.Join(base, "other"), filepath.Join(base, want)); err != nil {
				t.Fatal(err)
			}
			if has() {
				t.Errorf("%s, now a link, is still there", want)
			}
		}
		ws.Close()
	}
}
