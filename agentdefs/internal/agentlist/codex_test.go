package agentlist_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/agentlist"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
)

func read(data string) ([]agentlist.Entry, []diag.Diagnostic, bool) {
	p := &agentfile.Reader{Reporter: &diag.Reporter{File: ".codex/config.toml"}}
	entries, ok := agentlist.Read(p, dialect.CodexList, []byte(data))
	return entries, p.Found, ok
}

// TestCodexLines holds that each role has the line of its table.
func TestCodexLines(t *testing.T) {
	entries, found, ok := read("agents_max = 1\n# x\n[agents]\nmax_threads = 3\n[agents.one]\ndescription = \"x\"\n\n [ agents . \"two words\" ]\n[agents.'a]b']\n[agents.one-more]\n[agents.deep.er]\nx = 1\n")
	if !ok {
		t.Fatal(found)
	}
	got := map[string]int{}
	for _, e := range entries {
		got[e.Name] = e.Line
	}
	want := map[string]int{"one": 5, "two words": 8, "a]b": 9, "one-more": 10, "deep": 3}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("lines %v, want %v", got, want)
	}
}

// TestCodexHostile has files that take long if each name is looked for in the whole text.
func TestCodexHostile(t *testing.T) {
	var roles, names strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&roles, "[agents.a%d]\n", i)
		fmt.Fprintf(&names, "a%d = 1\n", i)
	}
	for name, data := range map[string]string{"roles": roles.String(), "names": names.String()} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			entries, found, ok := read(data)
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("%d bytes took %v", len(data), took)
			}
			if over := name == "roles"; ok == over || len(entries) > 0 || len(found) > 0 != over {
				t.Errorf("%d entries, %v, %v", len(entries), found, ok)
			}
		})
	}
}
