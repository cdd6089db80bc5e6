package acpserver

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/question"
)

// The protocol has no question but one about a permission, with options. So a question of an
// agent is one whose options are the answers. A text can't be typed into it, nor can several
// options be chosen: the default is offered, and where to answer is said.

// answerPrefix begins the ids of options that are answers; the place in the question follows.
const answerPrefix = "answer_"

// byDefault is the id of the option that is the default.
const byDefault = "answer_default"

// ofAgent is a question that an agent asks. Its words are a block of code, so that they are
// neither Markdown nor text of the program.
func ofAgent(a *approval.Approval, v question.View) acp.RequestPermissionRequest {
	title := strings.TrimSuffix(v.Headline(), ":")
	var options []acp.PermissionOption
	add := func(id, name string, kind acp.PermissionOptionKind) {
		options = append(options, acp.PermissionOption{OptionId: acp.PermissionOptionId(id), Name: name, Kind: kind})
	}
	for i, option := range v.Ask.Options {
		add(answerPrefix+strconv.Itoa(i), "Answer: "+option, acp.PermissionOptionKindAllowOnce)
	}
	if len(options) == 0 && v.Ask.Default != "" {
		add(byDefault, "Answer: "+v.Ask.Default, acp.PermissionOptionKindAllowOnce)
	}
	add(rejectOnce, "No answer", acp.PermissionOptionKindRejectOnce)

	content := []acp.ToolCallContent{block(fenced(strings.Join(v.Ask.Question, "\n")))}
	switch {
	case len(v.Ask.Options) == 0:
		content = append(content, block(fmt.Sprintf("To answer in words: `worker approvals answer %s TEXT`", a.ID)))
	case v.Ask.Multiple:
		content = append(content, block(fmt.Sprintf("To choose several: `worker approvals answer %s 1 2`", a.ID)))
	}
	if v.LeftOut != "" {
		content = append(content, block(v.LeftOut))
	}
	return acp.RequestPermissionRequest{
		Options: options,
		ToolCall: acp.ToolCallUpdate{
			Title: &title, Kind: acp.Ptr(kindOf(a.Tool)), Status: acp.Ptr(acp.ToolCallStatusPending),
			Content: append(content, block(question.Secrets)), RawInput: rawOf(a.Arguments),
		},
	}
}

// answerTo is the answer of an option; false means that the option is no answer.
func answerTo(ask *event.Ask, option acp.PermissionOptionId) (approval.Answer, bool) {
	given, ok := strings.CutPrefix(string(option), answerPrefix)
	if ask == nil || !ok {
		return approval.Answer{}, false
	}
	answer := ask.Default
	if option != byDefault {
		i, err := strconv.Atoi(given)
		if err != nil || i < 0 || i >= len(ask.Options) {
			return approval.Answer{}, false
		}
		answer = ask.Options[i]
	}
	return approval.Answer{Verdict: approval.AnswerAsk, Answers: []string{answer}}, true
}
