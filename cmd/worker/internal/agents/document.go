package agents

import (
	"encoding/json"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/cmd/worker/internal/app"
	"github.com/agentworker/worker/permission"
)

// Agent is an agent as --json prints it.
type Agent struct {
	Name            string          `json:"name"`
	Description     string          `json:"description"`
	Mode            agentdefs.Mode  `json:"mode"`
	MaxSteps        int             `json:"maxSteps"`
	Source          string          `json:"source"`
	State           string          `json:"state"`             // ok or stale
	Shadows         string          `json:"shadows,omitempty"` // the file that it replaces, or "built-in"
	Aliases         []string        `json:"aliases"`
	Callers         []string        `json:"callers"`                 // null: any
	CalledByAgent   bool            `json:"calledByAgent,omitempty"` // caller: agent
	AllowAgents     []string        `json:"allowAgents"`             // null: all
	Skills          []string        `json:"skills,omitempty"`        // that its file preloads
	Model           string          `json:"model,omitempty"`
	Temperature     *float64        `json:"temperature,omitempty"`
	TopP            *float64        `json:"topP,omitempty"`
	MaxOutputTokens int             `json:"maxOutputTokens,omitempty"`
	Effort          string          `json:"effort,omitempty"`
	TimeoutSeconds  int             `json:"timeoutSeconds,omitempty"` // 0 means the worker's
	Background      bool            `json:"background"`
	Detached        bool            `json:"detached,omitempty"`
	Worktree        bool            `json:"worktree,omitempty"`    // isolation: worktree
	ForkContext     int             `json:"forkContext,omitempty"` // turns; -1: all
	Hidden          bool            `json:"hidden"`
	Inspectable     bool            `json:"inspectable"`
	Color           string          `json:"color,omitempty"`
	Output          json.RawMessage `json:"output,omitempty"`
	May             string          `json:"may"`               // what the rules let it do, in a few words
	Missing         []string        `json:"missing,omitempty"` // tools that its file names and that are not here
	Permission      []Rule          `json:"permission"`        // in the order in which the last match wins
	Prompt          string          `json:"prompt"`
}

// Rule is a rule as --json prints it.
type Rule struct {
	Tool    string            `json:"tool"`
	Pattern string            `json:"pattern"`
	Action  permission.Action `json:"action"`
	Source  string            `json:"source"`
}

// NewAgent returns the document of an agent, which may do what rules allow.
func NewAgent(d *agentdefs.Definition, rules *app.InForce) Agent {
	doc := Agent{
		Name: d.Name, Description: d.Description, Mode: d.Mode, MaxSteps: d.MaxSteps,
		Source: Origin(d), State: State(d), Shadows: d.Shadows, Aliases: append([]string{}, d.Aliases...), Callers: d.Callers,
		CalledByAgent: d.CalledByAgent, AllowAgents: d.AllowAgents, Skills: d.Skills,
		Model: d.Model, Temperature: d.Temperature, TopP: d.TopP, MaxOutputTokens: d.MaxOutputTokens, Effort: d.Effort,
		TimeoutSeconds: int(d.Timeout / time.Second), Background: d.Background, Detached: d.Detached, Worktree: d.Worktree, ForkContext: d.ForkContext, Hidden: d.Hidden, Inspectable: d.Inspectable,
		Color: d.Color, Output: d.Output, May: may(d, rules), Missing: d.Missing(agentdefs.Exists), Permission: []Rule{}, Prompt: d.Prompt,
	}
	for r := range d.Permission.Rules() {
		doc.Permission = append(doc.Permission, Rule{r.Tool, r.Pattern, r.Action, r.Source.String()})
	}
	return doc
}

// State says whether an agent is what its file says.
func State(d *agentdefs.Definition) string {
	if d.Stale {
		return "stale"
	}
	return "ok"
}

// Snapshot is a snapshot as --json prints it.
type Snapshot struct {
	Folder      string                 `json:"folder"` // empty means no agent folder
	Agents      []Agent                `json:"agents"`
	Unserved    []agentdefs.Unserved   `json:"unserved"`
	Unread      []agentdefs.Unread     `json:"unread"` // folders that hold agent files and are not read
	Diagnostics []agentdefs.Diagnostic `json:"diagnostics"`
}

// may says in a few words what the agent may do under rules.
func may(d *agentdefs.Definition, rules *app.InForce) string {
	return d.May(rules.Layers(permission.Who{Agent: d.Name}))
}

// NewSnapshot returns the document of a snapshot, whose agents may do what rules allow.
func NewSnapshot(s *agentdefs.Snapshot, rules *app.InForce) Snapshot {
	doc := Snapshot{
		s.Dir(), []Agent{}, append([]agentdefs.Unserved{}, s.Unserved()...), append([]agentdefs.Unread{}, s.Unread()...), append([]agentdefs.Diagnostic{}, s.Diagnostics()...),
	}
	for _, d := range s.Agents() {
		doc.Agents = append(doc.Agents, NewAgent(d, rules))
	}
	return doc
}

// BuiltIn is the origin of agents, and the file of rules, that the program itself has.
const BuiltIn = "built in"

// Origin says where an agent is from: its file, or [BuiltIn].
func Origin(d *agentdefs.Definition) string {
	if d.BuiltIn {
		return BuiltIn
	}
	return d.File
}
