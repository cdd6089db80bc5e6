package mcpclient

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/agentworker/worker/internal/strictjson"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// Bounds of results, in bytes.
const (
	maxResult = 50 << 10 // of one as the model gets it at once
	maxKept   = 8 << 20  // of the large ones that a session can read on in
)

// pages has the large results of sessions, for [outputTool].
type pages struct {
	mu  sync.Mutex
	all map[string]*results // by sessions
}

// results are the large results of a session, the oldest first.
type results struct {
	count, size int
	kept        []large
}

type large struct{ id, text string }

// bound returns a result as the model gets it: with the first page of a large text.
func (p *pages) bound(sessionID string, r tool.Result) tool.Result {
	if len(r.Text) <= maxResult {
		return r
	}
	r.Text, r.Truncated = page(p.keep(sessionID, r.Text), 0), true
	return r
}

// keep keeps a text, as far as there is room.
func (p *pages) keep(sessionID, text string) large {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[string]*results{}
	}
	of := p.all[sessionID]
	if of == nil {
		of = &results{}
		p.all[sessionID] = of
	}
	of.count++
	made := large{fmt.Sprintf("res_%d", of.count), termtext.Head(text, maxKept)}
	of.kept, of.size = append(of.kept, made), of.size+len(made.text)
	for of.size > maxKept {
		of.size -= len(of.kept[0].text)
		of.kept = of.kept[1:]
	}
	return made
}

func (p *pages) get(sessionID, id string) (large, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if of := p.all[sessionID]; of != nil {
		for _, l := range of.kept {
			if l.id == id {
				return l, nil
			}
		}
	}
	return large{}, fmt.Errorf("the result %q is not kept any more: call its tool again", termtext.OneLine(id, termtext.MaxColumn))
}

func (p *pages) forget(sessionID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, sessionID)
}

// page returns a part of a large text, and how to read on.
func page(l large, from int) string {
	text := termtext.Head(l.text[from:], maxResult)
	to := from + len(text)
	where := fmt.Sprintf("bytes %d to %d of %d", from, to, len(l.text))
	if to < len(l.text) {
		return text + fmt.Sprintf("\n(%s; %s {\"id\":%q,\"from\":%d} reads on)", where, toolcatalog.ToolOutput, l.id, to)
	}
	return text + "\n(" + where + ": the end)"
}

// outputTool is tool_output: it reads on in large results of the session's own calls, so that no
// rule has to allow it.
type outputTool struct{ pages *pages }

type outputArgs struct {
	ID   string `json:"id"`
	From int    `json:"from,omitempty"`
}

// Spec implements [tool.Tool].
func (outputTool) Spec() tool.Spec {
	return tool.Spec{
		Name:        toolcatalog.ToolOutput,
		Description: "Reads on in a result of an MCP server's tool that was too large to be given at once. Its note says how.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string","description":"of the result: res_1"},"from":{"type":"integer","minimum":0,"description":"the byte to begin at"}},"required":["id"],"additionalProperties":false}`),
		ReadOnly:    true, Follows: toolcatalog.ToolOutput, RuledBy: []string{},
	}
}

// Values implements [tool.Tool].
func (outputTool) Values(args json.RawMessage) ([]permission.Value, error) {
	return nil, strictjson.Decode(args, new(outputArgs))
}

// Describe implements [tool.Tool].
func (outputTool) Describe(call *tool.Call) tool.Description {
	return tool.DescribeArguments("read on in a result", call.Args)
}

// Run implements [tool.Tool].
func (t outputTool) Run(_ context.Context, call *tool.Call) (tool.Result, error) {
	var in outputArgs
	if err := strictjson.Decode(call.Args, &in); err != nil {
		return tool.Result{}, err
	}
	l, err := t.pages.get(call.SessionID, in.ID)
	if err != nil {
		return tool.Result{}, err
	}
	if in.From < 0 || in.From >= len(l.text) {
		return tool.Result{}, fmt.Errorf("from is %d, and the result has %d bytes", in.From, len(l.text))
	}
	text := page(l, in.From)
	return tool.Result{Text: text, Truncated: in.From+maxResult < len(l.text)}, nil
}
