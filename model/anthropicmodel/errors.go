package anthropicmodel

import (
	"cmp"
	"encoding/json"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/endpoint"
)

// readRefusal reads the body of a refusal.
func readRefusal(body []byte) endpoint.Refusal {
	var envelope struct {
		Error struct {
			Type    string
			Message string
		}
	}
	if json.Unmarshal(body, &envelope) != nil || envelope.Error.Message == "" {
		return endpoint.Refusal{Text: cmp.Or(envelope.Error.Type, string(body)), Code: envelope.Error.Type, Kind: errorKinds[envelope.Error.Type]}
	}
	return endpoint.Refusal{Kind: errorKinds[envelope.Error.Type], Code: envelope.Error.Type, Text: envelope.Error.Message}
}

// sent returns the error that an event tells of.
func (m *Model) sent(data []byte) error {
	said := readRefusal(data)
	said.Kind = cmp.Or(said.Kind, model.ErrUnavailable)
	return m.at.Sent(said)
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
