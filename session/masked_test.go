package session_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/secrets"
	"github.com/agentworker/worker/internal/secrets/secretstest"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/transcript"
	"github.com/agentworker/worker/tool"
)

// pieces cuts a text into deltas.
func pieces(text string, n int) []string {
	var all []string
	for len(text) > n {
		all, text = append(all, text[:n]), text[n:]
	}
	return append(all, text)
}

// maskedParts are two answers with a text: one that thinks and calls, and the last one.
func maskedParts(text, args string) (first, last []model.Part) {
	for i, piece := range pieces(text, 7) {
		first = append(first, model.ReasoningDelta{Text: piece}, model.TextDelta{Text: pieces(text, 7)[i]})
	}
	first = append(first, model.ToolCall{ID: "1", Name: "touch", Arguments: args}, model.ToolCall{ID: "2", Name: "todo", Arguments: args})
	first = append(first, model.Usage{InputTokens: 1, OutputTokens: 1}, model.Stop{Reason: model.StopToolCalls})
	for _, piece := range pieces(text, 3) {
		last = append(last, model.TextDelta{Text: piece})
	}
	last = append(last, model.Usage{InputTokens: 1, OutputTokens: 1}, model.Stop{Reason: model.StopEnd})
	return first, last
}

// checkMasked checks the deltas and the answer of events against the masked text.
func checkMasked(t *testing.T, events []event.Event, want string) {
	t.Helper()
	deltas, thoughts, answer := map[string]string{}, "", event.TurnMessage{}
	for _, ev := range events {
		switch ev := ev.(type) {
		case event.ContentDelta:
			if ev.Offset != len(deltas[ev.MessageID]) {
				t.Errorf("%+v, behind %d bytes", ev, len(deltas[ev.MessageID]))
			}
			deltas[ev.MessageID] += ev.Delta
		case event.ReasoningDelta:
			thoughts += ev.Delta
		case event.TurnComplete:
			answer = ev.Message
		}
	}
	if len(deltas) != 2 || deltas[answer.ID] != answer.Text || answer.Text != want || thoughts != want {
		t.Errorf("deltas %q, thoughts %q, the answer %+v", deltas, thoughts, answer)
	}
}

// TestSaidIsMasked: a model thinks, says, calls and answers with the keys of all providers,
// cut over deltas. No follower and no transcript has one. The caller, the model, and a later run of
// the session get the text unmasked.
func TestSaidIsMasked(t *testing.T) {
	var said strings.Builder
	for _, name := range slices.Sorted(maps.Keys(secretstest.Keys)) {
		said.WriteString(name + `: "` + secretstest.Keys[name] + "\"\n")
	}
	text := said.String()
	args, err := json.Marshal(map[string]string{"v": text})
	if err != nil {
		t.Fatal(err)
	}
	first, last := maskedParts(text, string(args))
	var sent []model.Message
	e := newEnv(t, turns{parts(first...), func(ctx context.Context, req *model.Request, yield func(model.Part, error) bool) {
		sent = req.Messages
		parts(last...)(ctx, req, yield)
	}}, nil)
	root := e.open(session.Spec{Agent: "primary"})
	s := e.open(session.Spec{Parent: root, Description: "use " + secretstest.Keys["GitHub"], Tools: []tool.Tool{echo("touch"), &fakeTool{"todo", func(_ context.Context, call *tool.Call) (tool.Result, error) {
		return tool.Result{Text: text}, nil
	}}}})
	out := s.Prompt(t.Context(), "go on with "+text)
	e.end(s, out)
	e.end(root, session.Outcome{Status: record.Completed})
	if out.Status != record.Completed || out.Text != text {
		t.Fatalf("the caller gets %+v", out)
	}
	if len(sent) != 3 || sent[1].Text != text || sent[1].ToolCalls[0].Arguments != string(args) || sent[2].ToolResults[1].Text != text {
		t.Errorf("the model gets %+v", sent)
	}

	shown := func(what, text string) {
		t.Helper()
		if name, part := secretstest.Find(text); name != "" {
			t.Errorf("%s: %q of the key of %s", what, part, name)
		}
	}
	for _, of := range []*session.Session{root, s} {
		for d, err := range e.bus.Follow(t.Context(), of.Path(), nil) {
			if err != nil {
				t.Fatal(err)
			}
			shown("an event", string(d.Raw))
		}
	}
	checkMasked(t, e.events(s), secrets.Mask(text))

	messages, err := e.Store().Transcripts.Messages(t.Context(), s.ID())
	if err != nil || len(messages) != 4 {
		t.Fatalf("%d messages, %v", len(messages), err)
	}
	record := s.Record()
	shown("Markdown", transcript.Markdown(&record, messages))
	for _, m := range messages {
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		shown("JSON", string(data))
		shown("a transcript", transcript.Text(m))
	}

	whole, err := e.Store().Transcripts.Conversation(t.Context(), s.ID())
	if err != nil || len(whole) != 4 || whole[0].Text != sent[0].Text || whole[1].Text != text || whole[1].ToolCalls[0].Arguments != string(args) || whole[3].Text != text {
		t.Errorf("a later run gets %+v, %v", whole, err)
	}
	if got, err := e.Store().Transcripts.LastAnswer(t.Context(), &record); err != nil || got != text {
		t.Errorf("a caller that asks later gets %q, %v", got, err)
	}
	state, err := e.Store().Index.State(t.Context(), s.Path())
	if err != nil || state.Answer == nil || *state.Answer != text || state.Partial != text {
		t.Fatalf("the log says %+v, %v", state, err)
	}
	if state.Mask(); state.Partial != secrets.Mask(text) {
		t.Errorf("the page shows %q", state.Partial)
	}
}
