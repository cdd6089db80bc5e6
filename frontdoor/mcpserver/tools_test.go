package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/frontdoor/mcpserver"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

func TestList(t *testing.T) {
	e := newEnv(t, modelFunc(echo), 0, map[string]string{"aide.md": "---\ndescription: Helps with \"all\".\n---\n"})
	host := e.connect(t, nil)
	list, err := host.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if want := []string{"agents_list", "task", "task_background", "task_list", "task_result", "task_send", "task_stop", "task_wait"}; !slices.Equal(names, want) {
		t.Fatalf("tools %v, want %v", names, want)
	}
	task := list.Tools[1]
	if !strings.Contains(task.Description, "- aide: Helps with \"all\".\n") {
		t.Errorf("the text of task does not describe aide:\n%s", task.Description)
	}
	schema, err := json.Marshal(task.InputSchema)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Properties struct{ AgentType struct{ Enum []string } }
	}
	if err := json.Unmarshal(schema, &got); err != nil {
		t.Fatal(err)
	}
	if want := []string{"aide", "explore", "general"}; !slices.Equal(got.Properties.AgentType.Enum, want) {
		t.Errorf("enum %v, want %v", got.Properties.AgentType.Enum, want)
	}
	for _, tool := range list.Tools {
		a := tool.Annotations
		if a == nil || a.DestructiveHint == nil || *a.DestructiveHint || a.OpenWorldHint == nil || *a.OpenWorldHint {
			t.Errorf("%s: annotations %+v, want destructiveHint and openWorldHint false", tool.Name, a)
		}
		if want := !slices.Contains([]string{"task", "task_background", "task_send", "task_stop"}, tool.Name); a.ReadOnlyHint != want {
			t.Errorf("%s: readOnlyHint %v, want %v", tool.Name, a.ReadOnlyHint, want)
		}
	}
	if task.Meta["anthropic/alwaysLoad"] != true {
		t.Errorf("_meta %v lacks anthropic/alwaysLoad", task.Meta)
	}
	if len(e.records(t)) != 0 {
		t.Errorf("sessions %s before the first call, want none", e.statuses(t))
	}
}

func TestAgentsList(t *testing.T) {
	long := strings.Repeat("very ", 2000) + "long"
	e := newEnv(t, modelFunc(echo), 0, map[string]string{"aide.md": "---\ndescription: " + long + "\n---\n"})
	host := e.connect(t, nil)
	var agents []taskt.Agent
	for offset, pages := 0, 0; offset < 3; pages++ {
		res, err := host.CallTool(t.Context(), &mcp.CallToolParams{Name: "agents_list", Arguments: map[string]int{"offset": offset}})
		if err != nil || res.IsError || pages > 3 {
			t.Fatalf("%+v, %v", res, err)
		}
		var page struct {
			Agents            []taskt.Agent
			Total, NextOffset int
		}
		if err := json.Unmarshal([]byte(text(t, res)), &page); err != nil {
			t.Fatal(err)
		}
		agents = append(agents, page.Agents...)
		offset += len(page.Agents)
		if offset < 3 && (page.NextOffset != offset || page.Total != 3) || offset == 3 && page.NextOffset+page.Total != 0 {
			t.Errorf("after %d of 3 agents: %+v", offset, page)
		}
	}
	if len(agents) != 3 || agents[0].Name != "aide" || agents[0].Description != long {
		t.Errorf("agents %.300v", agents)
	}
	res, err := host.CallTool(t.Context(), &mcp.CallToolParams{Name: "agents_list", Arguments: map[string]int{"offset": 4}})
	if err != nil || !res.IsError {
		t.Errorf("offset 4: %+v, %v, want it refused", res, err)
	}
}

func TestCall(t *testing.T) {
	e := newEnv(t, modelFunc(echo), 0, nil)
	host := e.connect(t, nil)
	for i := range 2 {
		res, err := host.CallTool(t.Context(), call("explore", "question"))
		if err != nil {
			t.Fatal(err)
		}
		if want := "<task_result agent=\"explore\">\nanswer to question\n</task_result>"; text(t, res) != want || res.IsError {
			t.Errorf("call %d: %q (isError %v), want %q", i, text(t, res), res.IsError, want)
		}
		id, _ := res.Meta["sessionId"].(string)
		if _, hasUsage := res.Meta["usage"].(map[string]any); !hasUsage || res.Meta["status"] != "completed" || res.Meta["durationMs"] == nil {
			t.Errorf("call %d: _meta %v", i, res.Meta)
		}
		if !slices.ContainsFunc(e.records(t), func(r *record.Record) bool { return r.ID == id && r.Agent == "explore" && r.Description == "a test" }) {
			t.Errorf("call %d: there is no record of session %q", i, id)
		}
		if res.StructuredContent != nil {
			t.Errorf("call %d: structured content %v would hide the text in some hosts", i, res.StructuredContent)
		}
	}
	if got, want := e.statuses(t), "explore completed, explore completed, - running"; got != want {
		t.Errorf("sessions: %s, want %s", got, want)
	}
	if root := e.records(t)[2]; root.Description != "MCP host test-host 1.2.3" {
		t.Errorf("the root's description is %q", root.Description)
	}
}

func TestBadCalls(t *testing.T) {
	e := newEnv(t, modelFunc(echo), 0, map[string]string{"boss.md": "---\ndescription: Leads.\nmode: primary\n---\n"})
	host := e.connect(t, nil)
	tests := []struct {
		name string
		args any
		want string // in the text
	}{
		{"an unknown agent", map[string]any{"description": "d", "prompt": "p", "agentType": "nobody"}, "accepted: explore, general"},
		{"a primary agent", map[string]any{"description": "d", "prompt": "p", "agentType": "boss"}, "accepted: explore, general"},
		{"no agent", map[string]any{"description": "d", "prompt": "p"}, "lack agentType"},
		{"no prompt", map[string]any{"description": "d", "agentType": "explore"}, "lack a prompt"},
		{"no arguments", nil, "lack agentType"},
		{"a list", []string{"explore"}, "the arguments of task: "},
		{"a number for the prompt", map[string]any{"prompt": 1, "agentType": "explore"}, "the arguments of task: prompt has to be a text, not a number"},
		{"an unknown field", map[string]any{"prompt": "p", "agentType": "explore", "modle": "x"}, `unknown field "modle"`},
		{"2 MiB", map[string]any{"prompt": strings.Repeat("x", 2<<20), "agentType": "explore"}, "write long material to a file"},
		{"a name of 200 KB", map[string]any{"prompt": "p", "agentType": strings.Repeat("é", 100_000)}, "é…\"; accepted: explore, general"},
		{"a tag for a name", map[string]any{"prompt": "p", "agentType": "\"></task_error>"}, "accepted: explore, general"},
	}
	for _, tt := range tests {
		res, err := host.CallTool(t.Context(), &mcp.CallToolParams{Name: "task", Arguments: tt.args})
		if err != nil {
			t.Errorf("%s: %v, want a result that says what is wrong", tt.name, err)
			continue
		}
		got := text(t, res)
		if !res.IsError || !strings.HasPrefix(got, "<task_error agent=\"") || !strings.HasSuffix(got, "\n</task_error>") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %.300q (isError %v), want a <task_error> with %q", tt.name, got, res.IsError, tt.want)
		}
	}
	if _, err := host.CallTool(t.Context(), &mcp.CallToolParams{Name: "tusk"}); err == nil || !strings.Contains(err.Error(), "tusk") {
		t.Errorf("an unknown tool: %v, want an error that names it", err)
	}
	// The longest arguments there may be, of what grows most when it is stored.
	res, err := host.CallTool(t.Context(), call("explore", strings.Repeat("<", 1<<20-200)))
	if err != nil || res.IsError {
		t.Errorf("a prompt of 1 MiB: %v, %.300v", err, res)
	}
	if res, err = host.CallTool(t.Context(), call("explore", "still there?")); err != nil || res.IsError {
		t.Errorf("a good call after the bad ones: %v, %.300v", err, res)
	}
}

func TestFailure(t *testing.T) {
	m := func(context.Context, string, int) (model.Part, error) { return nil, fmt.Errorf("no model today") }
	e := newEnv(t, modelFunc(m), 0, nil)
	res, err := e.connect(t, nil).CallTool(t.Context(), call("explore", "p"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "<task_error agent=\"explore\">\nno model today\n</task_error>"; text(t, res) != want || !res.IsError || res.Meta["status"] != "failed" {
		t.Errorf("%q (isError %v, _meta %v), want %q", text(t, res), res.IsError, res.Meta, want)
	}
}

// TestParallel: each of two children answers once the other has begun.
func TestParallel(t *testing.T) {
	begun := map[string]chan struct{}{"a": make(chan struct{}), "b": make(chan struct{})}
	m := func(ctx context.Context, prompt string, _ int) (model.Part, error) {
		close(begun[prompt])
		for _, other := range begun {
			select {
			case <-other:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return model.TextDelta{Text: prompt}, nil
	}
	e := newEnv(t, modelFunc(m), 0, nil)
	host := e.connect(t, nil)
	var calls sync.WaitGroup
	for prompt := range begun {
		calls.Go(func() {
			res, err := host.CallTool(t.Context(), call("explore", prompt))
			if err != nil || !strings.Contains(text(t, res), "\n"+prompt+"\n") {
				t.Errorf("%s: %v, %v", prompt, res, err)
			}
		})
	}
	calls.Wait()
}

// TestManyCalls: a thousand at once are all answered, each with its own answer,
// below one root, and nothing of them is left.
func TestManyCalls(t *testing.T) {
	e := newEnv(t, modelFunc(echo), 0, nil)
	host := e.connect(t, nil)
	var calls sync.WaitGroup
	for i := range 1000 {
		calls.Go(func() {
			res, err := host.CallTool(t.Context(), call("explore", fmt.Sprint(i)))
			if err != nil {
				t.Error(err)
				return
			}
			if got, want := text(t, res), fmt.Sprintf("<task_result agent=\"explore\">\nanswer to %d\n</task_result>", i); got != want {
				t.Errorf("call %d: %q", i, got)
			}
		})
	}
	calls.Wait()
	roots := 0
	for _, r := range e.records(t) {
		if r.Depth == 0 {
			roots++
		}
	}
	if roots != 1 {
		t.Errorf("%d root sessions, want 1", roots)
	}
}

// TestHuge: arguments of 10 MiB are refused, for every tool, and cost nobody
// else anything.
func TestHuge(t *testing.T) {
	e := newEnv(t, modelFunc(echo), 0, nil)
	host, other := e.connect(t, nil), e.connect(t, nil)
	huge := strings.Repeat("x", 3<<20)
	for _, tt := range []struct {
		tool string
		args map[string]any
	}{
		{"task", map[string]any{"description": "d", "prompt": huge, "agentType": "explore"}},
		{"task", map[string]any{"description": "d", "prompt": "p", "agentType": huge}},
		{"task_wait", map[string]any{"sessionId": huge}},
		{"task_result", map[string]any{"sessionId": huge}},
		{"agents_list", map[string]any{"offset": huge}},
	} {
		var beside sync.WaitGroup
		beside.Go(func() {
			if res, err := other.CallTool(t.Context(), call("explore", "small")); err != nil || res.IsError {
				t.Errorf("%s: beside it %v, %v", tt.tool, err, res)
			}
		})
		res := callTool(t, host, tt.tool, tt.args)
		if got := text(t, res); !res.IsError || len(got) > 1000 || !strings.Contains(got, "write long material to a file") {
			t.Errorf("%s: %.300q (isError %v), want it refused", tt.tool, got, res.IsError)
		}
		beside.Wait()
	}
}

// TestReadOnly: the task tool is said to change nothing where that is true of
// every agent it offers, or it is configured; hosts learn when it changes.
func TestReadOnly(t *testing.T) {
	const looks = "---\ndescription: Looks.\npermission: {\"*\": deny, read_file: allow, grep: ask}\n---\n"
	const edits = "---\ndescription: Edits.\npermission: {\"*\": deny, read_file: allow, edit_file: {\"*.md\": allow}}\n---\n"
	hint := func(host *mcp.ClientSession) bool {
		t.Helper()
		list, err := host.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == "task" })
		return list.Tools[i].Annotations.ReadOnlyHint
	}
	for _, tt := range []struct {
		name       string
		files      map[string]string
		configured bool
		want       bool
	}{
		{"general", nil, false, false},
		{"general, configured", nil, true, true},
		{"all look", map[string]string{"general.md": looks}, false, true},
		{"one edits", map[string]string{"general.md": looks, "aide.md": edits}, false, false},
		{"one that is hidden edits", map[string]string{"general.md": looks, "aide.md": strings.Replace(edits, "---\n", "---\nhidden: true\n", 1)}, false, false},
		{"one that a host can't call edits", map[string]string{"general.md": looks, "aide.md": strings.Replace(edits, "---\n", "---\ncallers: explore\n", 1)}, false, true},
	} {
		e := setup{model: modelFunc(echo), files: tt.files, options: mcpserver.Options{ReadOnly: tt.configured}}.open(t)
		if got := hint(e.connect(t, nil)); got != tt.want {
			t.Errorf("%s: readOnlyHint %v, want %v", tt.name, got, tt.want)
		}
	}

	e := newEnv(t, modelFunc(echo), 0, map[string]string{"general.md": looks})
	told := make(chan struct{}, 100)
	host := e.connect(t, &mcp.ClientOptions{ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { told <- struct{}{} }})
	if !hint(host) {
		t.Error("readOnlyHint is false at first")
	}
	path := filepath.Join(e.dir, "general.md")
	changed := strings.Replace(looks, "grep: ask", "shell_exec: ask", 1)
	if err := errors.Join(os.WriteFile(path+".new", []byte(changed), 0o644), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
	<-told
	if hint(host) {
		t.Error("readOnlyHint is true after an agent was given the shell")
	}
}
