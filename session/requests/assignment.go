package requests

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
)

// Assignment is a new task, a new role, or both, for a session. An empty field changes
// nothing.
type Assignment struct {
	Objective string `json:"objective,omitempty"` // the new task
	Role      string `json:"role,omitempty"`      // the new role, in a few words
}

const (
	maxObjective = 16 << 10 // bytes
	maxRole      = 256      // bytes
)

// Check returns an error if a field is too long.
func (a *Assignment) Check() error {
	switch {
	case len(a.Objective) > maxObjective:
		return fmt.Errorf("objective has %d bytes, more than %d", len(a.Objective), maxObjective)
	case len(a.Role) > maxRole:
		return fmt.Errorf("role has %d bytes, more than %d", len(a.Role), maxRole)
	}
	return nil
}

// Told returns a message that tells the session's model of the assignment, followed by a
// note. The values are quoted, so that no value can end the brackets.
func (a *Assignment) Told(note string) string {
	if *a == (Assignment{}) {
		return note
	}
	var parts []string
	for _, part := range []struct{ name, value string }{{"role", a.Role}, {"objective", a.Objective}} {
		if part.value != "" {
			var quoted strings.Builder
			encoder := json.NewEncoder(&quoted)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(part.value); err != nil { // strings always have a JSON form
				panic(err)
			}
			parts = append(parts, part.name+" "+strings.TrimSpace(quoted.String()))
		}
	}
	told := fmt.Sprintf("[worker: your assignment has changed: %s]", termtext.EscapeTags(strings.Join(parts, ", ")))
	return strings.TrimSpace(told + "\n" + note)
}

// Event returns the event that reports the assignment.
func (a *Assignment) Event() event.AssignmentChanged { return event.AssignmentChanged(*a) }
