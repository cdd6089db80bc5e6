package tool_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/tool"
)

// TestHiddenTracked: git takes a hidden file that it tracks for unchanged, also one that was
// committed a moment before, that the user has changed since, or that is executable. What people
// do all day works, and none of it shows the file.
func TestHiddenTracked(t *testing.T) {
	const rules = `{"shell_exec": "allow", "read_file": {"*": "allow", "*.env": "deny", "secrets/**": "deny", "run-secret": "deny", "empty.env": "deny"}, "write_file": {"*": "allow", "*.env": "deny"}, "edit_file": "allow"}`
	p := newPlace(t, &tool.Options{}, map[string]string{
		".env": "KEY=hidden\n", "secrets/deep/a": "hidden\n", "secrets/b": "hidden too\n", "run-secret": "#!/bin/sh\necho hidden\n", "empty.env": "",
		"open.txt": "open\n", "untracked.env": "hidden as well\n",
	})
	host := func(command string) string {
		t.Helper()
		cmd := exec.Command("bash", "-c", command)
		cmd.Dir = p.dir
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", command, err, out)
		}
		return string(out)
	}
	host("chmod +x run-secret; git init -q -b main .; git config user.name a; git config user.email a@b.c; echo untracked.env > .gitignore; git add -A; git commit -qm first")
	host("echo changed >> secrets/b") // by the user
	for _, c := range []struct{ command, want string }{
		{"git status --short", "(exit status 0)"},
		{"echo more >> open.txt; git status --short", " M open.txt\n(exit status 0)"},
		{"git diff --stat", "open.txt | 1 +\n 1 file changed, 1 insertion(+)\n(exit status 0)"},
		{"git --no-pager diff --stat | cat; git stash list; (git -C . diff | tail -1)", "open.txt | 1 +\n 1 file changed, 1 insertion(+)\n+more\n(exit status 0)"},
		{"git stash -q && git status --short && git stash pop -q && git status --short", " M open.txt\n(exit status 0)"},
		{"git add -A && git status --short", "M  open.txt\n(exit status 0)"},
		{"git commit -qam second && git log --format=%s && git show --stat --format=", "second\nfirst\n open.txt | 1 +\n 1 file changed, 1 insertion(+)\n(exit status 0)"},
		{"echo last >> open.txt; git commit -qam third; git status --short", "(exit status 0)"},
		{"git checkout -q -b other && git checkout -q main && git status --short", "(exit status 0)"},
	} {
		r := p.exec(rules, c.command, nil)
		if got := strings.TrimPrefix(r.Text, "(the command printed nothing)\n"); !strings.HasPrefix(strings.TrimSpace(got), strings.TrimSpace(c.want)) || strings.Contains(r.Text, "hidden") {
			t.Errorf("%s\ngot:\n%s\nwant:\n%s", c.command, r.Text, c.want)
		}
	}
	for _, command := range []string{
		"cat .env", "cat secrets/b secrets/deep/a", "./run-secret", "cp .env x; cat x", "git -c core.checkStat=default -c core.trustctime=true diff",
		"git -c core.checkStat=default status; git diff", "touch .env; git diff", "rm -f .env; git diff", "mv secrets s; git diff", "mv secrets s; git --no-pager diff | cat; git stash list", "git diff > d; git -C secrets diff >> d; cat d", "git update-index --really-refresh; git diff",
		"dd if=.env bs=1", "cat untracked.env", "grep -r hidden . --exclude-dir=.git", "od -c empty.env .env",
	} {
		if r := p.exec(rules, command, nil); strings.Contains(r.Text, "hidden\n") || strings.Contains(r.Text, "KEY") || strings.Contains(r.Text, "hidden too") || strings.Contains(r.Text, "h   i   d") {
			t.Errorf("%s shows\n%s", command, r.Text)
		}
	}
	if got := host("git status --short; cat .env"); !strings.Contains(got, " M secrets/b\n") || !strings.Contains(got, "KEY=hidden") {
		t.Errorf("outside of the sandbox git says\n%s", got)
	}
	if _, err := os.Stat(filepath.Join(p.dir, ".git", "index.lock")); err == nil {
		t.Error("the index is locked")
	}
}
