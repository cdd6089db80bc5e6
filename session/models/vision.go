package models

import (
	"strings"

	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/price"
)

// seeing are the providers whose models take images if nothing else is known of one. All models
// of Anthropic's API do (https://docs.anthropic.com/en/docs/vision). A host chooses its model for
// what it is asked. A script does not look at what it is sent.
var seeing = map[string]bool{"anthropic": true, "host": true, "replay": true}

// Sees reports whether a model is known to take images.
func (m *Models) Sees(of model.Model) bool {
	if row := m.Prices.Row(of.Name()); row != (price.Row{}) {
		return row.Vision
	}
	provider, _, _ := strings.Cut(of.Name(), "/")
	return seeing[provider]
}
