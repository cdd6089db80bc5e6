package anthropicmodel

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/agentworker/worker/model"
)

// readRefusal reads the body of a refusal.
func readRefusal(body []byte) (text string, kind model.ErrorKind) {
	var envelope struct {
		Error struct {
			Type    string
			Message string
		}
	}
	if json.Unmarshal(body, &envelope) != nil || envelope.Error.Message == "" {
		return string(body), ""
	}
	return envelope.Error.Message, errorKinds[envelope.Error.Type]
}

// broken returns the error of a stream that err has ended. The SDK's own error
// for an error event is left out: it shows the request.
func (m *Model) broken(ctx context.Context, err error) error {
	var sent *anthropic.Error
	if ctx.Err() != nil || !errors.As(err, &sent) {
		return m.at.Broken(ctx, err)
	}
	text, kind := readRefusal([]byte(sent.RawJSON()))
	if kind == "" {
		kind = model.ErrUnavailable
	}
	if text == sent.RawJSON() {
		text = string(sent.Type())
	}
	return m.at.Sent(kind, text)
}

// errorKinds are the API's error types:
// https://platform.claude.com/docs/en/api/errors
var errorKinds = map[string]model.ErrorKind{
	"authentication_error":  model.ErrAuth,
	"permission_error":      model.ErrAuth,
	"billing_error":         model.ErrAuth,
	"invalid_request_error": model.ErrInvalid,
	"not_found_error":       model.ErrInvalid,
	"request_too_large":     model.ErrInvalid,
	"rate_limit_error":      model.ErrRateLimited,
	"api_error":             model.ErrUnavailable,
	"overloaded_error":      model.ErrUnavailable,
	"timeout_error":         model.ErrUnavailable,
}
