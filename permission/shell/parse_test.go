package shell

import (
	"testing"

	"github.com/agentworker/worker/permission"
)

// What bash reads otherwise than the parser does: each of these runs rm, as
// bash 5.2 has shown, in a line that seems to run something else.
func TestReadAsBash(t *testing.T) {
	w := tempWorkspace(t)
	set := rules(t, `{"shell_exec": {"*": "allow", "rm": "deny", "rm *": "deny"}}`)
	for _, c := range []struct {
		command string
		want    permission.Action
	}{
		{"ls #\\\nrm x", permission.Ask}, // a comment does not go on in the next line
		{"ls # a\\\nrm x", permission.Ask},
		{"echo $(ls #\\\nrm x\n)", permission.Ask},
		{"echo `ls #\\\nrm x\n`", permission.Ask},
		{"if true #\\\nthen rm x\nfi", permission.Ask},
		{"case a in #\\\na) rm x;; esac", permission.Deny},
		{"x=(#\\\na); rm x", permission.Deny},
		{"ls \r# ; rm x", permission.Ask}, // a carriage return is no blank
		{"ls \\\r\nrm x", permission.Ask},
		{`echo "${x:-'$(rm x)'}"`, permission.Ask}, // no quotes within double quotes
		{"echo \"${x:-'`rm x`'}\"", permission.Ask},
		{"cat - <<E\n${x:-'$(rm x)'}\nE", permission.Ask},
		{"cat - <<E\n${x:-'}\nE\nrm x\ncat - <<E\n'}\nE", permission.Ask},
		{`echo "${x:-$'$(rm x)'}"`, permission.Ask},
		{`echo "${x+'}"; rm x; echo "'}"`, permission.Ask},
		{`>()rm x`, permission.Ask}, // an empty process substitution leaves nothing
		{`>(ls)rm x`, permission.Ask},
		{"echo 'rm x' | xargs -I{} sh -c {}", permission.Ask},
		{"echo rm | xargs -I% % x", permission.Ask},
		{"echo rm | xargs --replace=R R x", permission.Ask},
		{"parallel 'sh -c {}' ::: 'rm x'", permission.Deny},
		{"ls | ifne rm x", permission.Ask}, // a program nobody knows, that may run its operands
		{"s6-setuidgid root /bin/rm x", permission.Ask},
		{"flatpak run --command=rm x", permission.Ask},
		{"sem --fg 'rm x'", permission.Ask},
		{"run-parts x", permission.Ask},
		{"cmake -P x.cmake", permission.Ask},
		{"rpm --eval '%(rm x)'", permission.Ask},
		{"GIT_PAGER='rm x' git log", permission.Deny},
		{"GIT_PAGER=rm git log", permission.Ask},
		{"GOFLAGS=-toolexec=rm go build", permission.Ask},

		{"git commit -m 'fix #12' \\\n  -m x", permission.Allow},
		{"ls # a \\ b\npwd", permission.Allow},
		{"ls '#\\\n'", permission.Allow},
		{`echo "${x:-'a b'}"`, permission.Allow},
		{`echo "${x:-$(echo '$y')}"`, permission.Allow},
		{"ls <(pwd)", permission.Allow},
		{"mytool build src", permission.Allow},
		{"GIT_PAGER=cat git log", permission.Allow},
		{"GOFLAGS='-mod=mod -count=1' go test ./...", permission.Allow},
		{"export GIT_TERMINAL_PROMPT=0; git fetch", permission.Allow},
	} {
		if d := decideShell(t, w, set, true, c.command); d.Action != c.want {
			t.Errorf("%q: got %v (%s), want %v", c.command, d.Action, d.Reason(), c.want)
		}
	}
	// Under rules of its own, without one for rm, such a line is not allowed either.
	narrow := rules(t, `{"shell_exec": {"ls *": "allow", "echo *": "allow", "cat *": "allow"}}`)
	for _, command := range []string{"ls #\\\nrm x", "ls \r# ; rm x", "ls \\\r\nrm x", `echo "${x:-'$(rm x)'}"`, "cat - <<E\n${x:-'$(rm x)'}\nE"} {
		if d := decideShell(t, w, narrow, true, command); d.Action == permission.Allow {
			t.Errorf("%q is allowed", command)
		}
	}
}

// Git is asked about if it prints or copies the contents of files that its
// words do not exclude. What it writes, a sandbox holds.
func TestGitNames(t *testing.T) {
	w := gitWorkspace(t, "git add -f .")
	set := rules(t, wideRules)
	for _, c := range []struct {
		command string
		want    permission.Action
	}{
		{"git mv src/main.go src/a.go", permission.Allow},
		{"git rm README.md", permission.Allow},
		{"git rm -r conf", permission.Allow},
		{"git mv conf other", permission.Ask},
		{"git restore README.md", permission.Allow},
		{"git restore --staged .", permission.Allow},
		{"git restore --staged --worktree .", permission.Allow},
		{"git restore -p .", permission.Ask},
		{"git restore .env", permission.Deny},
		{"git apply --check x.patch", permission.Allow},
		{"git apply x.patch", permission.Allow},
	} {
		if d := decideShell(t, w, set, true, c.command); d.Action != c.want {
			t.Errorf("%q: got %v (%s), want %v", c.command, d.Action, d.Reason(), c.want)
		}
	}
}
