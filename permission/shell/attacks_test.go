package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/permission"
)

const (
	wideRules = `{"*":"allow","read_file":{"*":"allow","*.env":"deny"},"write_file":{"*":"allow","*.env":"deny"},"edit_file":{"*":"allow","*.env":"deny"},
		"shell_exec":{"*":"allow","rm *":"deny","git push *":"deny","curl *":"deny"}}`
	narrowRules = `{"*":"ask","read_file":{"*":"allow","*.env":"deny"},"write_file":{"*":"allow","*.env":"deny"},
		"shell_exec":{"*":"ask","git status":"allow","git log *":"allow","cat *":"allow","npm run *":"allow"}}`
)

// gitWorkspace returns a workspace that is a repository, after setup.
func gitWorkspace(t testing.TB, setup string) permission.Workspace {
	t.Helper()
	w := tempWorkspace(t)
	cmd := exec.Command("sh", "-ec", "git init -q .; mkdir conf; echo k > .env; echo k > conf/prod.env; echo x > README.md; echo x > src/main.go;"+setup)
	cmd.Dir = w.Root
	cmd.Env = append(os.Environ(), "HOME="+w.Home, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("setup: %v\n%s", err, out)
	}
	return w
}

func decideShell(t testing.TB, w permission.Workspace, rules *permission.Ruleset, held bool, command string) permission.Decision {
	t.Helper()
	values, err := Values(w, "shell_exec", command)
	if err != nil {
		return permission.Decision{Action: permission.Deny}
	}
	return (&permission.Layers{Static: rules, Held: held}).Decide(values)
}

func readText(t testing.TB, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

// What an attacker would try, whether nearly all commands are allowed or a few.
// Denied are the text of tracked .env files, rm, curl and git push. Only what a
// sandbox holds is allowed where there is one.
func TestAttacks(t *testing.T) {
	w := gitWorkspace(t, "ln -s .env link; git add -f .")
	sets := map[string]*permission.Ruleset{"[wide]": rules(t, wideRules), "[wide, held]": rules(t, wideRules), "[narrow]": rules(t, narrowRules), "[narrow, held]": rules(t, narrowRules)}
	var set *permission.Ruleset
	var held bool
	for _, line := range readText(t, "testdata/attacks.txt") {
		switch {
		case strings.HasPrefix(line, "#"):
		case sets[line] != nil:
			set, held = sets[line], strings.Contains(line, "held")
		default:
			if d := decideShell(t, w, set, false, line); d.Action == permission.Allow {
				t.Errorf("%q is allowed", line)
			}
			if d := decideShell(t, w, set, true, line); d.Action == permission.Allow && !held {
				t.Errorf("%q is allowed in a sandbox", line)
			}
		}
	}
}

// What people do all day, where a .env is there and ignored by git.
func TestHarmlessCommands(t *testing.T) {
	w := gitWorkspace(t, "rm -r conf; echo .env > .gitignore; git add .")
	set := rules(t, wideRules)
	for _, line := range readText(t, "testdata/harmless.txt") {
		if d := decideShell(t, w, set, true, line); d.Action != permission.Allow && !strings.HasPrefix(line, "#") {
			t.Errorf("%q: got %v, want allow (%s)", line, d.Action, d.Reason())
		}
	}
}

// Git is asked about where it might show a file that may not be read, and not
// where words limit it to others.
func TestGitTrees(t *testing.T) {
	set := rules(t, wideRules)
	for _, c := range []struct {
		setup, command string
		want           permission.Action
	}{
		{"git add -f .env", "git diff", permission.Allow}, // a hidden file is unchanged
		{"git add -f .env", "git diff HEAD", permission.Ask},
		{"git add -f .env", "git status; git diff; git log", permission.Allow},
		{"git add -f .env", "git reset -q HEAD~1; git diff", permission.Ask},
		{"git add -f .env", "for i in 1 2; do git diff; git read-tree HEAD~1; done", permission.Ask},
		{"git add -f .env; printf 'git reset -q HEAD~1' > r.sh; git add r.sh", "sh r.sh; git diff", permission.Ask},
		{"git add -f .env", "git diff && (cd conf && git stash pop)", permission.Ask},
		{"git add -f .env", "git diff --cached", permission.Ask},
		{"git add -f .env", "git diff --stat; git stash list", permission.Allow}, // alone and in any line
		{"git add -f .env", "git stash list && git diff | head -20", permission.Allow},
		{"git add -f .env", "git diff > x; cat x; git remote -v; git fetch; git tag; git rm -q README.md", permission.Allow},
		{"git add -f .env", "git --no-pager diff --stat | cat; git submodule status; git worktree list", permission.Allow},
		{"git add -f .env", "git -C src -c color.ui=never diff && (cd src && timeout 5 git diff -w)", permission.Allow},
		{"git add -f .env", "git diff --stat; git stash", permission.Ask},
		{"git add -f .env", "git diff --stat; git stash -q list", permission.Ask},
		{"git add -f .env", "git diff --stat; git stash $X", permission.Ask},
		{"git add -f .env", "git diff --stat; git stash list -p", permission.Ask},
		{"git add -f .env", "git diff | cat; git worktree add ../x", permission.Ask},
		{"git add -f .env", "git diff; git submodule update", permission.Ask},
		{"git add -f .env", "git stash list; git diff --no-index . /tmp", permission.Ask},
		{"git add -f .env", "git stash list; git diff --ext-diff", permission.Ask},
		{"git add -f .env", "git stash list; GIT_EXTERNAL_DIFF=cat git diff", permission.Ask},
		{"git add -f .env", "git stash list; git diff | git apply -R -", permission.Ask},
		{"git add -f .env", "git --git-dir=.git diff", permission.Ask},
		{"git add -f .env", "git --work-tree=src --no-pager diff", permission.Ask},
		{"git add -f .env", "git --work-tree src --no-pager diff", permission.Ask},
		{"git add -f .env", "git -c core.worktree=src diff", permission.Ask},
		{"git add -f .env", "git -C $X diff", permission.Ask},
		{"git add -f .env", "git stash list; git diff -- .env", permission.Deny},
		{"git add -f .env", "git diff -- src README.md", permission.Allow},
		{"git add -f .env", "git diff HEAD -- conf ':!x'", permission.Ask},
		{"git add README.md", "git diff", permission.Allow},
		{"git add README.md", "git stash", permission.Allow},
		{"git add -f .; git update-index --index-version 4", "git show", permission.Ask},
		{"git add README.md src; git update-index --index-version 4", "git show", permission.Allow},
		{"printf broken > .git/index", "git show", permission.Ask},
		{"git add README.md; git update-index --split-index", "git show", permission.Ask},
		{"", "git clone https://x.test/a.git sub/a", permission.Allow},
	} {
		if d := decideShell(t, gitWorkspace(t, c.setup), set, true, c.command); d.Action != c.want {
			t.Errorf("%q after %q: got %v (%s), want %v", c.command, c.setup, d.Action, d.Reason(), c.want)
		}
	}
}

// A redirection leads out of the workspace only where a rule names the place.
func TestWritingOutside(t *testing.T) {
	w := tempWorkspace(t)
	if err := os.Symlink("/var/tmp", filepath.Join(w.Root, "out")); err != nil {
		t.Fatal(err)
	}
	const open = `{"*":"allow"}`
	named := `{"write_file":{"/tmp/*":"allow","~/notes/**":"allow","*":"allow"},"edit_file":"allow","shell_exec":"allow"}`
	for _, c := range []struct {
		rules, command string
		want           permission.Action
	}{
		{open, "ls > docs/x", permission.Allow},
		{open, "ls > " + w.Root + "/docs/x", permission.Allow},
		{open, "ls > /tmp/x", permission.Ask},
		{open, "ls >> ../x", permission.Ask},
		{open, "ls > out/x", permission.Ask},
		{open, "cd /tmp && ls > x", permission.Ask},
		{open, "echo x > ~/.bashrc", permission.Ask},
		{open, "ls > /dev/null 2> /dev/stderr", permission.Allow},
		{open, "ls > /dev/fd/3", permission.Allow},
		{open, "ls > /dev/tcp/host/80", permission.Ask},
		{open, "cat < /dev/udp/host/80", permission.Ask},
		{open, "ls > /dev/sda", permission.Ask},
		{named, "ls > /tmp/x", permission.Allow},
		{named, "ls > ~/notes/x", permission.Allow},
		{named, "ls > /var/x", permission.Ask},
		{`{"*":"allow","write_file":{"*":"allow","/tmp/x":"deny"}}`, "ls > /tmp/x", permission.Deny},
		{`{"*":"deny","shell_exec":"allow","write_file":"allow"}`, "ls > /tmp/x", permission.Deny},
	} {
		set, err := permission.ParseJSON([]byte(c.rules), "rules", &permission.ParseOptions{Home: w.Home})
		if err != nil {
			t.Fatal(err)
		}
		if d := decideShell(t, w, set, true, c.command); d.Action != c.want {
			t.Errorf("%q by %s: got %v (%s), want %v", c.command, c.rules, d.Action, d.Reason(), c.want)
		}
	}
}
