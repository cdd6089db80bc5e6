package acpserver_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/frontdoor/acpserver"
)

const script = `
{"match": {"system": "You give a piece of work a title"}, "text": "Some work", "repeat": true}
{"match": {"user": "work"}, "reasoning": "Let me see.", "text": "I ask. ", "toolCalls": [
  {"id": "c1", "name": "todo", "arguments": {"items": [{"text": "one", "status": "done"}, {"text": "two", "status": "in_progress"}]}},
  {"id": "c2", "name": "task", "arguments": {"description": "look", "prompt": "child", "agentType": "explore"}},
  {"id": "c3", "name": "no_such_tool", "arguments": {}}]}
{"match": {"user": "child"}, "text": "It is here."}
{"match": {"user": "work"}, "text": "Done."}
{"match": {"user": "long"}, "text": "I am", "hang": true}
{"match": {"user": "cut"}, "text": "too much", "stop": "max_tokens"}
{"match": {"user": "refuse"}, "text": "no", "stop": "refusal"}
{"match": {"user": "break"}, "error": {"kind": "invalid", "message": "it broke"}}
{"match": {"user": "again"}, "text": "I remember."}
`

// TestTurns: what a turn does is shown before it is answered, its end as the protocol
// says it. Another connection
// lists the conversation, loads it with the same updates, and continues it.
func TestTurns(t *testing.T) {
	e := newEnv(t, play(t, script))
	c := e.editor(acpserver.Options{})
	id := c.begin()
	if reason, err := c.prompt(id, "work"); reason != acp.StopReasonEndTurn || err != nil {
		t.Errorf("work: %q, %v", reason, err)
	}
	live := c.shown()
	if !strings.HasPrefix(live, "thought: Let me see.\nagent: I ask. \n") || !strings.HasSuffix(live, "\nagent: Done.") {
		t.Errorf("shown:\n%s", live)
	}
	for _, want := range []string{"call: task explore look, think", "plan: one completed, two in_progress", "c3: failed", `c2: completed "` + "```" + `\n<task_result agent=\"explore\">\nIt is here.\n</task_result>\n` + "```" + `"`} {
		if !strings.Contains(live, want) {
			t.Errorf("it lacks %q:\n%s", want, live)
		}
	}
	for text, want := range map[string]acp.StopReason{"cut": acp.StopReasonMaxTokens, "refuse": acp.StopReasonRefusal} {
		if reason, err := c.prompt(id, text); reason != want || err != nil {
			t.Errorf("%s: %q, %v", text, reason, err)
		}
	}
	if _, err := c.prompt(id, "break"); err == nil || !strings.Contains(err.Error(), "it broke") {
		t.Errorf("break: %v", err)
	}
	c.shown()
	stopped := make(chan acp.StopReason, 1)
	go func() {
		reason, _ := c.prompt(id, "long") // an error: the reason is empty
		stopped <- reason
	}()
	c.sees("agent: I am")
	if _, err := c.prompt(id, "again"); err == nil || !strings.Contains(err.Error(), "a turn of this session runs") {
		t.Errorf("a second prompt: %v", err)
	}
	if err := c.Cancel(t.Context(), acp.CancelNotification{SessionId: id}); err != nil {
		t.Error(err)
	}
	if reason := <-stopped; reason != acp.StopReasonCancelled {
		t.Errorf("cancelled: %q", reason)
	}
	c.end()

	c = e.editor(acpserver.Options{})
	list, err := c.ListSessions(t.Context(), acp.ListSessionsRequest{Cwd: &e.Root})
	if err != nil || len(list.Sessions) != 1 || list.Sessions[0].SessionId != id || *list.Sessions[0].Title != "Some work" {
		t.Errorf("list: %+v, %v", list, err)
	}
	load := func() {
		t.Helper()
		if _, err := c.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: id, Cwd: e.Root, McpServers: []acp.McpServer{}}); err != nil {
			t.Fatal(err)
		}
	}
	load()
	replayed := c.shown()
	const before = "user: work\nthought: Let me see.\nagent: I ask. \nplan: one completed, two in_progress\ncall: task explore look, think\ncall: no_such_tool, other\n"
	if !strings.HasPrefix(replayed, before) || !strings.Contains(replayed, "\nuser: cut\nagent: too much") {
		t.Errorf("replayed:\n%s", replayed)
	}
	if reason, err := c.prompt(id, "again"); reason != acp.StopReasonEndTurn || err != nil {
		t.Errorf("again: %q, %v", reason, err)
	}
	c.shown()
	load() // one that is open
	if again := c.shown(); !strings.HasPrefix(again, replayed) || !strings.HasSuffix(again, "user: again\nagent: I remember.") {
		t.Errorf("replayed again:\n%s", again)
	}
	if _, err := c.CloseSession(t.Context(), acp.CloseSessionRequest{SessionId: id}); err != nil {
		t.Error(err)
	}
	if _, err := c.prompt(id, "again"); err == nil || !strings.Contains(err.Error(), "no such session") {
		t.Errorf("a session that was closed: %v", err)
	}
	if _, err := c.ResumeSession(t.Context(), acp.ResumeSessionRequest{SessionId: id, Cwd: e.Root}); err != nil {
		t.Error(err)
	}
	if list, err := c.ListSessions(t.Context(), acp.ListSessionsRequest{}); err != nil || len(list.Sessions) != 1 || list.Sessions[0].SessionId != id {
		t.Errorf("list of a session with two runs: %+v, %v", list, err)
	}
}

// TestRefusals: an error says what to do instead.
func TestRefusals(t *testing.T) {
	e := newEnv(t, play(t, `{"text": "x"}`))
	c := e.editor(acpserver.Options{CheckModel: func(string) error { return errors.New("there is no such model") }})
	server := acp.McpServer{Stdio: &acp.McpServerStdio{Name: "m", Command: "m", Args: []string{}, Env: []acp.EnvVariable{}}}
	brings := func(s acp.McpServer) acp.NewSessionRequest {
		return acp.NewSessionRequest{Cwd: e.Root, McpServers: []acp.McpServer{s}}
	}
	for _, tt := range []struct {
		req  acp.NewSessionRequest
		says string
	}{
		{acp.NewSessionRequest{Cwd: t.TempDir(), McpServers: []acp.McpServer{}}, "is outside of the workspace"},
		{acp.NewSessionRequest{Cwd: "x", McpServers: []acp.McpServer{}}, "is not absolute"},
		{acp.NewSessionRequest{Cwd: e.Root + "/none", McpServers: []acp.McpServer{}}, "no such file"},
		{brings(acp.McpServer{Stdio: &acp.McpServerStdio{Name: "m", Args: []string{}, Env: []acp.EnvVariable{}}}), "the server m has no command"},
		{brings(acp.McpServer{Stdio: &acp.McpServerStdio{Name: "m", Command: "m", Args: []string{}, Env: []acp.EnvVariable{{Name: "A=B"}}}}), "can't be a variable"},
		{brings(acp.McpServer{Stdio: &acp.McpServerStdio{Command: "m", Args: []string{}, Env: []acp.EnvVariable{}}}), "has no name"},
		{brings(acp.McpServer{Http: &acp.McpServerHttpInline{Name: "m", Type: "http", Url: "http://example.com", Headers: []acp.HttpHeader{}}}), "is called by https"},
		{brings(acp.McpServer{Sse: &acp.McpServerSseInline{Name: "m", Type: "sse", Url: "https://example.com", Headers: []acp.HttpHeader{{Name: "X", Value: "a\r\nb"}}}}), "can't be a header"},
		{acp.NewSessionRequest{Cwd: e.Root, McpServers: slices.Repeat([]acp.McpServer{server}, 51)}, "a session may have 50"},
		{acp.NewSessionRequest{Cwd: e.Root, McpServers: []acp.McpServer{}, AdditionalDirectories: []string{"/x"}}, "one workspace"},
	} {
		if _, err := c.NewSession(t.Context(), tt.req); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%+v: %v, want %q", tt.req, err, tt.says)
		}
	}
	id := c.begin()
	option := func(config, value string) acp.SetSessionConfigOptionRequest {
		return acp.SetSessionConfigOptionRequest{ValueId: &acp.SetSessionConfigOptionValueId{SessionId: id, ConfigId: acp.SessionConfigId(config), Value: acp.SessionConfigValueId(value)}}
	}
	for says, do := range map[string]func() error{
		"binary data": func() error {
			_, err := c.Prompt(t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.AudioBlock("", "audio/wav")}})
			return err
		},
		"it has no text": func() error { _, err := c.prompt(id, " "); return err },
		"no such session": func() error {
			_, err := c.LoadSession(t.Context(), acp.LoadSessionRequest{SessionId: "ses_none", Cwd: e.Root, McpServers: []acp.McpServer{}})
			return err
		},
		`no primary agent \"explore\"`: func() error {
			_, err := c.SetSessionMode(t.Context(), acp.SetSessionModeRequest{SessionId: id, ModeId: "explore"})
			return err
		},
		"no such model": func() error { _, err := c.SetSessionConfigOption(t.Context(), option("model", "x")); return err },
		"no option":     func() error { _, err := c.SetSessionConfigOption(t.Context(), option("x", "x")); return err },
		"Method not found": func() error {
			_, err := c.UnstableForkSession(t.Context(), acp.UnstableForkSessionRequest{SessionId: id, Cwd: e.Root})
			return err
		},
	} {
		if err := do(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	tolerant := e.editor(acpserver.Options{IgnoreMCP: true})
	if _, err := tolerant.NewSession(t.Context(), acp.NewSessionRequest{Cwd: e.Root, McpServers: []acp.McpServer{server}}); err != nil {
		t.Error(err)
	}
}
