package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// allowAll are rules that allow everything.
var allowAll = &permission.Layers{Static: permission.MustRuleset(permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow})}

// layersOf are layers whose static rules are a text.
func layersOf(t testing.TB, text string) *permission.Layers {
	t.Helper()
	rules, err := permission.ParseJSON([]byte(text), "permissions.jsonc", nil)
	if err != nil {
		t.Fatal(err)
	}
	return &permission.Layers{Static: rules}
}

// place is a workspace in a folder of its own.
type place struct {
	t     testing.TB
	dir   string
	tools map[string]tool.Tool
}

// newPlace opens a workspace with files, given as path and content; a content
// of "-> x" makes a symbolic link to x. The workspace is a folder inside the
// temporary one, so that a test can put things beside it.
func newPlace(t testing.TB, opts *tool.Options, files map[string]string) *place {
	t.Helper()
	p := &place{t: t, dir: filepath.Join(realTempDir(t), "ws"), tools: map[string]tool.Tool{}}
	if err := os.Mkdir(p.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		p.put(name, content)
	}
	ws, err := tool.OpenWorkspace(p.dir, opts)
	if err != nil {
		t.Fatalf("OpenWorkspace(%s): %v", p.dir, err)
	}
	t.Cleanup(func() { ws.Close() })
	for _, b := range tool.Builtin(ws) {
		p.tools[b.Spec().Name] = b
	}
	return p
}

func realTempDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func (p *place) put(name, content string) {
	p.t.Helper()
	full := filepath.Join(p.dir, name)
	err := os.MkdirAll(filepath.Dir(full), 0o755)
	if target, isLink := strings.CutPrefix(content, "-> "); err == nil && isLink {
		err = os.Symlink(target, full)
	} else if err == nil {
		err = os.WriteFile(full, []byte(content), 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) read(name string) string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.dir, name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

type args map[string]any

// call runs a tool and returns its result; an error comes as a result.
func (p *place) call(name string, a args) tool.Result {
	return p.callWith(p.t.Context(), name, a, nil)
}

func (p *place) callWith(ctx context.Context, name string, a args, readable func(string) bool) tool.Result {
	p.t.Helper()
	if a == nil {
		a = args{} // not null
	}
	raw, err := json.Marshal(a)
	if err != nil {
		p.t.Fatal(err)
	}
	values, _ := p.tools[name].Values(raw) // what is wrong with them, Run says too
	r, err := p.tools[name].Run(ctx, &tool.Call{SessionID: "ses", Args: raw, Values: values, Rules: allowAll, Readable: readable})
	if err != nil {
		return tool.Errorf("%v", err)
	}
	return r
}

// text returns the text of a call that must succeed.
func (p *place) text(name string, a args) string {
	p.t.Helper()
	r := p.call(name, a)
	if r.IsError {
		p.t.Fatalf("%s(%v): %s", name, a, r.Text)
	}
	return r.Text
}

// fails checks that a call fails with a text that contains want.
func (p *place) fails(name string, a args, want string) {
	p.t.Helper()
	r := p.call(name, a)
	if !r.IsError || !strings.Contains(r.Text, want) {
		p.t.Errorf("%s(%v): got error=%v %q, want an error with %q", name, a, r.IsError, r.Text, want)
	}
}

// numbered returns n lines, "line 1" and so on.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

func lines(s ...string) string { return strings.Join(s, "\n") }
