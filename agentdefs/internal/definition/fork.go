package definition

import (
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
)

// MaxForkTurns is the most turns of a conversation that forkContext names.
const MaxForkTurns = 1000

// forkContext returns how many turns a value of the field means.
func (p *parser) forkContext(e agentfile.Entry) int {
	if e.Node != nil && e.Node.Kind == yaml.ScalarNode {
		switch strings.ToLower(strings.TrimSpace(e.Node.Value)) {
		case "all":
			return -1
		case "none":
			return 0
		}
	}
	n, _ := p.Int(e, 1, MaxForkTurns)
	return n
}

func forkSchema() *jsonschema.Schema { return anyOf(words("all", "none")(), integer(MaxForkTurns)()) }
