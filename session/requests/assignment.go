package requests

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/session/outcome"
)

// Assignment is another task, or role, of a session. What is empty stays.
type Assignment struct {
	Objective string `json:"objective,omitempty"` // what it is to do
	Role      string `json:"role,omitempty"`      // as what, in a few words
}

const (
	maxObjective = 16 << 10 // bytes
	maxRole      = 256      // bytes
)

// Check reports what is wrong with it.
func (a *Assignment) Check() error {
	switch {
	case len(a.Objective) > maxObjective:
		return fmt.Errorf("objective has %d bytes, more than %d", len(a.Objective), maxObjective)
	case len(a.Role) > maxRole:
		return fmt.Errorf("role has %d bytes, more than %d", len(a.Role), maxRole)
	}
	return nil
}

// Told is a message to the session's model which says so, and has a note behind it. The
// values are quoted: none can end the brackets.
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
	told := fmt.Sprintf("[worker: your assignment has changed: %s]", outcome.CleanText(strings.Join(parts, ", ")))
	return strings.TrimSpace(told + "\n" + note)
}

// Event is the event that tells of it.
func (a *Assignment) Event() event.AssignmentChanged { return event.AssignmentChanged(*a) }
