package permission

import "testing"

// What bash reads otherwise than the parser does: each of these runs rm, as
// bash 5.2 has shown, in a line that seems to run something else.
func TestReadAsBash(t *testing.T) {
	w := tempWorkspace(t)
	set := rules(t, `{"shell_exec": {"*": "allow", "rm": "deny", "rm *": "deny"}}`)
	for _, c := range []struct {
		command string
		want    Action
	}{
		{"ls #\\\nrm x", Deny}, // a comment does not go on in the next line
		{"ls # a\\\nrm x", Deny},
		{"echo $(ls #\\\nrm x\n)", Deny},
		{"echo `ls #\\\nrm x\n`", Deny},
		{"if true #\\\nthen rm x\nfi", Ask},
		{"case a in #\\\na) rm x;; esac", Deny},
		{"x=(#\\\na); rm x", Deny},
		{"ls \r# ; rm x", Deny}, // a carriage return is no blank
		{"ls \\\r\nrm x", Deny},
		{`echo "${x:-'$(rm x)'}"`, Deny}, // no quotes within double quotes
		{"echo \"${x:-'`rm x`'}\"", Deny},
		{"cat - <<E\n${x:-'$(rm x)'}\nE", Deny},
		{"cat - <<E\n${x:-'}\nE\nrm x\ncat - <<E\n'}\nE", Deny},
		{`echo "${x:-$'$(rm x)'}"`, Deny},
		{`echo "${x+'}"; rm x; echo "'}"`, Deny},
		{`>()rm x`, Deny}, // an empty process substitution leaves nothing
		{`>(ls)rm x`, Ask},
		{"echo 'rm x' | xargs -I{} sh -c {}", Ask},
		{"echo rm | xargs -I% % x", Ask},
		{"echo rm | xargs --replace=R R x", Ask},
		{"parallel 'sh -c {}' ::: 'rm x'", Ask},
		{"ls | ifne rm x", Ask}, // a program nobody knows, that may run its operands
		{"s6-setuidgid root /bin/rm x", Ask},
		{"flatpak run --command=rm x", Ask},
		{"sem --fg 'rm x'", Ask},
		{"run-parts x", Ask},
		{"cmake -P x.cmake", Ask},
		{"rpm --eval '%(rm x)'", Ask},
		{"GIT_PAGER='rm x' git log", Deny},
		{"GIT_PAGER=rm git log", Ask},
		{"GOFLAGS=-toolexec=rm go build", Ask},

		{"git commit -m 'fix #12' \\\n  -m x", Allow},
		{"ls # a \\ b\npwd", Allow},
		{"ls '#\\\n'", Allow},
		{`echo "${x:-'a b'}"`, Allow},
		{`echo "${x:-$(echo '$y')}"`, Allow},
		{"ls <(pwd)", Allow},
		{"mytool build src", Allow},
		{"GIT_PAGER=cat git log", Allow},
		{"GOFLAGS='-mod=mod -count=1' go test ./...", Allow},
		{"export GIT_TERMINAL_PROMPT=0; git fetch", Allow},
	} {
		if d := decideShell(t, w, set, c.command); d.Action != c.want {
			t.Errorf("%q: got %v (%s), want %v", c.command, d.Action, d.Reason(), c.want)
		}
	}
	// Under rules of its own, without one for rm, such a line is not allowed either.
	narrow := rules(t, `{"shell_exec": {"ls *": "allow", "echo *": "allow", "cat *": "allow"}}`)
	for _, command := range []string{"ls #\\\nrm x", "ls \r# ; rm x", "ls \\\r\nrm x", `echo "${x:-'$(rm x)'}"`, "cat - <<E\n${x:-'$(rm x)'}\nE"} {
		if d := decideShell(t, w, narrow, command); d.Action == Allow {
			t.Errorf("%q is allowed", command)
		}
	}
}

// Git is not asked about files that its words leave alone.
func TestGitNames(t *testing.T) {
	w := gitWorkspace(t, "git add -f .")
	set := rules(t, wideRules)
	for _, c := range []struct {
		command string
		want    Action
	}{
		{"git mv src/main.go src/a.go", Allow},
		{"git rm README.md", Allow},
		{"git rm -r conf", Ask},
		{"git mv conf other", Ask},
		{"git restore README.md", Allow},
		{"git restore --staged .", Allow},
		{"git restore --staged --worktree .", Ask},
		{"git restore -SW .", Ask},
		{"git restore .", Ask},
		{"git restore .env", Deny},
		{"git apply --check x.patch", Allow},
		{"git apply --check --apply x.patch", Ask},
		{"git apply x.patch", Ask},
	} {
		if d := decideShell(t, w, set, c.command); d.Action != c.want {
			t.Errorf("%q: got %v (%s), want %v", c.command, d.Action, d.Reason(), c.want)
		}
	}
}
