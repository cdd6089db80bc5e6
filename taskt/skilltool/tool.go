package skilltool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentworker/worker/agentdefs/skills"
	"github.com/agentworker/worker/internal/strictjson"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// Tool is the tool by which a model loads a skill.
type Tool struct {
	usable []*skills.Skill
	loaded []*skills.Skill // their texts are in the system prompt
	paths  permission.Workspace
	hooks  Hooks
	spec   tool.Spec
}

// Hooks are what the tool needs of its session. Each may be nil.
type Hooks struct {
	// Given reports whether the session's conversation has a skill, by the opening of its frame.
	Given func(call *tool.Call, opening string) bool

	// Subagent returns the call that has an agent do something: see [skills.Skill.Fork]. It is
	// nil where the session starts no subagents, and returns nil where it can't call the agent.
	Subagent func(agent, description, prompt string) tool.Beginner
}

// New returns the tool for skills, of which some are loaded from the start. paths are those of
// the session.
func New(usable, loaded []*skills.Skill, paths permission.Workspace, hooks Hooks) *Tool {
	names := []string{} // none is an empty list
	for _, s := range usable {
		names = append(names, s.Name)
	}
	enum, err := json.Marshal(names)
	if err != nil { // texts always have a JSON form
		panic(err)
	}
	forks := hooks.Subagent != nil && slices.ContainsFunc(usable, func(s *skills.Skill) bool { return s.Fork })
	about, more := "", ""
	if forks {
		about = " Some skills are done by a subagent: the call returns its result, and arguments says what it is to do."
		more = fmt.Sprintf(`,"arguments":{"type":"string","maxLength":%d,"description":"for a skill that a subagent does: what it is to do, with all that it has to know; it knows nothing of your conversation"}`, maxArguments)
	}
	return &Tool{usable, loaded, paths, hooks, tool.Spec{
		Name: toolcatalog.Skill,
		Description: "Loads a skill: instructions for a kind of work, which your system prompt lists. Load one before you begin such work. " +
			"With file it returns a file of the skill's folder instead." + about,
		InputSchema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"name":{"type":"string","enum":%s,"description":"the skill"},`+
			`"file":{"type":"string","minLength":1,"maxLength":1000,"description":"a file that the loaded skill lists, by its path in the skill's folder; leave it out to load the skill"}%s},`+
			`"required":["name"],"additionalProperties":false}`, enum, more)),
		ReadOnly:     true,
		Lasting:      true,
		Delegates:    forks,
		OwnTimeLimit: forks,
		Unavailable:  len(usable) == 0,
	}}
}

// Has reports whether the tool is for the same skills as an offer, of which none is preloaded.
func (t *Tool) Has(o *Offer) bool {
	return slices.Equal(t.usable, o.Usable) && len(o.Preloaded) == 0
}

type args struct {
	Name string `json:"name"`
	File string `json:"file"`

	Arguments string `json:"arguments"`
}

// Spec implements [tool.Tool].
func (t *Tool) Spec() tool.Spec { return t.spec }

// read returns what a call asks for.
func (t *Tool) read(data json.RawMessage) (in args, s *skills.Skill, err error) {
	if err = strictjson.Decode(data, &in); err != nil {
		return in, nil, err
	}
	i := slices.IndexFunc(t.usable, func(s *skills.Skill) bool { return s.Name == in.Name })
	if i < 0 {
		var names []string
		for _, s := range t.usable {
			names = append(names, s.Name)
		}
		return in, nil, fmt.Errorf("there is no skill %q; the skills are: %s", termtext.OneLine(in.Name, termtext.MaxTitle), termtext.CutBytes(strings.Join(names, ", "), 2000))
	}
	if n := utf8.RuneCountInString(in.Arguments); n > maxArguments {
		return in, nil, fmt.Errorf("arguments has %d characters, more than the %d that a skill takes", n, maxArguments)
	}
	return in, t.usable[i], nil
}

// Values implements [tool.Tool]: the name of the skill, and its file, for rules that deny it.
func (t *Tool) Values(data json.RawMessage) ([]permission.Value, error) {
	in, s, err := t.read(data)
	if err != nil {
		return nil, err
	}
	return values(t.paths, s, in.File)
}

// Describe implements [tool.Tool].
func (t *Tool) Describe(call *tool.Call) tool.Description {
	in, s, err := t.read(call.Args)
	if err != nil {
		return tool.DescribeArguments("load a skill", call.Args)
	}
	if in.File != "" {
		return tool.DescribeArguments(fmt.Sprintf("read %s of the skill %s (%s)", termtext.OneLine(in.File, termtext.MaxLabel), s.Name, s.File), call.Args, "name", "file")
	}
	if s.Fork && t.hooks.Subagent != nil {
		return tool.DescribeArguments(fmt.Sprintf("start a subagent for the skill %s (%s)", s.Name, s.File), call.Args, "name", "arguments")
	}
	return tool.DescribeArguments(fmt.Sprintf("load the skill %s (%s)", s.Name, s.File), call.Args, "name")
}

// Run implements [tool.Tool].
func (t *Tool) Run(_ context.Context, call *tool.Call) (tool.Result, error) {
	in, s, err := t.read(call.Args)
	if err != nil {
		return tool.Result{}, err
	}
	if in.File != "" {
		text, cut, err := s.ReadFile(in.File)
		if err != nil {
			return tool.Result{}, err
		}
		if cut {
			text += fmt.Sprintf("\n[It is cut off here: the file has more than %d KiB.]", skills.MaxResource>>10)
		}
		return tool.Result{Text: fmt.Sprintf("<skill_file skill=\"%s\" path=\"%s\">\n%s\n</skill_file>", s.Name, attribute.Replace(in.File), termtext.EscapeTags(strings.TrimSuffix(text, "\n"))), Truncated: cut}, nil
	}
	if slices.ContainsFunc(t.loaded, func(l *skills.Skill) bool { return l.Name == s.Name }) {
		return tool.Result{Text: fmt.Sprintf("The skill %s is loaded already: its text stands in your system prompt.", s.Name)}, nil
	}
	if t.hooks.Given != nil && t.hooks.Given(call, opening(s.Name)) {
		return tool.Result{Text: fmt.Sprintf("The skill %s is loaded already: its text stands above in this conversation.", s.Name)}, nil
	}
	content, err := s.Read()
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Text: frame(s, content, alone(s)), Truncated: content.Cut}, nil
}
