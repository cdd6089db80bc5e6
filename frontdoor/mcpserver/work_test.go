package mcpserver_test

import (
	"encoding/json"
	"testing"

	"github.com/agentworker/worker/session/record"
)

// TestWorkInMeta: beside the text a host gets what was done, as the tools tell it.
func TestWorkInMeta(t *testing.T) {
	e := setup{model: shell{}}.open(t)
	res := callTool(t, e.connectAs(t, "test-host", "2025-11-25", nil), "task", call("general", "echo hello").Arguments)
	data, err := json.Marshal(res.Meta["work"])
	var work record.Work
	if err == nil {
		err = json.Unmarshal(data, &work)
	}
	if err != nil || work.ToolCalls != 1 || work.Untold != 1 || work.Idle {
		t.Errorf("%s, %v", data, err)
	}
}
