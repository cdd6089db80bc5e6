package openaimodel

import (
	"errors"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/internal/endpoint"
	"github.com/agentworker/worker/model/internal/openaiwire"
)

// failed returns the error of an answer that cannot be read, or that holds an
// error of the server.
func (m *Model) failed(err error) error {
	if sent, ok := errors.AsType[*openaiwire.Error](err); ok {
		return m.at.Sent(endpoint.Refusal(*sent))
	}
	return m.at.Errorf(model.ErrProtocol, err)
}
