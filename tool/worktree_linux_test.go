package tool_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/internal/worktree"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool"
)

// TestWorktree: in a worktree that was made for a session, a command commits on
// the worktree's own branch. Nothing else of the repository can be changed, its
// working files are not there, and none of its hooks runs.
func TestWorktree(t *testing.T) {
	if !sandbox.Detect().Namespaces {
		t.Fatal("this system makes no user namespaces: ", sandbox.Detect().NoNamespaces)
	}
	home := realTempDir(t)
	t.Setenv("HOME", home)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[user]\n\tname = a\n\temail = a@example.com\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(realTempDir(t), "state")
	main := newPlace(t, &tool.Options{Home: home, Sandbox: tool.SandboxOptions{Hidden: []string{state}, Protected: []string{".agents/agents"}}}, map[string]string{
		"a.txt": "one\n", "locked.txt": "locked\n", "x.env": "hidden\n",
	})
	runGit(t, main.dir, `git init -qb main .; git add a.txt locked.txt; git commit -qm first; git branch other; git branch agentworker/theirs; git worktree add -q ../linked other
		for h in pre-commit post-commit reference-transaction post-checkout post-index-change; do printf '#!/bin/sh\ntouch "$(git rev-parse --show-toplevel)/hooked" /tmp/hooked\n' >.git/hooks/$h; chmod +x .git/hooks/$h; done
		mkdir -p .agents/agents; echo x >.agents/agents/x.md; echo mine >mine.txt`)
	ws, err := tool.OpenWorkspace(main.dir, &tool.Options{Home: home, Sandbox: tool.SandboxOptions{Hidden: []string{state}, Protected: []string{".agents/agents"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	w, err := worktree.Open(filepath.Join(state, "worktrees")).Create(t.Context(), main.dir, "ses_1")
	if err != nil {
		t.Fatal(err)
	}
	made, err := ws.OpenWorktree(w)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	p := &place{t: t, dir: made.Root(), tools: map[string]tool.Tool{}}
	for _, b := range tool.Builtin(made) {
		p.tools[b.Spec().Name] = b
	}
	// The absolute rules are about the workspace.
	rules := `{"*": "allow", "read_file": {"*": "allow", "*.env": "deny"}, "write_file": {"*": "allow", "` + main.dir + `/locked.txt": "deny", "` + state + `/**": "deny"}}`
	before := runGit(t, main.dir, "git for-each-ref; git status --porcelain; cat .git/config .git/HEAD; ls .git .git/worktrees")
	for _, c := range worktreeCommands(main.dir, w.GitDir, state) {
		t.Run(c.name, func(t *testing.T) {
			r := p.exec(rules, c.command, func(call *tool.Call) { call.Approved = true })
			if c.want == "" && !r.IsError || c.want != "" && (r.IsError || !strings.HasPrefix(r.Text, c.want)) {
				t.Errorf("%s\ngot:\n%s\nwant %q", c.command, r.Text, c.want)
			}
		})
	}
	after := runGit(t, main.dir, "git for-each-ref; git status --porcelain; cat .git/config .git/HEAD; ls .git .git/worktrees")
	lines := func(text string) []string {
		return slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.Contains(line, w.Branch) })
	}
	if !slices.Equal(lines(after), lines(before)) {
		t.Errorf("the repository was\n%s\nand is\n%s", before, after)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "hooked")); err == nil {
		t.Error("a hook has run")
	}
	checkWorktreeValues(t, p, main.dir, rules)
}

// checkWorktreeValues checks how calls of file tools in the worktree p of the workspace main are decided.
func checkWorktreeValues(t *testing.T, p *place, main, rules string) {
	t.Helper()
	values, err := p.tools["write_file"].Values([]byte(`{"path": "locked.txt", "content": "x"}`))
	if err != nil {
		t.Fatal(err)
	}
	if d := layersOf(t, rules).Decide(values); d.Action != permission.Deny {
		t.Errorf("a file tool in the worktree: %v", d.Reason())
	}
	values, err = p.tools["write_file"].Values([]byte(`{"path": "a.txt", "content": "x"}`))
	if err != nil {
		t.Fatal(err)
	}
	if d := layersOf(t, rules).Decide(values); d.Action != permission.Allow {
		t.Errorf("a file that no rule is about: %v", d.Reason())
	}
	for _, path := range []string{main + "/a.txt", "../ses_1.json", "out/a.txt"} {
		if r := p.call("read_file", args{"path": path}); !r.IsError {
			t.Errorf("%s can be read: %s", path, r.Text)
		}
	}
	// What is outside is outside, too, for the gate.
	values, err = p.tools["shell_exec"].Values([]byte(`{"command": "git -C ` + main + ` log"}`))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(values, func(v permission.Value) bool { return v.Tool == "read_file" && v.Text == main }) {
		t.Errorf("git -C of the workspace: %+v", values)
	}
}

// runGit runs a script of git commands in dir, without hooks.
func runGit(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("bash", "-ec", script)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.hooksPath", "GIT_CONFIG_VALUE_0=/dev/null")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return string(out)
}

// worktreeCommand is a command in a worktree. An empty want means that it fails.
type worktreeCommand struct{ name, command, want string }

func worktreeCommands(main, gitDir, state string) []worktreeCommand {
	return []worktreeCommand{
		{"its files", "cat a.txt mine.txt .agents/agents/x.md && git status --porcelain a.txt mine.txt", "one\nmine\nx\n(exit status 0)"},
		{"a commit", "echo two >>a.txt && git add a.txt && git commit -qm second && git log --format=%s | head -1 && git commit -q --amend -m third && git diff --stat HEAD~1 HEAD | tail -1", "second\n 1 file changed"},
		{"what others have", "git log -1 --format=%s main && git diff --stat other -- locked.txt", "first\n(exit status 0)"},
		{"the working files", "cat " + main + "/a.txt", ""},
		{"git in them", "git -C " + main + " diff --exit-code -- mine.txt a.txt", ""},
		{"a link to them", "ln -s " + main + " out && cat out/mine.txt", ""},
		{"git by the environment", "GIT_WORK_TREE=" + main + " git checkout -q agentworker/ses_1 -- a.txt; grep mine " + main + "/mine.txt", ""},
		{"another branch", "git update-ref refs/heads/main HEAD", ""},
		{"a new branch", "git branch mine", ""},
		{"a neighbour's branch", "git update-ref -d refs/heads/agentworker/theirs", ""},
		{"removing it", "rm -f " + main + "/.git/refs/heads/agentworker/theirs", ""},
		{"a stash", "echo x >>a.txt; git stash", ""},
		{"the repository's HEAD", "git --git-dir=" + main + "/.git symbolic-ref HEAD refs/heads/other", ""},
		{"its index", "echo x >" + main + "/.git/index", ""},
		{"its settings", "git config core.pager x", ""},
		{"a hook", "echo x >" + main + "/.git/hooks/pre-push", ""},
		{"another worktree", "echo x >" + main + "/.git/worktrees/linked/HEAD", ""},
		{"a new worktree", "git worktree add -q /tmp/wt", ""},
		{"what names its folder", "echo gitdir: /tmp >.git", ""},
		{"moving that", "mv .git .was", ""},
		{"where the folder is", "echo /tmp >" + gitDir + "/commondir", ""},
		{"an absolute rule", "echo x >locked.txt", ""},
		{"a relative rule", "cat x.env", ""},
		{"agent files", "echo y >.agents/agents/x.md", ""},
		{"the state folder", "ls " + state + "/worktrees/ses_1.json", ""},
	}
}
