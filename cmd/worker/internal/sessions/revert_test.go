package sessions

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/internal/snapshot"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
	"github.com/agentworker/worker/tool"
)

// changing is a workspace that a session and others change, and what is known of its files.
type changing struct {
	t        *rapid.T
	dir      string
	tools    map[string]tool.Tool
	n        int
	original map[string]string          // of the files that the session has changed, before; "" means there was none
	own      map[string]map[string]bool // by the file: its states that the session has found first, or made
	others   map[string]bool            // the session has found it as it never was
}

var changed = []string{"a", "b", "dir/c"}

// now returns what the files hold; a file that is not there has no entry.
func (c *changing) now() map[string]string {
	all := map[string]string{}
	for _, name := range changed {
		if data, err := os.ReadFile(filepath.Join(c.dir, name)); err == nil {
			all[name] = string(data)
		}
	}
	return all
}

// one draws one of the files.
func (c *changing) one() string { return rapid.SampledFrom(changed).Draw(c.t, "file") }

// below draws a number from 0 to n-1.
func (c *changing) below(n int, what string) int { return rapid.IntRange(0, n-1).Draw(c.t, what) }

// text returns a text that no other file has had.
func (c *changing) text() string {
	c.n++
	return fmt.Sprintf("one\n%d\n", c.n)
}

// byTool has the session make a random call.
func (c *changing) byTool(step int) {
	name := c.one()
	before := c.now()
	old, there := before[name]
	call, args := "write_file", map[string]any{"path": name, "content": c.text()}
	switch k := c.below(4, "tool"); {
	case k == 1 && there:
		call, args = "edit_file", map[string]any{"path": name, "oldText": old, "newText": c.text()}
	case k == 2 && there:
		call, args = "apply_patch", map[string]any{"input": "*** Begin Patch\n*** Delete File: " + name + "\n*** End Patch"}
	case k == 3 && there:
		to := c.one()
		call, args = "apply_patch", map[string]any{"input": fmt.Sprintf("*** Begin Patch\n*** Update File: %s\n*** Move to: %s\n@@\n one\n+%d\n*** End Patch", name, to, c.n)}
	}
	c.call(step, call, args) // it may refuse
	after := c.now()
	for _, name := range changed {
		if after[name] == before[name] {
			continue
		}
		if _, known := c.original[name]; !known {
			c.original[name], c.own[name] = before[name], map[string]bool{before[name]: true}
		}
		if !c.own[name][before[name]] {
			c.others[name] = true
		}
		c.own[name][after[name]] = true
	}
}

// call has the session make a call.
func (c *changing) call(step int, name string, args map[string]any) string {
	raw, err := json.Marshal(args)
	if err != nil {
		c.t.Fatal(err)
	}
	values, err := c.tools[name].Values(raw)
	if err != nil {
		c.t.Fatal(err)
	}
	rules := &permission.Layers{Static: permission.MustRuleset(permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow})}
	result, err := c.tools[name].Run(c.t.Context(), &tool.Call{SessionID: "ses", Step: step, Args: raw, Values: values, Rules: rules})
	return fmt.Sprint(result.Text, err)
}

// byCommand changes a file by a command of the session, of which nothing is kept.
func (c *changing) byCommand(step int) {
	name, before := c.one(), c.now()
	command := fmt.Sprintf("mkdir -p dir && echo %d >>%s", c.n, name)
	if c.n++; before[name] != "" && c.below(3, "command") == 0 {
		command = "rm " + name
	}
	said := c.call(step, "shell_exec", map[string]any{"command": command})
	if maps.Equal(before, c.now()) {
		c.t.Fatalf("%s has changed nothing: %s", command, said)
	}
}

// beside changes a file as an editor does.
func (c *changing) beside() {
	name := c.one()
	full := filepath.Join(c.dir, name)
	err := os.MkdirAll(filepath.Dir(full), 0o755)
	if _, there := c.now()[name]; there && c.below(4, "removed") == 0 {
		err = os.Remove(full)
	} else if err == nil {
		err = os.WriteFile(full, []byte(c.text()), 0o644)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// TestRevert: whatever a session does by tools and commands, and an editor beside it, undoing
// restores what the tools of the session have changed, and nothing else.
func TestRevert(t *testing.T) {
	rounds := 1 // of 100
	if os.Getenv("WORKER_TEST_LONG") != "" {
		rounds = 10
	}
	conflicts := 0
	for range rounds {
		rapid.Check(t, func(t *rapid.T) { conflicts += revertOnce(t) })
	}
	if conflicts == 0 {
		t.Error("others never came in between")
	}
}

func revertOnce(t *rapid.T) (conflicts int) {
	temp, err := os.MkdirTemp("", "revert-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(temp)
	c := &changing{t: t, dir: filepath.Join(temp, "work"), tools: map[string]tool.Tool{}, original: map[string]string{}, own: map[string]map[string]bool{}, others: map[string]bool{}}
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	store := snapshot.New(filepath.Join(temp, "snapshots"))
	ws, err := tool.OpenWorkspace(c.dir, &tool.Options{Keep: app.KeepIn(store), Shell: tool.DefaultShell(), Sandbox: tool.SandboxOptions{Mode: sandbox.Off}})
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for _, b := range tool.Builtin(ws) {
		c.tools[b.Spec().Name] = b
	}
	for range 2 {
		c.beside()
	}
	for step := range 1 + c.below(10, "steps") {
		switch c.below(8, "who") {
		case 0, 1:
			c.beside()
		case 2:
			c.byCommand(step + 1)
		default:
			c.byTool(step + 1)
		}
	}
	files, err := store.Files("ses", -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := c.now()
	want := maps.Clone(before)
	known := map[string]bool{}
	for _, f := range files {
		known[f.Path] = true
		if wants := (c.others[f.Path] || !c.own[f.Path][before[f.Path]]) && !f.Undone(); (f.Conflict != "") != wants {
			t.Fatalf("%s has the conflict %q, and that is expected: %v", f.Path, f.Conflict, wants)
		}
		if f.Conflict != "" {
			conflicts++
		}
	}
	for name := range c.original {
		if !known[name] {
			t.Fatalf("nothing is kept of %s", name)
		}
	}
	err = snapshot.Revert(files, false)
	if (err != nil) != (conflicts > 0) {
		t.Fatalf("%v with %d conflicts", err, conflicts)
	}
	if err != nil {
		if got := c.now(); !maps.Equal(got, want) {
			t.Fatalf("a refused revert has made %q of %q", got, want)
		}
		if err := snapshot.Revert(files, true); err != nil {
			t.Fatalf("%v", err)
		}
	}
	for name, was := range c.original {
		if delete(want, name); was != "" {
			want[name] = was
		}
	}
	if got := c.now(); !maps.Equal(got, want) {
		t.Fatalf("undone it is %q, want %q; it was %q", got, want, before)
	}
	return conflicts
}
