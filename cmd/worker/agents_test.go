package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentworker/worker/cmd/worker/internal/agents"
	"github.com/agentworker/worker/cmd/worker/internal/cli"
)

// TestListWatch changes a folder while its agents are watched.
func TestListWatch(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, ".agents", "agents", "reviewer.md")
	put := func(text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		// In one step, as editors do: half a file would be a snapshot of its own.
		if err := os.WriteFile(file+".tmp", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".tmp", file); err != nil {
			t.Fatal(err)
		}
	}
	put("---\ndescription: One.\n---\nWork.\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	p := newProgram(in, io.Discard, "HOME="+dir, "XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_CONFIG_HOME="+filepath.Join(dir, "config"))
	status := make(chan int, 1)
	go func() {
		status <- p.run(ctx, []string{"agents", "list", "--watch", "--json", "--dir", dir})
		in.Close()
	}()
	lines := bufio.NewReader(out)
	type document struct {
		Version                 uint64
		Added, Changed, Removed []string
		agents.Snapshot
	}
	next := func() document {
		t.Helper()
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		var doc document
		if err := json.Unmarshal(line, &doc); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return doc
	}
	if doc := next(); doc.Version != 1 || len(doc.Added) > 0 || len(doc.Agents) != 3 || doc.Folder != ".agents/agents" {
		t.Errorf("first document: %+v", doc)
	}
	put("---\ndescription: Two.\n---\nWork.\n")
	if doc := next(); doc.Version != 2 || !slices.Equal(doc.Changed, []string{"reviewer"}) || len(doc.Added)+len(doc.Removed) > 0 {
		t.Errorf("after a change: %+v", doc)
	}
	put("---\ndescription: Two.\npermission: {a: nope}\n---\nWork.\n")
	if doc := next(); !slices.Equal(doc.Changed, []string{"reviewer"}) || doc.Agents[2].State != "stale" || len(doc.Diagnostics) == 0 {
		t.Errorf("after a slip: %+v", doc)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if doc := next(); !slices.Equal(doc.Removed, []string{"reviewer"}) || len(doc.Agents) != 2 {
		t.Errorf("after the removal: %+v", doc)
	}
	cancel()
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Fatal(err)
	}
	if got := <-status; got != int(cli.Interrupted) {
		t.Errorf("exit status %d, want %d as of other commands that follow", got, cli.Interrupted)
	}
}
