package record

import "github.com/agentworker/worker/model"

// Total is what a session and all sessions below it have used. A detached one that ran on when
// its caller had ended is not among them.
type Total struct {
	Sessions  int         `json:"sessions"` // with a model of their own
	Steps     int         `json:"steps"`    // model calls
	ToolCalls int         `json:"toolCalls"`
	Usage     model.Usage `json:"usage"`
}

// Add returns the sum of t and u.
func (t Total) Add(u Total) Total {
	return Total{t.Sessions + u.Sessions, t.Steps + u.Steps, t.ToolCalls + u.ToolCalls, addUsage(t, u)}
}

// addUsage adds what sessions have used. No session has used nothing: its cost is known.
func addUsage(t, u Total) model.Usage {
	switch {
	case t.Sessions == 0:
		return u.Usage
	case u.Sessions == 0:
		return t.Usage
	}
	return t.Usage.Add(u.Usage)
}

// Own returns what a session itself has used. The session of a caller has no model, and its
// calls are not counted.
func (r *Record) Own() Total {
	if r.Agent == "" {
		return Total{}
	}
	return Total{1, r.Steps, r.Work.ToolCalls, r.Usage}
}
