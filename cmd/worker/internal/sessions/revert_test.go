package sessions

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/internal/snapshot"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// changing is a workspace that a session and others change, and what is known of its files.
type changing struct {
	t        *testing.T
	dir      string
	tools    map[string]tool.Tool
	random   *rand.Rand
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

// text returns a text that no other file has had.
func (c *changing) text() string {
	c.n++
	return fmt.Sprintf("one\n%d\n", c.n)
}

// byTool has the session make a random call.
func (c *changing) byTool(step int) {
	name := changed[c.random.IntN(len(changed))]
	before := c.now()
	old, there := before[name]
	call, args := "write_file", map[string]any{"path": name, "content": c.text()}
	switch k := c.random.IntN(4); {
	case k == 1 && there:
		call, args = "edit_file", map[string]any{"path": name, "oldText": old, "newText": c.text()}
	case k == 2 && there:
		call, args = "apply_patch", map[string]any{"input": "*** Begin Patch\n*** Delete File: " + name + "\n*** End Patch"}
	case k == 3 && there:
		to := changed[c.random.IntN(len(changed))]
		call, args = "apply_patch", map[string]any{"input": fmt.Sprintf("*** Begin Patch\n*** Update File: %s\n*** Move to: %s\n@@\n one\n+%d\n*** End Patch", name, to, c.n)}
	}
	raw, err := json.Marshal(args)
	if err != nil {
		c.t.Fatal(err)
	}
	values, err := c.tools[call].Values(raw)
	if err != nil {
		c.t.Fatal(err)
	}
	rules := &permission.Layers{Static: permission.MustRuleset(permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow})}
	_, _ = c.tools[call].Run(c.t.Context(), &tool.Call{SessionID: "ses", Step: step, Args: raw, Values: values, Rules: rules}) // it may refuse
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

// beside changes a file as an editor or a command does.
func (c *changing) beside() {
	name := changed[c.random.IntN(len(changed))]
	full := filepath.Join(c.dir, name)
	err := os.MkdirAll(filepath.Dir(full), 0o755)
	if _, there := c.now()[name]; there && c.random.IntN(4) == 0 {
		err = os.Remove(full)
	} else if err == nil {
		err = os.WriteFile(full, []byte(c.text()), 0o644)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// TestRevert: whatever a session and others do with files, undoing restores what the session has
// changed, and nothing else.
func TestRevert(t *testing.T) {
	rounds := 60
	if os.Getenv("WORKER_TEST_LONG") != "" {
		rounds = 1000
	}
	conflicts := 0
	for seed := range rounds {
		conflicts += revertOnce(t, uint64(seed))
	}
	if conflicts == 0 {
		t.Error("others never came in between")
	}
}

func revertOnce(t *testing.T, seed uint64) (conflicts int) {
	c := &changing{t: t, dir: t.TempDir(), tools: map[string]tool.Tool{}, random: rand.New(rand.NewPCG(seed, 1)), original: map[string]string{}, own: map[string]map[string]bool{}, others: map[string]bool{}}
	store := snapshot.New(filepath.Join(t.TempDir(), "snapshots"))
	ws, err := tool.OpenWorkspace(c.dir, &tool.Options{Keep: app.KeepIn(store)})
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
	for step := range 1 + c.random.IntN(10) {
		if c.random.IntN(4) == 0 {
			c.beside()
		} else {
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
			t.Fatalf("seed %d: %s has the conflict %q, and that is expected: %v", seed, f.Path, f.Conflict, wants)
		}
		if f.Conflict != "" {
			conflicts++
		}
	}
	for name := range c.original {
		if !known[name] {
			t.Fatalf("seed %d: nothing is kept of %s", seed, name)
		}
	}
	err = snapshot.Revert(files, false)
	if (err != nil) != (conflicts > 0) {
		t.Fatalf("seed %d: %v with %d conflicts", seed, err, conflicts)
	}
	if err != nil {
		if got := c.now(); !maps.Equal(got, want) {
			t.Fatalf("seed %d: a refused revert has made %q of %q", seed, got, want)
		}
		if err := snapshot.Revert(files, true); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	for name, was := range c.original {
		if delete(want, name); was != "" {
			want[name] = was
		}
	}
	if got := c.now(); !maps.Equal(got, want) {
		t.Fatalf("seed %d: undone it is %q, want %q; it was %q", seed, got, want, before)
	}
	return conflicts
}
