package openaimodel

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/endpoint"
)

// readRefusal reads the body of a refusal.
func readRefusal(body []byte) (text string, kind model.ErrorKind) {
	var envelope struct{ Error json.RawMessage }
	if json.Unmarshal(body, &envelope) == nil && len(envelope.Error) > 0 {
		body = envelope.Error
	}
	said := sentError(body)
	if said.Kind == model.ErrAuth { // waiting does not help a 429 whose cause is the account
		kind = said.Kind
	}
	return said.Message, kind
}

// failed returns the error of an answer that cannot be read, or that holds an
// error of the server.
func (m *Model) failed(err error) error {
	var sent *wireError
	if errors.As(err, &sent) {
		return m.at.Sent(sent.Kind, sent.Message)
	}
	return m.at.Errorf(model.ErrProtocol, err)
}

// wireError is an error that the server has sent.
type wireError struct {
	Kind    model.ErrorKind
	Message string
}

func (e *wireError) Error() string { return e.Message }

// sentError reads an error object, in the shapes that servers give it: OpenAI's
// {"message", "type", "code"}, with a number for the code at OpenRouter and
// vLLM, or a mere string at Ollama.
func sentError(data []byte) *wireError {
	var object struct {
		Message string
		Type    text
		Code    text
	}
	var words string
	switch {
	case json.Unmarshal(data, &object) == nil && object.Message != "":
		words = object.Message
	case json.Unmarshal(data, &words) == nil:
	default:
		words = string(bytes.TrimSpace(data))
	}
	e := &wireError{Kind: model.ErrUnavailable, Message: words}
	if status, err := strconv.Atoi(string(object.Code)); err == nil && status >= 400 {
		e.Kind = endpoint.KindOf(status)
	}
	for _, name := range []text{object.Type, object.Code} {
		if kind, ok := errorKinds[string(name)]; ok {
			e.Kind = kind
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
