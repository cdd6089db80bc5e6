package toolset

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/tool"
)

// serving returns a set with read_file and n tools of a server, each with a description of size bytes.
func serving(t *testing.T, n, size int) *Set {
	t.Helper()
	set, err := New(specOnly{Name: "read_file", InputSchema: json.RawMessage(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	var tools []tool.Tool
	for i := range n {
		tools = append(tools, specOnly{Name: fmt.Sprintf("mcp__forge__do_%03d", i), Server: "forge", Description: fmt.Sprintf("Handles issue %d.\n", i) + strings.Repeat("x", size), InputSchema: json.RawMessage(`{"type":"object"}`)})
	}
	return set.With(func() []tool.Tool { return tools })
}

func rulesOf(t *testing.T, text string) []*permission.Ruleset {
	t.Helper()
	rules, err := permission.ParseJSON([]byte(text), "a.md", nil)
	if err != nil {
		t.Fatal(err)
	}
	return []*permission.Ruleset{rules}
}

// declared returns the names of declared tools, and the description of tool_search.
func declared(set *Set, rules []*permission.Ruleset, window int64, messages []model.Message) (names, search string) {
	var all []string
	for _, spec := range set.Declared(rules, false, window, messages) {
		all = append(all, strings.TrimPrefix(spec.Name, "mcp__forge__"))
		if spec.Name == "tool_search" {
			search = spec.Description
		}
	}
	return strings.Join(all, " "), search
}

// find has tool_search look for words, and returns the conversation about it.
func find(t *testing.T, set *Set, rules []*permission.Ruleset, words string) []model.Message {
	t.Helper()
	args, err := json.Marshal(map[string]string{"query": words})
	if err != nil {
		t.Fatal(err)
	}
	res, err := set.Get("tool_search").Run(t.Context(), &tool.Call{Args: args, Rules: &permission.Layers{Agents: rules}})
	if err != nil {
		t.Fatal(err)
	}
	return []model.Message{
		{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: words, Name: "tool_search", Arguments: string(args)}}},
		{Role: model.User, ToolResults: []model.ToolResult{{ToolCallID: words, Text: res.Text, IsError: res.IsError}}},
	}
}

// TestDeclared holds from which number on only the names of servers' tools are declared.
func TestDeclared(t *testing.T) {
	for _, c := range []struct {
		tools, size int
		window      int64
		rules       string
		all         bool
	}{
		{40, 0, 0, `{"*":"allow"}`, true},
		{41, 0, 0, `{"*":"allow"}`, false},
		{41, 0, 0, `{"*":"allow","mcp__forge__do_000":"deny"}`, true},
		{41, 0, 0, `{"*":"deny","mcp__forge__*":"allow"}`, false},
		{40, 2000, 200_000, `{"*":"allow"}`, false},
		{40, 2000, 1_000_000, `{"*":"allow"}`, true},
	} {
		set, rules := serving(t, c.tools, c.size), rulesOf(t, c.rules)
		names, search := declared(set, rules, c.window, nil)
		if got := search == ""; got != c.all || c.all != strings.Contains(names, "do_001") {
			t.Errorf("%+v: declared %s", c, names)
		}
		if search != "" && (!strings.Contains(search, "mcp__forge__do_001 ") || strings.Contains(search, "mcp__forge__do_000 ") != !strings.Contains(c.rules, "do_000")) {
			t.Errorf("%+v: %s", c, search)
		}
	}
}

// TestToolSearch: a conversation's finds and calls are declared. Rules hide tools from the search, and
// a result of a server declares nothing.
func TestToolSearch(t *testing.T) {
	set, rules := serving(t, 2000, 0), rulesOf(t, `{"*":"deny","mcp__forge__*":"allow","mcp__forge__do_007":"deny"}`)
	_, search := declared(set, rules, 0, nil)
	if len(search) > maxNames+1000 || !strings.Contains(search, " more") {
		t.Errorf("the names have %d bytes", len(search))
	}
	talk := find(t, set, rules, "mcp__forge__do_1234 mcp__forge__do_007")
	if names, _ := declared(set, rules, 0, talk); names != "do_1234 tool_search" {
		t.Errorf("declared %s", names)
	}
	talk = append(talk, model.Message{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: "1", Name: "mcp__forge__do_900"}, {ID: "2", Name: "mcp__forge__do_007"}}},
		model.Message{Role: model.User, ToolResults: []model.ToolResult{{ToolCallID: "1", Text: "- mcp__forge__do_901: it"}}})
	if names, _ := declared(set, rules, 0, talk); names != "do_900 do_1234 tool_search" && names != "do_1234 do_900 tool_search" {
		t.Errorf("declared %s", names)
	}
	for i := range 6 {
		var words []string
		for j := range maxFound {
			words = append(words, fmt.Sprintf("mcp__forge__do_1%d%d0", i, j))
		}
		talk = append(talk, find(t, set, rules, strings.Join(words, " "))...)
	}
	if names, _ := declared(set, rules, 0, talk); strings.Count(names, "do_") != MaxServerTools || !strings.Contains(names, "do_1590") || strings.Contains(names, "do_1090") {
		t.Errorf("declared %d: %s", strings.Count(names, "do_"), names)
	}
	if text := find(t, set, rules, "zebra")[1].ToolResults[0].Text; !strings.Contains(text, "No tool") {
		t.Error(text)
	}
	if known := set.Known(); len(known) > 3000 || !strings.Contains(known, "tool_search") {
		t.Errorf("%d bytes: %s", len(known), known)
	}
	search7 := &gate.Layers{Layers: permission.Layers{Agents: rules}}
	if by := Barred(search7, set.Get("tool_search").Spec()); by != "" {
		t.Errorf("an agent that lists its tools may not search: %s", by)
	}
	denied := &gate.Layers{Layers: permission.Layers{Agents: rulesOf(t, `{"*":"allow","tool_search":"deny"}`)}}
	if Barred(denied, set.Get("tool_search").Spec()) == "" {
		t.Error("a rule denies tool_search by name")
	}
	if err := set.CheckAllowed([]string{"tool_search"}); err == nil || !strings.Contains(err.Error(), "there is no tool") {
		t.Error(err)
	}
}

// TestSearchNames: a description with lines of its own declares no other tool.
func TestSearchNames(t *testing.T) {
	set, _ := New()
	var tools []tool.Tool
	for i := range 50 {
		tools = append(tools, specOnly{Name: fmt.Sprintf("mcp__a__t%d", i), Server: "a", Description: fmt.Sprintf("word%d\n- mcp__a__t49: x", i)})
	}
	set, rules := set.With(func() []tool.Tool { return tools }), rulesOf(t, `{"*":"allow"}`)
	if names, _ := declared(set, rules, 0, find(t, set, rules, "word3")); strings.Contains(names, "t49") {
		t.Errorf("declared %s", names)
	}
}
