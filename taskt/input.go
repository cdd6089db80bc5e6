package taskt

import (
	"encoding/json"
	"fmt"
)

// ReadInput reads a call as a front door gets it: one JSON object and nothing
// else, for an agent that a host may call now. If no such agent exists, the
// error is an [*UnknownAgentError].
func (s *Service) ReadInput(data []byte) (Input, error) {
	var whole json.RawMessage // refuses what follows the object
	if err := json.Unmarshal(data, &whole); err != nil {
		return Input{}, fmt.Errorf("the arguments of task: %w", err)
	}
	in, err := parseInput(whole)
	if err != nil {
		return Input{}, err
	}
	_, err = s.Find(in.AgentType)
	return in, err
}
