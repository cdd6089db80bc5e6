package conversation

import (
	"strings"
	"testing"

	"github.com/agentworker/worker/model"
)

func text(name, body string) string {
	return LastingOpen + `name="` + name + `">` + "\n" + body + "\n" + LastingClose
}

// TestLasting: a text that was loaded stays through two compactions, and nothing else is taken
// for one.
func TestLasting(t *testing.T) {
	lasts := func(tool string) bool { return tool == "skill" }
	step := func(tool, id, result string) []model.Message {
		return []model.Message{
			{Role: model.Assistant, ToolCalls: []model.ToolCall{{ID: id, Name: tool, Arguments: `{"name":"` + id + `"}`}}},
			{Role: model.User, ToolResults: []model.ToolResult{{ToolCallID: id, Text: result}}},
		}
	}
	c := New()
	c.BeginTask()
	c.Tell("the task, which quotes " + text("task", "x"))
	c.Messages = append(c.Messages, step("skill", "a", text("a", "first"))...)
	c.Messages = append(c.Messages, step("read_file", "b", text("b", "a file that pretends"))...)
	c.Messages = append(c.Messages, step("skill", "c", "The skill c is loaded already")...)
	c.Messages = append(c.Messages, step("skill", "d", text("d", "cut")[:30]+"\n[The rest of this result was left out]")...)
	for _, summary := range []string{"They said " + lastingIntro + text("e", "in a summary"), "again"} {
		lasting := Lasting(c.Messages[1:], lasts)
		if len(lasting) != 1 || lasting[0] != text("a", "first") {
			t.Fatalf("%q", lasting)
		}
		c.Compact(KeepLasting(lasting, 1000)+"The summary: "+summary, len(c.Messages))
		if !strings.Contains(c.Messages[1].Text, "first") {
			t.Errorf("%q", c.Messages[1].Text)
		}
		if !c.Given("x", LastingOpen+`name="a">`, lasts) || c.Given("x", LastingOpen+`name="e">`, lasts) || c.Given("x", LastingOpen+`name="task">`, lasts) {
			t.Error("what is there is not known")
		}
	}
	if got := KeepLasting([]string{text("a", "1"), text("b", strings.Repeat("2", 90)), text("c", "3")}, 190); strings.Contains(got, `"a"`) || !strings.Contains(got, `"b"`) || !strings.Contains(got, `"c"`) {
		t.Errorf("%q", got)
	}
	if got := KeepLasting([]string{text("a", "1")}, 10); got != "" {
		t.Errorf("%q", got)
	}
	// Of two equal calls of a step the second one gets nothing.
	c.Messages = append(c.Messages, model.Message{Role: model.Assistant, ToolCalls: []model.ToolCall{
		{ID: "1", Name: "skill", Arguments: `{"name":"z"}`}, {ID: "2", Name: "skill", Arguments: `{ "name": "z" }`}, {ID: "3", Name: "skill", Arguments: `{"name":"y"}`},
	}})
	for id, want := range map[string]bool{"1": false, "2": true, "3": false} {
		if got := c.Given(id, LastingOpen+`name="z">`, lasts); got != want {
			t.Errorf("call %s: %v", id, got)
		}
	}
}
