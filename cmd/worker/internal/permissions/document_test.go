package permissions

import (
	"strings"
	"testing"

	"github.com/agentworker/worker/sandbox"
)

// TestPrintSandbox: what is shown of the network is what commands reach on this machine.
func TestPrintSandbox(t *testing.T) {
	for _, c := range []struct {
		doc  sandboxDocument
		want string
	}{
		{sandboxDocument{Plan: sandbox.Plan{Backend: sandbox.Namespaces}, Network: true}, "network\thosts that the rules"},
		{sandboxDocument{Plan: sandbox.Plan{Backend: sandbox.Namespaces}}, "network\tloopback only"},
		{sandboxDocument{Plan: sandbox.Plan{Backend: sandbox.Landlock}, Network: true}, "network\tnone"},
		{sandboxDocument{Plan: sandbox.Plan{NotHeld: []string{"the sandbox is switched off"}}}, "sandbox: none: the sandbox is switched off"},
	} {
		var out strings.Builder
		if printSandbox(&out, &c.doc); !strings.Contains(out.String(), c.want) {
			t.Errorf("%+v: %q, want %q", c.doc, out.String(), c.want)
		}
	}
}
