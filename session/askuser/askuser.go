// Package askuser is the tool ask_user: an agent asks a person a question of its own.
//
// A question takes the way of an approval: the same store, the same doors, the same time limit.
// But nothing is approved by an answer, and without one the agent goes on.
package askuser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/strictjson"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/tool"
)

// Bounds of a question, in bytes where they are about texts.
const (
	maxQuestion = 4 << 10
	maxLines    = 60 // of it
	maxOptions  = 20
	maxOption   = 200
)

// Session puts the questions of its agent to a person.
type Session interface {
	// AskPerson returns the question once it is answered, or over. nil means that nobody is
	// there who could answer.
	AskPerson(ctx context.Context, call *tool.Call, ask event.Ask) (*approval.Approval, error)

	// AnswerTime is how long a question waits.
	AnswerTime() time.Duration

	// GiveUp ends what the session works on, as failed.
	GiveUp(why error)
}

// Tool returns ask_user. live returns a running session. With stops a session gives up where
// nobody answers a question without a default; else it goes on.
func Tool(live func(sessionID string) (Session, bool), stops bool) tool.Tool {
	return askUser{live, stops}
}

type askUser struct {
	live  func(sessionID string) (Session, bool)
	stops bool
}

// Spec implements [tool.Tool].
func (askUser) Spec() tool.Spec {
	return tool.Spec{
		Name: toolcatalog.AskUser,
		Description: "Asks a person one question, and waits for the answer. For what you can't find out and may not decide yourself: " +
			"what is wanted where the task can be read in several ways, or a choice that is hard to undo. " +
			"Nobody may be there, or nobody may answer in time: the result says so, and you go on by your own judgement. " +
			"Not for permission, which is asked for by itself, and never for passwords or keys.",
		InputSchema: fmt.Appendf(nil, `{"type":"object","properties":{`+
			`"question":{"type":"string","minLength":1,"maxLength":%d,"description":"the whole question: the person sees nothing else"},`+
			`"options":{"type":"array","maxItems":%d,"items":{"type":"string","minLength":1,"maxLength":%d},"description":"the answers to choose from, each in a few words; without them the answer is a text"},`+
			`"multiple":{"type":"boolean","description":"several options may be chosen"},`+
			`"default":{"type":"string","maxLength":%d,"description":"the answer that holds if nobody answers; one of the options if there are any"}`+
			`},"required":["question"],"additionalProperties":false}`, maxQuestion, maxOptions, maxOption, maxQuestion),
		ReadOnly: true, OwnTimeLimit: true, Repeats: true,
		Follows: toolcatalog.AskUser, // nobody is asked whether somebody may be asked
	}
}

// read returns what arguments ask.
func read(args json.RawMessage) (ask event.Ask, err error) {
	if err = strictjson.Decode(args, &ask); err == nil {
		err = check(&ask)
	}
	return ask, err
}

// check returns why a question can't be put. A person must be able to read each option, and to
// tell it from the others.
func check(ask *event.Ask) error {
	switch n := len(ask.Options); {
	case strings.TrimSpace(ask.Question) == "":
		return errors.New("question is empty")
	case len(ask.Question) > maxQuestion:
		return fmt.Errorf("question has %d bytes: it may have %d", len(ask.Question), maxQuestion)
	case strings.Count(ask.Question, "\n") >= maxLines:
		return fmt.Errorf("question has %d lines: it may have %d", strings.Count(ask.Question, "\n")+1, maxLines)
	case len(ask.Default) > maxQuestion:
		return fmt.Errorf("default has %d bytes: it may have %d", len(ask.Default), maxQuestion)
	case n > maxOptions:
		return fmt.Errorf("there are %d options: there may be %d", n, maxOptions)
	case n == 1:
		return errors.New("there is one option: give two or more, or none for an answer in words")
	case n == 0 && ask.Multiple:
		return errors.New("multiple is about options, and there are none")
	}
	for i, option := range ask.Options {
		shown, _ := termtext.Visible(option, maxOption)
		switch {
		case strings.TrimSpace(option) == "":
			return fmt.Errorf("option %d is empty", i+1)
		case len(option) > maxOption:
			return fmt.Errorf("option %d has %d bytes: it may have %d", i+1, len(option), maxOption)
		case shown != option || strings.TrimSpace(option) != option:
			return fmt.Errorf("option %d is not one line of visible text: %q", i+1, option)
		case slices.Contains(ask.Options[:i], option):
			return fmt.Errorf("option %d is there twice: %q", i+1, option)
		}
	}
	if ask.Default != "" && len(ask.Options) > 0 && !slices.Contains(ask.Options, ask.Default) {
		return fmt.Errorf("default is none of the options: %q", termtext.CutBytes(ask.Default, maxOption))
	}
	return nil
}

// Values implements [tool.Tool].
func (askUser) Values(args json.RawMessage) ([]permission.Value, error) {
	_, err := read(args)
	return []permission.Value{{Tool: toolcatalog.AskUser, Text: toolcatalog.AskUser}}, err
}

// Describe implements [tool.Tool].
func (askUser) Describe(call *tool.Call) tool.Description {
	return tool.DescribeArguments("ask a person a question", call.Args)
}

// Run implements [tool.Tool].
func (t askUser) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	ask, err := read(call.Args)
	if err != nil {
		return tool.Result{}, err
	}
	s, ok := t.live(call.SessionID)
	if !ok {
		return tool.Result{}, fmt.Errorf("session %s does not run here", call.SessionID)
	}
	answered, err := s.AskPerson(ctx, call, ask)
	switch {
	case err != nil:
		return tool.Result{}, err
	case answered == nil || answered.Outcome == event.Expired:
		if t.stops && ask.Default == "" {
			err := fmt.Errorf("nobody has answered its question %q, and its file says onNobody: stop", ask.Summary())
			s.GiveUp(err)
			return tool.Result{}, err
		}
	}
	if answered == nil {
		return tool.Result{Text: "Nobody is there who could answer." + goOn(ask.Default)}, nil
	}
	switch answered.Outcome {
	case event.Answered:
		return tool.Result{Text: "The person has answered:\n" + list(ask, answered.Answers)}, nil
	case event.Declined:
		text := "The person does not answer this question."
		if answered.Feedback != "" {
			text = "The person does not answer this question, and says:\n" + answered.Feedback + "\n"
		}
		return tool.Result{Text: text + goOn("")}, nil
	case event.Expired:
		return tool.Result{Text: fmt.Sprintf("No answer came within %s.", errtext.Duration(s.AnswerTime())) + goOn(ask.Default)}, nil
	}
	if ctx.Err() != nil {
		return tool.Result{}, context.Cause(ctx)
	}
	return tool.Result{Text: "The question was withdrawn." + goOn(ask.Default)}, nil
}

// goOn says by what the agent goes on without an answer.
func goOn(answer string) string {
	if answer != "" {
		return " Your default holds:\n" + answer
	}
	return " Go on by your own judgement, and say in your answer what you have assumed."
}

// list is an answer as the model reads it.
func list(ask event.Ask, answers []string) string {
	if !ask.Multiple {
		return strings.Join(answers, "\n")
	}
	return "- " + strings.Join(answers, "\n- ")
}
