package openaiwire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/endpoint"
)

// ReadRefusal reads the body of a refusal. Gemini's is a list of one.
func ReadRefusal(body []byte) endpoint.Refusal {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var envelope struct {
		Error json.RawMessage
		Code  Text // x.ai has it beside the error
	}
	if json.Unmarshal(body, &envelope) == nil && Says(envelope.Error) {
		body = envelope.Error
	}
	said := SentError(body)
	if said.Code == "" {
		said.Code = string(envelope.Code)
	}
	if said.Kind != model.ErrAuth && said.Code != failedCall { // waiting does not help a 429 whose cause is the account
		said.Kind = ""
	}
	return endpoint.Refusal(*said)
}

// Error is an error that the server has sent.
type Error endpoint.Refusal

func (e *Error) Error() string { return e.Text }

// SentError reads an error object, in the shapes that servers give it: OpenAI's
// {"message", "type", "code"}, with a number for the code at OpenRouter and
// vLLM, or a mere string at Ollama.
func SentError(data []byte) *Error {
	var object struct {
		Message Text
		Detail  Text // FastAPI
		Type    Text
		Code    Text
		NCtx    Number `json:"n_ctx"` // llama.cpp: its window
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
	e := &Error{Kind: model.ErrUnavailable, Text: words}
	if status, err := strconv.Atoi(string(object.Code)); err == nil && status >= 400 && status < 600 {
		e.Kind = endpoint.KindOf(status)
	}
	for _, name := range []Text{object.Type, object.Code} {
		if kind, ok := errorKinds[string(name)]; ok {
			e.Kind = kind
		}
		if name != "" && e.Code != "context_length_exceeded" {
			e.Code = string(name)
		}
	}
	return e
}

// failedCall is Groq's code for a tool call that the model has written wrongly. The status is 400, but the
// next try may be right (https://console.groq.com/docs/tool-use).
const failedCall = "tool_use_failed"

// errorKinds are the types and codes of errors that are in use.
var errorKinds = map[string]model.ErrorKind{
	"invalid_request_error":   model.ErrInvalid,
	"BadRequestError":         model.ErrInvalid, // vLLM
	"context_length_exceeded": model.ErrInvalid,
	"authentication_error":    model.ErrAuth,
	"invalid_api_key":         model.ErrAuth,
	"insufficient_quota":      model.ErrAuth,
	"rate_limit_exceeded":     model.ErrRateLimited,
	failedCall:                model.ErrUnavailable,

	"usage_not_included": model.ErrAuth, "usage_limit_reached": model.ErrAuth, "insufficient_permissions": model.ErrAuth, // Responses
	"invalid_prompt": model.ErrInvalid, "bio_policy": model.ErrInvalid, "cyber_policy": model.ErrInvalid,
	"invalid_image": model.ErrInvalid, "invalid_image_format": model.ErrInvalid, "invalid_base64_image": model.ErrInvalid, "invalid_image_url": model.ErrInvalid,
	"invalid_image_mode": model.ErrInvalid, "image_too_large": model.ErrInvalid, "image_too_small": model.ErrInvalid, "image_parse_error": model.ErrInvalid,
	"image_content_policy_violation": model.ErrInvalid, "image_file_too_large": model.ErrInvalid, "empty_image_file": model.ErrInvalid,
	"unsupported_image_media_type": model.ErrInvalid, "invalid_encrypted_content": model.ErrInvalid, "rate_limit_error": model.ErrRateLimited,
}
