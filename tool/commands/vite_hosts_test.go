//go:build hosts && linux

package commands_test

import (
	"os/exec"
	"strings"
	"testing"
)

// TestVite: vite, as npm has it, is started by one call, reached by the next one, and stopped.
func TestVite(t *testing.T) {
	each(t, func(t *testing.T, p *place) {
		install := exec.Command("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "vite@8")
		install.Dir = p.dir
		if out, err := install.CombinedOutput(); err != nil {
			t.Fatalf("npm: %v: %s", err, out)
		}
		p.has("write_file", args{"path": "index.html", "content": "<h1>hello</h1>"})
		p.has("shell_exec", args{"command": "exec node node_modules/vite/bin/vite.js --host 127.0.0.1 --port 5199 --strictPort", "background": true, "notify": "ready in"}, "cmd_1")
		p.has("shell_output", args{"until": "Local:.*5199", "waitSeconds": 60}, "ready in")
		p.has("shell_exec", args{"command": "node -e \"fetch('http://127.0.0.1:5199/').then((r) => r.text()).then(console.log)\""}, "<h1>hello</h1>", "/@vite/client")
		if text := p.has("shell_stop", args{"id": "cmd_1"}, "stopped by shell_stop"); strings.Contains(text, "error") {
			t.Error(text)
		}
		if told := p.told(); !strings.Contains(told, "cmd_1 notice 1") {
			t.Errorf("the session was told %s", told)
		}
	})
}
