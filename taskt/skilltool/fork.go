package skilltool

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agentworker/worker/agentdefs/skills"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// Bounds of what a model says to the subagent of a skill.
const (
	maxArguments = 8000 // characters
	maxPlaces    = 10   // in the skill's text, that are replaced by it
)

// forkAgent is the agent of a skill whose file names none.
const forkAgent = "general"

var _ tool.Preparer = (*Tool)(nil)

// Description is what a person reads of the subagent of a skill.
func Description(skill string) string { return "skill " + skill }

// Prepare implements [tool.Preparer]: a skill that is meant for a subagent is the call that starts
// it. A session that can't start it loads the text.
func (t *Tool) Prepare(data json.RawMessage) (tool.Prepared, error) {
	in, s, err := t.read(data)
	if err != nil {
		return nil, err
	}
	if s.Fork && in.File == "" && t.hooks.Subagent != nil && !slices.Contains(t.loaded, s) {
		content, err := s.Read()
		if err != nil {
			return nil, err
		}
		for _, agent := range agentsOf(s) {
			if start := t.hooks.Subagent(agent, Description(s.Name), task(s, content, in.Arguments)); start != nil {
				return &forked{start, func() ([]permission.Value, error) { return values(t.paths, s, "") }}, nil
			}
		}
	}
	return loading{t, data}, nil
}

// agentsOf are the agents that may do a skill, the first that there is. What Claude Code calls
// general-purpose is general here, unless the workspace has an agent of that name.
func agentsOf(s *skills.Skill) []string {
	if strings.EqualFold(s.Agent, "general-purpose") {
		return []string{s.Agent, forkAgent}
	}
	return []string{cmp.Or(s.Agent, forkAgent)}
}

// alone tells a model to follow a skill itself, although a subagent is meant to.
func alone(s *skills.Skill) string {
	if !s.Fork {
		return ""
	}
	agent := ""
	if s.Agent != "" {
		agent = fmt.Sprintf(" %q", s.Agent)
	}
	return termtext.EscapeTags(fmt.Sprintf("[Its file says that it is meant for a subagent%s, which you can't start here: follow it yourself.]\n\n", agent))
}

// task is what a subagent is told to do.
func task(s *skills.Skill, c *skills.Content, arguments string) string {
	said := *c
	rest := ""
	if strings.Contains(said.Body, "$ARGUMENTS") {
		said.Body = strings.Replace(said.Body, "$ARGUMENTS", arguments, maxPlaces)
	} else if arguments != "" {
		rest = "\n\nARGUMENTS: " + arguments
	}
	return fmt.Sprintf("Do what the skill %s says, as far as your rules allow: it gives you no rights.\n%s%s", s.Name, frame(s, &said, ""), rest)
}

// forked is a call that starts a subagent. Both decide about it: what rules say of the skill, and
// of the agent.
type forked struct {
	tool.Beginner
	loads func() ([]permission.Value, error)
}

// Values implements [tool.Prepared].
func (f *forked) Values() ([]permission.Value, error) {
	starts, err := f.Beginner.Values()
	if err != nil {
		return nil, err
	}
	loads, err := f.loads()
	return slices.Concat(starts, loads), err
}

// loading is a call that loads a skill, or reads a file of it.
type loading struct {
	tool *Tool
	args json.RawMessage
}

// Values implements [tool.Prepared].
func (l loading) Values() ([]permission.Value, error) { return l.tool.Values(l.args) }

// Run implements [tool.Prepared].
func (l loading) Run(ctx context.Context, call *tool.Call) (tool.Result, error) {
	return l.tool.Run(ctx, call)
}
