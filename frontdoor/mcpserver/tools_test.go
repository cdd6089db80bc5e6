package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt"
)

func TestList(t *testing.T) {
	e := newEnv(t, modelFunc(echo), 0, map[string]string{"aide.md": "---\ndescription: Helps with \"all\".\n---\n"})
	host := e.connect(t, nil)
	list, err := host.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != 2 || list.Tools[0].Name != "agents_list" || list.Tools[1].Name != "task" {
		t.Fatalf("tools %+v, want agents_list and task", list.Tools)
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
		if want := tool.Name == "agents_list"; a.ReadOnlyHint != want {
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
	res, err := host.CallTool(t.Context(), &mcp.CallToolParams{Name: "agents_list"})
	if err != nil || res.IsError {
		t.Fatalf("%+v, %v", res, err)
	}
	var agents []taskt.Agent
	if err := json.Unmarshal([]byte(text(t, res)), &agents); err != nil {
		t.Fatal(err)
	}
	if len(agents) != 3 || agents[0].Name != "aide" || agents[0].Description != long {
		t.Errorf("agents %.300v", agents)
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
		if !slices.ContainsFunc(e.records(t), func(r *session.Record) bool { return r.ID == id && r.Agent == "explore" && r.Description == "a test" }) {
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
		{"a number for the prompt", map[string]any{"prompt": 1, "agentType": "explore"}, "prompt"},
		{"an unknown field", map[string]any{"prompt": "p", "agentType": "explore", "modle": "x"}, `unknown field "modle"`},
		{"2 MiB", map[string]any{"prompt": strings.Repeat("x", 2<<20), "agentType": "explore"}, "write long material to a file"},
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

// TestManyCalls: a hundred at once are all answered, each with its own answer,
// below one root.
func TestManyCalls(t *testing.T) {
	e := newEnv(t, modelFunc(echo), 0, nil)
	host := e.connect(t, nil)
	var calls sync.WaitGroup
	for i := range 100 {
		calls.Go(func() {
			res, err := host.CallTool(t.Context(), call("explore", fmt.Sprint(i)))
			if err != nil || text(t, res) != fmt.Sprintf("<task_result agent=\"explore\">\nanswer to %d\n</task_result>", i) {
				t.Errorf("call %d: %v, %v", i, res, err)
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
