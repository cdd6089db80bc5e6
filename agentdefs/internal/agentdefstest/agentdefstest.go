// Package agentdefstest helps tests of agent files: it loads workspaces and
// writes what came out of them in short.
package agentdefstest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/permission"
)

// Load loads a workspace that holds files, by their paths.
func Load(t testing.TB, files map[string]string, opts *agentdefs.Options) *agentdefs.Snapshot {
	t.Helper()
	root := t.TempDir()
	Write(t, root, files)
	s, err := agentdefs.Load(root, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Write writes files below root, by their paths.
func Write(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// Codes returns the codes of the diagnostics of s.
func Codes(s *agentdefs.Snapshot) []string {
	var codes []string
	for _, d := range s.Diagnostics() {
		codes = append(codes, d.Code)
	}
	return codes
}

// Names returns the names of definitions.
func Names(ds []*agentdefs.Definition) []string {
	var out []string
	for _, d := range ds {
		out = append(out, d.Name)
	}
	return out
}

// Rules writes the rules of d as "tool action" or "tool(pattern) action".
func Rules(d *agentdefs.Definition) string {
	var out []string
	for r := range d.Permission.Rules() {
		s := r.Tool
		if r.Pattern != "*" {
			s += "(" + r.Pattern + ")"
		}
		out = append(out, s+" "+map[permission.Action]string{permission.Allow: "allow", permission.Ask: "ask", permission.Deny: "deny"}[r.Action])
	}
	return strings.Join(out, "; ")
}

// Plain is an agent file with nothing but what it must have.
const Plain = "---\ndescription: Does it.\n---\nWork well.\n"
