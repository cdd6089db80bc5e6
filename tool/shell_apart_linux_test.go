package tool_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool"
)

// apart are the ways in which a command sets a process apart from itself. Each
// says on descriptor 3 that it is there.
var apart = map[string]string{
	"job control":         `set -m; { echo there >&3; : >ready; sleep 10000; } &`,
	"session":             `setsid sh -c 'echo there >&3; : >ready; sleep 10000' &`,
	"double fork":         `(setsid sh -c '(echo there >&3; : >ready; sleep 10000) & exit' &)`,
	"deaf":                `(setsid sh -c 'trap "" HUP INT TERM; echo there >&3; : >ready; sleep 10000; sleep 10000' &)`,
	"parent that is gone": `setsid sh -c 'setsid sh -c "setsid sh -c \"echo there >&3; : >ready; sleep 10000\" & exit" & exit' &`,
}

// What sets itself apart ends with the command, however that ends, with a sandbox
// and without.
func TestShellApart(t *testing.T) {
	for _, mode := range modes {
		for name, command := range apart {
			t.Run(string(mode)+"/"+name, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t, &tool.Options{Sandbox: tool.SandboxOptions{Mode: mode}}, nil)
				w := p.witness(t)
				r := p.call("shell_exec", args{"command": "exec 3>witness; " + command + "\nuntil test -e ready; do sleep 0.01; done; echo out"})
				if r.IsError || !strings.HasSuffix(r.Text, "out\n(exit status 0)") {
					t.Errorf("%s: %+v", command, r)
				}
				w.gone()
			})
		}
	}
}

// The same where the command is cancelled.
func TestShellApartCancelled(t *testing.T) {
	for _, mode := range modes {
		for name, command := range apart {
			t.Run(string(mode)+"/"+name, func(t *testing.T) {
				t.Parallel()
				p := newPlace(t, &tool.Options{KillGrace: 50 * time.Millisecond, Sandbox: tool.SandboxOptions{Mode: mode}}, nil)
				w := p.witness(t)
				ctx, cancel := context.WithCancelCause(t.Context())
				done := make(chan tool.Result)
				go func() {
					done <- p.callWith(ctx, "shell_exec", args{"command": "exec 3>witness; " + command + "\ntrap '' TERM; sleep 10000; sleep 10000"}, nil)
				}()
				if line, err := readLine(w.r); line != "there" {
					t.Errorf("the command wrote %q (%v)", line, err)
				}
				cancel(errors.New("enough"))
				<-done
				w.gone()
			})
		}
	}
}

// Ending a command without a sandbox takes nothing else from it: sudo works.
func TestShellUnheldRights(t *testing.T) {
	for mode, want := range map[sandbox.Mode]string{sandbox.Off: "NoNewPrivs:\t0", sandbox.Auto: "NoNewPrivs:\t1"} {
		p := newPlace(t, &tool.Options{Sandbox: tool.SandboxOptions{Mode: mode}}, nil)
		if got := p.text("shell_exec", args{"command": "grep NoNewPrivs /proc/self/status"}); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %s", mode, got, want)
		}
	}
}
