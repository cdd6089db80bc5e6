package worktree_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/internal/worktree"
)

// TestGitStartsNothing holds that reading a stranger's repository starts none of the
// programs that its settings, attributes and hooks name.
func TestGitStartsNothing(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	write("a.txt", "one\n", 0o644)
	write(".gitattributes", "* filter=evil diff=evil merge=evil ident\n", 0o644)
	git("add", "-A")
	git("commit", "-q", "-m", "x")
	other := t.TempDir()
	for _, args := range [][]string{{"init", "-q"}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"}} {
		if out, err := exec.Command("git", append([]string{"-C", other}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	git("submodule", "--quiet", "add", other, "sub")
	git("commit", "-q", "-m", "y")

	ran := filepath.Join(t.TempDir(), "ran")
	evil := filepath.Join(dir, "evil.sh")
	write("evil.sh", "#!/bin/sh\necho \"$0 $*\" >>"+ran+"\ncat\n", 0o755)
	write(".git/hooks/post-index-change", "#!/bin/sh\nexec "+evil+"\n", 0o755)
	for _, name := range []string{"core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.alternateRefsCommand",
		"pager.diff", "diff.external", "diff.evil.command", "diff.evil.textconv", "merge.evil.driver", "filter.evil.clean", "filter.evil.smudge",
		"filter.evil.process", "filter.a.b.clean", "filter.evil.required", "gpg.program", "credential.helper", "interactive.diffFilter", "sequence.editor", "hook.evil.command"} {
		git("config", name, evil)
	}
	git("config", "filter.evil.required", "true")
	git("config", "hook.evil.event", "post-index-change")
	if out, err := exec.Command("git", "-C", filepath.Join(dir, "sub"), "config", "core.fsmonitor", evil).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	write("a.txt", "two\n", 0o644)
	write("sub/new", "x", 0o644)
	t.Setenv("GIT_EXTERNAL_DIFF", evil)
	t.Setenv("GIT_PAGER", evil)
	for _, args := range [][]string{
		{"ls-files", "-z", "--cached", "--others", "--exclude-standard"},
		{"rev-parse", "--verify", "HEAD"},
		{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty", "HEAD"},
	} {
		out, err := worktree.Git(t.Context(), dir, args...)
		if err != nil || len(out) == 0 {
			t.Errorf("git %s: %q, %v", args, out, err)
		}
		if args[0] == "diff" && !strings.Contains(string(out), "+two") {
			t.Errorf("the difference is %q", out)
		}
	}
	if said, err := os.ReadFile(ran); err == nil {
		t.Errorf("started: %s", said)
	}
}
