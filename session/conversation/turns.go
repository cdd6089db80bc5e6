package conversation

import (
	"slices"

	"github.com/agentworker/worker/model"
)

// AllTurns is the number of turns of a whole conversation.
const AllTurns = -1

// From returns where the last turns of a conversation begin.
func From(messages []model.Message, turns int) int {
	if turns == AllTurns {
		return 0
	}
	for i, m := range slices.Backward(messages) {
		if m.Role == model.User && len(m.ToolResults) == 0 {
			if turns--; turns == 0 {
				return i
			}
		}
	}
	return 0
}
