package mcpclient_test

import (
	"encoding/json"
	"testing"

	"github.com/agentworker/worker/tool"
)

// TestPages: a large result is read page by page, and only by its own session.
func TestPages(t *testing.T) {
	p := newPlace(t, self("t"))
	large := p.call("mcp__t__large", "")
	p.wants(large, false, `(bytes 0 to 51200 of 2100000; tool_output {"id":"res_1","from":51200} reads on)`)
	read := func(session, args string) tool.Result {
		r, err := p.tools()["tool_output"].Run(t.Context(), &tool.Call{SessionID: session, Args: json.RawMessage(args)})
		if err != nil {
			return tool.Errorf("%v", err)
		}
		return r
	}
	p.wants(read("ses_1", `{"id":"res_1","from":51200}`), false, "(bytes 51200 to 102400 of 2100000; ")
	p.wants(read("ses_1", `{"id":"res_1","from":2099990}`), false, "(bytes 2099990 to 2100000 of 2100000: the end)")
	p.wants(read("ses_1", `{"id":"res_1","from":2100000}`), true, "has 2100000 bytes")
	p.wants(read("ses_1", `{"id":"res_1","from":-1}`), true, "from is -1")
	p.wants(read("ses_2", `{"id":"res_1"}`), true, "not kept")
	for range 4 { // there is room for three more
		p.call("mcp__t__large", "")
	}
	p.wants(read("ses_1", `{"id":"res_1"}`), true, "not kept any more")
	p.wants(read("ses_1", `{"id":"res_5"}`), false, "all work")
	if len(large.Text) > 60<<10 || !large.Truncated {
		t.Errorf("a large result has %d bytes, truncated=%v", len(large.Text), large.Truncated)
	}
}
