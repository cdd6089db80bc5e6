package shell

import (
	"strings"
	"testing"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/internal/samples"
)

// wrappings are ways to run a command from within another.
var wrappings = []string{"%s", "(%s)", "{ %s; }", "! %s", "%s | cat", "ls | %s", "ls && %s", "ls || %s", "ls; %s", "ls & %s", "echo $(%s)", "echo `%s`",
	"cat <(%s)", "if %s; then ls; fi", "while %s; do ls; done", "for x in a; do %s; done", "case x in x) %s;; esac", "f() { %s; }; f",
	"sh -c '%s'", "bash -lc '%s'", "eval '%s'", "env %s", "sudo %s", "nohup %s", "timeout 5 %s", "time %s", "command %s", "exec %s", "nice -n 1 %s",
	"xargs %s", "find . -exec %s \\;", "watch '%s'", "parallel '%s' ::: a", "setsid %s", "stdbuf -o0 %s", "X=1 %s", "[[ -n $(%s) ]]", "cat <<E\n$(%s)\nE", "a=$(%s)",
	"until %s; do ls; done", "select x in a; do %s; done", "ls > >(%s)", "coproc %s", "trap '%s' EXIT", "flock f %s", "ionice -c3 %s", "doas %s", "busybox %s",
	"time -p %s", "env -S '%s'", "command -p %s", "exec -a x %s", "su -c '%s'", "script -qc '%s' /dev/null", "ssh h '%s'", "docker exec c %s", "kubectl exec p -- %s",
	"cmake -E env %s", "ssh-agent %s", "runuser -u u -- %s", "nix-shell --run '%s'", "git bisect run %s", "git submodule foreach '%s'", "find . -execdir %s \\;"}

// Wrapped in any construct, a denied command is never looser.
func TestWrappedDenyHolds(t *testing.T) {
	w := tempWorkspace(t)
	l := permission.Layers{Static: rules(t, `{"*":"allow","shell_exec":{"*":"allow","rm":"deny","rm *":"deny"}}`)}
	for _, outer := range wrappings {
		for _, inner := range wrappings {
			if strings.Contains(outer, "'") && strings.Contains(inner, "'") || strings.Contains(outer, "`") && strings.Contains(inner, "`") ||
				strings.Contains(inner, "\n") && outer != "%s" {
				continue
			}
			command := strings.Replace(outer, "%s", strings.Replace(inner, "%s", "rm x", 1), 1)
			values, err := Values(w, "shell_exec", command)
			if err != nil {
				t.Errorf("%q: %v", command, err)
				continue
			}
			// "sudo ls && rm x" is two commands, and "sudo {" no command at
			// all: what bash refuses or cannot know is asked about.
			if d := l.Decide(values); d.Action == permission.Allow {
				t.Errorf("%q: allowed", command)
			}
		}
	}
}

func FuzzValues(f *testing.F) {
	for _, s := range wrappings {
		f.Add(strings.Replace(s, "%s", "rm x", 1))
	}
	for _, v := range samples.Read[gateVector](f, "../../testdata/permission/bypass_sample.jsonl") {
		if v.Tool == "shell_exec" {
			f.Add(v.Args["command"])
		}
	}
	w := tempWorkspace(f)
	deny := permission.Layers{Static: rules(f, `{"*":"allow","shell_exec":{"*":"allow","rm":"deny","rm *":"deny"}}`)}
	f.Fuzz(func(t *testing.T, command string) {
		values, err := Values(w, "shell_exec", command)
		if err != nil {
			return
		}
		if (&permission.Layers{}).Decide(values).Action == permission.Allow {
			t.Errorf("%q: allowed without rules", command)
		}
		if deny.Decide(values).Action != permission.Deny {
			return
		}
		wraps := []string{"%s\n", "(%s\n)", "{ %s\n}", "echo $(%s\n)", "if %s\nthen :; fi", "while %s\ndo :; done", "for x in a; do %s\ndone",
			"case x in x) %s\n;; esac", "f() { %s\n}; f", "ls; %s\n", "a=$(%s\n)", "cat <(%s\n)"}
		if !strings.ContainsAny(command, "'") {
			wraps = append(wraps, "sh -c '%s'", "eval '%s'", "env -S '%s'", "su -c '%s'")
		}
		for _, wrap := range wraps {
			values, err := Values(w, "shell_exec", strings.Replace(wrap, "%s", command, 1))
			if err == nil && deny.Decide(values).Action == permission.Allow {
				t.Errorf("%q: denied by itself, allowed in %q", command, wrap)
			}
		}
	})
}

func BenchmarkValues(b *testing.B) {
	w := tempWorkspace(b)
	for _, command := range []string{"git status", "go test ./... 2>&1 | tail -20", "rm -rvf data", "cd src && cat x.go | grep -n TODO"} {
		b.Run(command, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Values(w, "shell_exec", command); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
