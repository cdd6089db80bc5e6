package mcpclient_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/agentworker/worker/tool"
)

// person answers questions by what they contain, and keeps them.
type person struct {
	mu      sync.Mutex
	answers map[string]tool.Reply
	asked   []tool.Inquiry
	told    []tool.Progress
}

func (h *person) ask(_ context.Context, q tool.Inquiry) (tool.Reply, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, q)
	for part, reply := range h.answers {
		if strings.Contains(q.Question, part) {
			return reply, nil
		}
	}
	return tool.Reply{}, nil
}

func (h *person) tell(p tool.Progress) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told = append(h.told, p)
}

func (h *person) call(p *place, name, text string) tool.Result {
	p.t.Helper()
	args, _ := json.Marshal(map[string]string{"text": text})
	r, err := p.tools()[name].Run(p.t.Context(), &tool.Call{SessionID: "ses_1", Args: args, Rules: allowAll, Ask: h.ask, Tell: h.tell})
	if err != nil {
		return tool.Errorf("%v", err)
	}
	return r
}

// TestQuestions: what a server asks becomes questions to a person, and its answer has their form.
func TestQuestions(t *testing.T) {
	const fields = `{"type":"object","required":["color"],"properties":{
		"color":{"type":"string","title":"Colour","enum":["r","g"],"enumNames":["red","green"]},
		"count":{"type":"integer","description":"how many"},
		"sure":{"type":"boolean"},
		"tags":{"type":"array","items":{"type":"string","enum":["a","b","c"]}},
		"why":{"type":"string"}}}`
	for _, version := range []string{"2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) { testQuestions(t, fields, newPlace(t, self("t", "version="+version))) })
	}
}

func testQuestions(t *testing.T, fields string, p *place) {
	h := &person{answers: map[string]tool.Reply{
		"color: Colour": {Answers: []string{"green"}}, "how many": {Answers: []string{" 7 "}}, "sure": {Answers: []string{"no"}},
		"tags": {Answers: []string{"a", "c"}}, "why": {Declined: true},
	}}
	p.wants(h.call(p, "mcp__t__asks", fields), false, `"action":"accept"`, `"color":"g"`, `"count":7`, `"sure":false`, `"tags":["a","c"]`)
	if len(h.asked) != 5 || !strings.HasPrefix(h.asked[0].Question, "The MCP server t asks. The words are its own:\nWhich one?") || strings.Join(h.asked[0].Options, " ") != "red green" || !h.asked[3].Multiple {
		t.Errorf("asked %+v", h.asked)
	}
	for _, c := range []struct {
		schema string
		reply  tool.Reply
		want   string
	}{
		{fields, tool.Reply{}, `{"action":"cancel"}`},
		{fields, tool.Reply{Declined: true}, `{"action":"decline"}`},
		{`{"type":"object","properties":{"n":{"type":"number"}}}`, tool.Reply{Answers: []string{"many"}}, "it is no number"},
		{`{"type":"object","properties":{}}`, tool.Reply{Answers: []string{"yes"}}, `"action":"accept"`},
		{`{"type":"object","properties":{}}`, tool.Reply{Answers: []string{"no"}}, `{"action":"decline"}`},
	} {
		h := &person{answers: map[string]tool.Reply{"": c.reply}}
		p.wants(h.call(p, "mcp__t__asks", c.schema), false, c.want)
	}
}

// TestSecrets: nobody is asked for a password, whatever the server calls it, and the model is told.
func TestSecrets(t *testing.T) {
	p := newPlace(t, self("t"))
	for _, field := range []string{
		`"password":{"type":"string"}`, `"accessToken":{"type":"string"}`, `"x":{"type":"string","description":"Your API key"}`, `"pin":{"type":"integer"}`,
		`"x":{"type":"string","title":"Pass phrase"}`, `"a":{"type":"string"},"clientSecret":{"type":"string"}`,
	} {
		h := &person{answers: map[string]tool.Reply{"": {Answers: []string{"hunter2"}}}}
		p.wants(h.call(p, "mcp__t__asks", `{"type":"object","properties":{`+field+`}}`), false, `{"action":"decline"}`, "looks like a password")
		if len(h.asked) > 0 {
			t.Errorf("%s: asked %+v", field, h.asked)
		}
	}
	h := &person{}
	p.wants(h.call(p, "mcp__t__asks", `{"type":"object","properties":{"x":{"type":"string","format":"password"}}}`), true, "unsupported format")
	p.wants(h.call(p, "mcp__t__password", ""), false, "decline", "looks like a password")
	many := strings.Repeat(`"f#":{"type":"string"},`, 9)
	for i := range 9 {
		many = strings.Replace(many, "#", string(rune('0'+i)), 1)
	}
	p.wants(h.call(p, "mcp__t__asks", `{"type":"object","properties":{`+strings.TrimSuffix(many, ",")+`}}`), false, "decline", "9 things at once")
	p.wants(h.call(p, "mcp__t__asks", `{"type":"object","properties":{"x":{"type":"string","enum":["one"]}}}`), false, "decline", "one choice")
	if len(h.asked) > 0 {
		t.Errorf("asked %+v", h.asked)
	}
	p.wants(p.call("mcp__t__asks", `{"type":"object","properties":{"x":{"type":"string"}}}`), false, `{"action":"cancel"}`) // nobody is there
}

// TestTold: what a server says while it works is told, in lines and not too often.
func TestTold(t *testing.T) {
	p := newPlace(t, self("t"))
	h := &person{}
	p.wants(h.call(p, "mcp__t__steps", ""), false, "done")
	p.wants(h.call(p, "mcp__t__logs", ""), false, "logged")
	h.mu.Lock()
	defer h.mu.Unlock()
	steps, logs := 0, 0
	for _, told := range h.told {
		if strings.ContainsAny(told.Message, "\n\x1b") {
			t.Errorf("%q", told.Message)
		}
		if told.Level == "" {
			steps++
		} else {
			logs++
		}
	}
	if steps == 0 || steps > 20 || logs != 0 && logs > 100 {
		t.Errorf("%d steps and %d lines of a log were told", steps, logs)
	}
}
