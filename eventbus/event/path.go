package event

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Hop is one session on the way from a root session down.
type Hop struct {
	SessionID string `json:"sessionId"`
	AgentType string `json:"agentType,omitempty"` // empty for a root that stands for a caller
}

// Path leads from a root session to a session: the root first, the session
// itself last. It says where the session's events stand.
type Path []Hop

// WorkspaceStream is what stands in place of a session's id for the stream of
// the workspace as a whole. No session has it: their ids begin with "ses_".
const WorkspaceStream = "workspace"

// WorkspacePath leads to the stream of the workspace as a whole, which has the
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

// Subject returns the subject, below prefix, of the events of p's session and
// of all below it, without the last token.
func (p Path) Subject(prefix string) (string, error) {
	if len(p) == 0 {
		return "", fmt.Errorf("a path without a session")
	}
	var b strings.Builder
	b.WriteString(prefix)
	for _, hop := range p {
		if !ValidID(hop.SessionID) {
			return "", fmt.Errorf("%.80q is no session id", hop.SessionID)
		}
		b.WriteByte('.')
		b.WriteString(hop.SessionID)
	}
	return b.String(), nil
}

// Envelope returns what stands before and after an event of p's session in the
// root's view: nothing for the root itself.
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

// Strip takes depth envelopes off an event.
func Strip(raw []byte, depth int) (json.RawMessage, error) {
	for range depth {
		var env SubagentEvent
		if err := json.Unmarshal(raw, &env); err != nil {
			return nil, fmt.Errorf("opening an envelope: %w", err)
		}
		if env.Event == nil {
			return nil, fmt.Errorf("opening an envelope: there is no event in it")
		}
		raw = env.Event
	}
	return raw, nil
}

func quote(s string) []byte {
	b, err := json.Marshal(s)
	if err != nil { // a string always has a JSON form
		panic(err)
	}
	return b
}

// MaxID is how long the id of a session, an approval or a workspace may be, in
// bytes. A NATS server ends the connection of a client that sends a subject
// which its line can't hold (4 KiB), and with it all that the client does.
const MaxID = 64

// ValidID reports whether s can be an id: one token of a subject, of at most
// [MaxID] letters and digits of ASCII, "-" and "_".
func ValidID(s string) bool {
	return s != "" && len(s) <= MaxID && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}
