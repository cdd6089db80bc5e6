package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Hop is one session on the way from a root session down.
type Hop struct {
	SessionID string `json:"sessionId"`
	AgentType string `json:"agentType,omitempty"` // empty for a root that represents a caller
}

// Path leads from a root session to a session: the root first, the session itself
// last. It determines the subjects of the session's events.
type Path []Hop

// WorkspaceStream takes the place of a session's id for the stream of the workspace
// as a whole. No session has this id: theirs begin with "ses_".
const WorkspaceStream = "workspace"

// WorkspacePath leads to the stream of the workspace as a whole, which contains the
// [AgentsChanged] events and never ends.
func WorkspacePath() Path { return Path{{SessionID: WorkspaceStream}} }

// Child returns the path of a child of p's session.
func (p Path) Child(sessionID, agentType string) Path {
	return append(p[:len(p):len(p)], Hop{sessionID, agentType})
}

// IDs returns the sessions' ids, the root's first.
func (p Path) IDs() []string {
	ids := make([]string, len(p))
	for i, hop := range p {
		ids[i] = hop.SessionID
	}
	return ids
}

// Subject returns the subject below prefix of the events of p's session, without
// their type. The events of the sessions below it are on subjects below this one.
func (p Path) Subject(prefix string) (string, error) {
	if len(p) == 0 {
		return "", errors.New("the path has no session")
	}
	var b strings.Builder
	b.WriteString(prefix)
	for _, hop := range p {
		if !ValidID(hop.SessionID) {
			return "", fmt.Errorf("%.80q is not a session id", hop.SessionID)
		}
		b.WriteByte('.')
		b.WriteString(hop.SessionID)
	}
	return b.String(), nil
}

// Envelope returns the JSON before and after an event of p's session in the root's view. Both
// are empty for the root itself.
func (p Path) Envelope() (before, after []byte) {
	for _, hop := range p[1:] {
		before = append(before, `{"type":"subagent_event","agentType":`...)
		before = append(before, quote(hop.AgentType)...)
		before = append(before, `,"sessionId":`...)
		before = append(before, quote(hop.SessionID)...)
		before = append(before, `,"event":`...)
		after = append(after, '}')
	}
	return before, after
}

func quote(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil { // a string always has a JSON form
		panic(err)
	}
	return b
}

// MaxID is the maximum length of the id of a session, an approval or a workspace,
// in bytes. A NATS server closes the connection of a client that sends a subject
// longer than its line limit (4 KiB), and with it everything that the client does.
const MaxID = 64

// ValidID reports whether s can be an id: one token of a subject, with 1 to [MaxID]
// ASCII letters and digits, "-" and "_".
func ValidID(s string) bool {
	return s != "" && len(s) <= MaxID && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}
