package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"sync"

	"github.com/agentworker/worker/model/provider"
)

// Family is what the servers of a provider demand of a conversation.
type Family struct {
	Name string
	Form provider.Form // the API

	ToolName, CallID *regexp.Regexp

	Alternate   bool   // the roles do, and a user's message never follows a tool's result
	SystemFirst bool   // and nowhere else
	Arguments   bool   // are JSON objects
	NoThinks    bool   // are sent with what the model has thought
	Back        string // the field of each answer that has to come back unchanged; empty means none
}

// Families are the strictest servers that are known.
var Families = []Family{
	{Name: "anthropic", Form: provider.Messages, ToolName: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`), CallID: regexp.MustCompile(`^[a-zA-Z0-9_-]+$`), Arguments: true, Back: "thinking"},
	{Name: "openai", Form: provider.Responses, ToolName: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), CallID: regexp.MustCompile(`^.{1,64}$`), SystemFirst: true, Back: "items"},
	{Name: "azure", Form: provider.Chat, ToolName: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), CallID: regexp.MustCompile(`^.{1,40}$`)},
	{Name: "gemini", Form: provider.Chat, ToolName: regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`), CallID: regexp.MustCompile(`.`), Arguments: true, Back: "extra_content"},
	{Name: "deepseek", Form: provider.Chat, ToolName: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), CallID: regexp.MustCompile(`.`), Back: "reasoning_content"},
	{Name: "openrouter", Form: provider.Chat, ToolName: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), CallID: regexp.MustCompile(`.`), Back: "reasoning_details"},
	{Name: "mistral", Form: provider.Chat, ToolName: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), CallID: regexp.MustCompile(`^[a-zA-Z0-9]{9}$`), Alternate: true, SystemFirst: true, NoThinks: true},
	{Name: "groq", Form: provider.Chat, ToolName: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), CallID: regexp.MustCompile(`.`), NoThinks: true},
	{Name: "together", Form: provider.Chat, ToolName: regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`), CallID: regexp.MustCompile(`.`), Alternate: true, SystemFirst: true, Arguments: true},
}

// StrictTurn is an answer of a [Strict] server.
type StrictTurn struct {
	Refuse string // words of a refusal with status 400
	Text   string
	Calls  []StrictCall
	Hang   chan<- struct{} // if not nil: it gets a value once the text is sent, and the answer has no end
}

// StrictCall is a tool call of a [StrictTurn].
type StrictCall struct{ ID, Name, Arguments string }

// StrictMessage is a message of a request, as all APIs have it.
type StrictMessage struct {
	Role  string
	Text  string
	Calls []StrictCall

	of   string          // the call that a tool's result answers
	back json.RawMessage // what came back, with the calls
}

// Strict is a server of a family. It refuses what such servers refuse, and wants back what it has
// sent with an answer, as long as the answer is in the conversation.
type Strict struct {
	Family Family
	Answer func(messages []StrictMessage, tools bool) StrictTurn

	mu      sync.Mutex
	sealed  map[string]string // what has to come back, by the text of the message
	answers int
	faults  []string
}

// Faults returns what was refused.
func (s *Strict) Faults() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.faults...)
}

// ServeHTTP implements [http.Handler].
func (s *Strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	messages, tools, fault := s.read(body)
	if fault == "" {
		fault = s.check(messages)
	}
	if fault != "" {
		s.mu.Lock()
		s.faults = append(s.faults, fault)
		s.mu.Unlock()
		refuseJSON(w, http.StatusBadRequest, object{"type": "error", "error": object{"type": "invalid_request_error", "message": fault}})
		return
	}
	turn := s.Answer(messages, tools)
	if turn.Refuse != "" {
		refuseJSON(w, http.StatusBadRequest, object{"type": "error", "error": object{"type": "invalid_request_error", "message": turn.Refuse}})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	var out bytes.Buffer
	switch s.Family.Form {
	case provider.Messages:
		s.sendMessages(&out, turn)
	case provider.Responses:
		s.sendResponses(&out, turn)
	default:
		s.sendChat(&out, turn)
	}
	_, _ = w.Write(out.Bytes())
	if turn.Hang != nil {
		_ = http.NewResponseController(w).Flush()
		turn.Hang <- struct{}{}
		<-r.Context().Done()
	}
}

// seal makes what has to come back with the next answer.
func (s *Strict) seal(turn StrictTurn) (n int, value any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers++
	n = s.answers
	switch s.Family.Back {
	case "thinking":
		value = object{"thinking": fmt.Sprintf("thought %d <a> & b", n), "signature": fmt.Sprintf("sig+%d/==", n)}
	case "extra_content":
		value = object{"google": object{"thought_signature": fmt.Sprintf("sig+%d/<==>", n)}}
	case "reasoning_content":
		value = fmt.Sprintf("thought %d", n)
	case "items":
		value = strictItems(n, turn)
	case "reasoning_details":
		value = []any{object{"type": "reasoning.text", "text": fmt.Sprintf("thought %d", n), "signature": "s<g&", "index": 0, "format": "anthropic-claude-v1"},
			object{"type": "reasoning.encrypted", "data": fmt.Sprintf("gAAA+%d/==", n), "index": 1}}
	}
	if s.sealed == nil {
		s.sealed = make(map[string]string)
	}
	if len(turn.Calls) > 0 && value != nil {
		s.sealed[answerMark(n)] = string(encode(value))
	}
	return n, value
}

// answerMark is a text of each answer, by which it is known again.
func answerMark(n int) string { return fmt.Sprintf("[answer %d]", n) }

func (s *Strict) sendChat(out *bytes.Buffer, turn StrictTurn) {
	n, value := s.seal(turn)
	send := func(delta object, finish any) {
		fmt.Fprintf(out, "data: %s\n\n", encode(object{"object": "chat.completion.chunk", "choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}}))
	}
	if s.Family.NoThinks {
		send(object{"reasoning": "I think."}, nil)
	}
	switch s.Family.Back {
	case "reasoning_content":
		send(object{"reasoning_content": value}, nil)
	case "reasoning_details":
		for _, detail := range value.([]any) {
			send(object{"reasoning_details": []any{detail}}, nil)
		}
	}
	send(object{"content": answerMark(n) + turn.Text}, nil)
	if turn.Hang != nil {
		return
	}
	for i, call := range turn.Calls {
		sent := object{"index": i, "id": call.ID, "type": "function", "function": object{"name": call.Name, "arguments": call.Arguments}}
		if i == 0 && s.Family.Back == "extra_content" {
			sent["extra_content"] = value
		}
		send(object{"tool_calls": []any{sent}}, nil)
	}
	send(object{}, "stop")
	fmt.Fprint(out, "data: [DONE]\n\n")
}

func (s *Strict) sendMessages(out *bytes.Buffer, turn StrictTurn) {
	n, value := s.seal(turn)
	send := func(kind string, data object) {
		data["type"] = kind
		fmt.Fprintf(out, "event: %s\ndata: %s\n\n", kind, encode(data))
	}
	block := func(i int, start object, deltas ...object) {
		send("content_block_start", object{"index": i, "content_block": start})
		for _, delta := range deltas {
			send("content_block_delta", object{"index": i, "delta": delta})
		}
		send("content_block_stop", object{"index": i})
	}
	thought := value.(object)
	send("message_start", object{"message": object{"id": "m", "type": "message", "role": "assistant", "content": []any{}, "usage": object{"input_tokens": 1, "output_tokens": 1}}})
	block(0, object{"type": "thinking", "thinking": "", "signature": ""}, object{"type": "thinking_delta", "thinking": thought["thinking"]}, object{"type": "signature_delta", "signature": thought["signature"]})
	block(1, object{"type": "text", "text": ""}, object{"type": "text_delta", "text": answerMark(n) + turn.Text})
	if turn.Hang != nil {
		return
	}
	for i, call := range turn.Calls {
		block(i+2, object{"type": "tool_use", "id": call.ID, "name": call.Name, "input": object{}}, object{"type": "input_json_delta", "partial_json": call.Arguments})
	}
	send("message_delta", object{"delta": object{"stop_reason": "end_turn"}, "usage": object{"output_tokens": 1}})
	send("message_stop", object{})
}

// read reads a request of the family's API.
func (s *Strict) read(body []byte) (all []StrictMessage, tools bool, fault string) {
	switch s.Family.Form {
	case provider.Messages:
		return readMessages(body)
	case provider.Responses:
		return readResponses(body)
	}
	var req struct {
		Tools    []json.RawMessage
		Messages []map[string]json.RawMessage
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, false, err.Error()
	}
	for _, sent := range req.Messages {
		var m StrictMessage
		var calls []struct {
			ID       string
			Function struct{ Name, Arguments string }
			Extra    json.RawMessage `json:"extra_content"`
		}
		for name, to := range map[string]any{"role": &m.Role, "content": &m.Text, "tool_call_id": &m.of, "tool_calls": &calls} {
			if value, ok := sent[name]; ok {
				if err := json.Unmarshal(value, to); err != nil {
					return nil, false, name + ": " + err.Error()
				}
			}
		}
		if sent["reasoning_content"] != nil && s.Family.NoThinks {
			return nil, false, "property 'reasoning_content' is unsupported"
		}
		m.back = sent[s.Family.Back]
		for i, call := range calls {
			m.Calls = append(m.Calls, StrictCall{call.ID, call.Function.Name, call.Function.Arguments})
			if i == 0 && s.Family.Back == "extra_content" {
				m.back = call.Extra
			}
		}
		all = append(all, m)
	}
	return all, len(req.Tools) > 0, ""
}

func readMessages(body []byte) (all []StrictMessage, tools bool, fault string) {
	var req anthropicRequest
	if err := json.Unmarshal(body, &req); err != nil {
		return nil, false, err.Error()
	}
	for i, sent := range req.Messages {
		msg, refused := sent.read(i)
		if refused != nil {
			return nil, false, refused.message
		}
		for _, result := range msg.ToolResults {
			all = append(all, StrictMessage{Role: "tool", Text: result.Text, of: result.ToolCallID})
		}
		m := StrictMessage{Role: sent.Role, Text: msg.Text}
		for _, call := range msg.ToolCalls {
			m.Calls = append(m.Calls, StrictCall{call.ID, call.Name, call.Arguments})
		}
		if len(msg.Reasoning) > 0 {
			m.back = encode(object{"thinking": msg.Reasoning[0].Text, "signature": msg.Reasoning[0].Signature})
		}
		if m.Text != "" || len(m.Calls) > 0 {
			all = append(all, m)
		}
	}
	return all, len(req.Tools) > 0, ""
}

// check returns why a conversation is refused; empty means it is not.
func (s *Strict) check(messages []StrictMessage) string {
	var open []string // calls without results
	last := ""
	for i, m := range messages {
		switch {
		case m.Role == "system" && i > 0 && s.Family.SystemFirst:
			return fmt.Sprintf("messages.%d: a system message in the middle", i)
		case s.Family.Alternate && m.Role == "user" && last == "tool":
			return fmt.Sprintf("messages.%d: Unexpected role 'user' after role 'tool'", i)
		case s.Family.Alternate && m.Role == last && m.Role != "tool":
			return fmt.Sprintf("messages.%d: Conversation roles must alternate user/assistant/user/assistant: %s twice", i, m.Role)
		case m.Role != "tool" && len(open) > 0:
			return fmt.Sprintf("messages.%d: the calls %v have no results", i, open)
		case m.Role != "system" && m.Text == "" && len(m.Calls) == 0 && m.Role != "tool":
			return fmt.Sprintf("messages.%d: empty content", i)
		}
		if m.Role == "tool" {
			at := indexOf(open, m.of)
			if at < 0 {
				return fmt.Sprintf("messages.%d: a result of %q, which is no call", i, m.of)
			}
			open = append(open[:at], open[at+1:]...)
		}
		if fault := s.checkCalls(m); fault != "" {
			return fmt.Sprintf("messages.%d: %s", i, fault)
		}
		for _, call := range m.Calls {
			open = append(open, call.ID)
		}
		last = m.Role
	}
	if len(open) > 0 || last == "assistant" || len(messages) == 0 {
		return fmt.Sprintf("the conversation ends with the role %q and the open calls %v", last, open)
	}
	return ""
}

func indexOf(all []string, one string) int {
	for i, s := range all {
		if s == one {
			return i
		}
	}
	return -1
}

// checkCalls checks the calls of a message, and what has to come back with them.
func (s *Strict) checkCalls(m StrictMessage) string {
	for _, call := range m.Calls {
		switch {
		case !s.Family.ToolName.MatchString(call.Name):
			return fmt.Sprintf("the name %q does not match %s", call.Name, s.Family.ToolName)
		case !s.Family.CallID.MatchString(call.ID):
			return fmt.Sprintf("the id %q does not match %s", call.ID, s.Family.CallID)
		case s.Family.Arguments && (!strings.HasPrefix(call.Arguments, "{") || !json.Valid([]byte(call.Arguments))):
			return fmt.Sprintf("the arguments of %s are no JSON object: %s", call.Name, call.Arguments)
		}
	}
	if m.Role != "assistant" || len(m.Calls) == 0 || s.Family.Back == "" {
		return ""
	}
	begin, _, _ := strings.Cut(m.Text, "]")
	s.mu.Lock()
	want, known := s.sealed[begin+"]"]
	s.mu.Unlock()
	if !known {
		return fmt.Sprintf("an answer with calls that is none of this server: %q", m.Text)
	}
	var a, b any
	if json.Unmarshal([]byte(want), &a) != nil || json.Unmarshal(m.back, &b) != nil || !reflect.DeepEqual(a, b) {
		return fmt.Sprintf("%s of %s came back as %s, it was %s", s.Family.Back, begin+"]", m.back, want)
	}
	return ""
}
