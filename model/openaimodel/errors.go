package openaimodel

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/endpoint"
)

// readRefusal reads the body of a refusal. Gemini's is a list of one.
func readRefusal(body []byte) endpoint.Refusal {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var envelope struct {
		Error json.RawMessage
		Code  text // x.ai has it beside the error
	}
	if json.Unmarshal(body, &envelope) == nil && says(envelope.Error) {
		body = envelope.Error
	}
	said := sentError(body)
	if said.Code == "" {
		said.Code = string(envelope.Code)
	}
	if said.Kind != model.ErrAuth { // waiting does not help a 429 whose cause is the account
		said.Kind = ""
	}
	return endpoint.Refusal(*said)
}

// failed returns the error of an answer that cannot be read, or that holds an
// error of the server.
func (m *Model) failed(err error) error {
	if sent, ok := errors.AsType[*wireError](err); ok {
		return m.at.Sent(endpoint.Refusal(*sent))
	}
	return m.at.Errorf(model.ErrProtocol, err)
}

// wireError is an error that the server has sent.
type wireError endpoint.Refusal

func (e *wireError) Error() string { return e.Text }

// sentError reads an error object, in the shapes that servers give it: OpenAI's
// {"message", "type", "code"}, with a number for the code at OpenRouter and
// vLLM, or a mere string at Ollama.
func sentError(data []byte) *wireError {
	var object struct {
		Message text
		Detail  text // FastAPI
		Type    text
		Code    text
		NCtx    number `json:"n_ctx"` // llama.cpp: its window
	}
	var words string
	switch {
	case json.Unmarshal(data, &object) == nil && object.Message+object.Detail != "":
		words = string(cmp.Or(object.Message, object.Detail))
		if object.NCtx > 0 && !strings.Contains(words, strconv.Itoa(int(object.NCtx))) {
			words += fmt.Sprintf(" (n_ctx %d)", object.NCtx)
		}
	case json.Unmarshal(data, &words) == nil:
	default:
		words = string(bytes.TrimSpace(data))
	}
	e := &wireError{Kind: model.ErrUnavailable, Text: words}
	if status, err := strconv.Atoi(string(object.Code)); err == nil && status >= 400 && status < 600 {
		e.Kind = endpoint.KindOf(status)
	}
	for _, name := range []text{object.Type, object.Code} {
		if kind, ok := errorKinds[string(name)]; ok {
			e.Kind = kind
		}
		if name != "" && e.Code != "context_length_exceeded" {
			e.Code = string(name)
		}
	}
	return e
}

// errorKinds are the types and codes of errors that are in use.
var errorKinds = map[string]model.ErrorKind{
	"invalid_request_error":   model.ErrInvalid,
	"BadRequestError":         model.ErrInvalid, // vLLM
	"context_length_exceeded": model.ErrInvalid,
	"authentication_error":    model.ErrAuth,
	"invalid_api_key":         model.ErrAuth,
	"insufficient_quota":      model.ErrAuth,
	"rate_limit_exceeded":     model.ErrRateLimited,
}
