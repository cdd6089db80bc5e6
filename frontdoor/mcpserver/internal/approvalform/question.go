package approvalform

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/question"
)

// Question returns the form of an agent's question: a text, a choice of one, or of several. With
// plain, several are a box for each option, for hosts that know no other form. With again, the
// form says that an answer came too soon. To decline the form is to decline an answer.
func Question(a *approval.Approval, again, plain bool) *mcp.ElicitParams {
	v := question.New(a, question.Form)
	lines := []string{v.Headline()}
	for _, line := range v.Ask.Question { // the agent's words are marked as such
		lines = append(lines, "> "+line)
	}
	if v.LeftOut != "" {
		lines = append(lines, v.LeftOut)
	}
	note := fmt.Sprintf("%s It is waited for until %s.", question.Secrets, a.ExpiresAt.Local().Format(time.TimeOnly))
	if v.Ask.Default != "" {
		note += fmt.Sprintf(" Without an answer this holds: %q.", v.Ask.Default)
	}
	if again {
		note = "That answer came too soon to have read this: answer again. " + note
	}
	properties, required := map[string]any{"answer": field(a.Ask, note)}, []string{"answer"}
	if plain && a.Ask.Multiple {
		properties, required = boxes(a.Ask, note), []string{}
	}
	return &mcp.ElicitParams{
		Mode: "form", Message: strings.Join(lines, "\n"),
		RequestedSchema: map[string]any{"type": "object", "properties": properties, "required": required},
	}
}

// field is the one field of a form.
func field(ask *event.Ask, note string) map[string]any {
	f := map[string]any{"type": "string", "title": "Answer", "description": note}
	switch {
	case ask.Multiple:
		f["type"], f["minItems"], f["items"] = "array", 1, map[string]any{"type": "string", "enum": ask.Options}
	case len(ask.Options) > 0:
		f["enum"] = ask.Options
	default:
		f["minLength"], f["maxLength"] = 1, approval.MaxAnswer
	}
	return f
}

// boxes are a field for each option.
func boxes(ask *event.Ask, note string) map[string]any {
	fields := make(map[string]any)
	for i, option := range ask.Options {
		fields[box(i)] = map[string]any{"type": "boolean", "title": option, "description": note}
		note = "" // the first one has it
	}
	return fields
}

func box(i int) string { return fmt.Sprintf("option%02d", i+1) }

// answersOf returns what a form was filled in with.
func answersOf(ask *event.Ask, content map[string]any) []string {
	var answers []string
	add := func(value any) {
		if text, ok := value.(string); ok {
			answers = append(answers, text)
		}
	}
	if several, ok := content["answer"].([]any); ok {
		for _, value := range several {
			add(value)
		}
	} else {
		add(content["answer"])
	}
	for i, option := range ask.Options {
		if chosen, _ := content[box(i)].(bool); chosen && ask.Multiple && !slices.Contains(answers, option) {
			answers = append(answers, option)
		}
	}
	return answers
}
