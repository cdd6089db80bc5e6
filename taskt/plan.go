package taskt

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/agentdefs/instructions"
	"github.com/agentworker/worker/agentdefs/skills"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/conversation"
	"github.com/agentworker/worker/session/toolset"
	"github.com/agentworker/worker/taskt/memory"
	"github.com/agentworker/worker/taskt/offer"
	"github.com/agentworker/worker/taskt/skilltool"
	"github.com/agentworker/worker/taskt/workdir"
	"github.com/agentworker/worker/tool"
)

// planner says how the sessions of agents are opened.
type planner struct {
	agents Agents
	root   string               // the workspace's folder
	files  workdir.Files        // that are there
	shell  string               // the path of the shell that runs commands
	text   *instructions.Reader // of the workspace
	memory *memory.Memory       // nil means there is none
	skills *skills.Library      // nil means there are none
	rules  []permission.Rule    // at the end of every agent's own
	limits Limits
	log    *slog.Logger

	models, efforts map[string]string // by the names of agents in lower case

	tools    []tool.Tool                                                            // without those for subagents
	in       func(folder string) []tool.Tool                                        // the same tools in a folder of it; nil means that can't be done
	servers  workdir.Servers                                                        // whose tools there are besides; nil means none
	withTask func(tools []tool.Tool, by offer.Caller) []tool.Tool                   // adds the tools for subagents
	subagent func(by offer.Caller, agent, description, prompt string) tool.Beginner // the call that starts one; nil means that by can't call it
	planExit func(def *agentdefs.Definition) tool.Tool                              // for agents that may become another one

	sessions *session.Manager

	mu       sync.Mutex
	snapshot *agentdefs.Snapshot // of plans
	plans    map[planKey]*plan
}

// plan is how the sessions of an agent are opened, as long as the workspace's texts are the
// same.
type plan struct {
	text   *instructions.Set
	memory *memory.Text
	skills *skills.Set
	today  string
	spec   session.Spec
}

// planKey is what the session of an agent depends on.
type planKey struct {
	def   *agentdefs.Definition
	depth int // 0 means a primary agent's own session, 1: its children's
}

// spec returns the session in which an agent runs at a depth. It is made once for each agent
// of a snapshot, whose sessions share all that does not change.
func (p *planner) spec(def *agentdefs.Definition, depth int) (session.Spec, error) {
	snapshot, key, text, remembered, skills := p.agents.Snapshot(), planKey{def, depth}, p.text.Current(), p.remembered(def), p.skills.Current()
	p.mu.Lock()
	if p.snapshot != snapshot {
		p.snapshot, p.plans = snapshot, make(map[planKey]*plan)
	}
	made := p.plans[key]
	p.mu.Unlock()
	now := time.Now()
	today := now.Format(time.DateOnly)
	if made != nil && made.text == text && made.memory == remembered && made.skills == skills && made.today == today {
		return made.spec, nil
	}
	spec, err := p.newSpec(def, Setting{Root: p.root, Child: depth > 0, Text: text, Memory: remembered, Shell: p.shell, Today: now}, depth)
	if served, ok := snapshot.Agent(def.Name); err == nil && ok && served == def { // no other caller has another definition
		p.mu.Lock()
		if p.snapshot == snapshot {
			p.plans[key] = &plan{text, remembered, skills, today, spec}
		}
		p.mu.Unlock()
	}
	return spec, err
}

func (p *planner) newSpec(def *agentdefs.Definition, at Setting, depth int) (session.Spec, error) {
	rules, err := AgentRules(def, p.rules, depth, p.limits.Depth)
	if err != nil {
		return session.Spec{}, err
	}
	accept, err := acceptor(def.Output)
	if err != nil {
		return session.Spec{}, err
	}
	tools, err := p.toolSet(def, p.home())
	if err != nil {
		return session.Spec{}, err
	}
	name := strings.ToLower(def.Name)
	spec := session.Spec{
		Agent:      def.Name,
		System:     SystemPrompt(def, at),
		Params:     params(def),
		ToolSet:    tools,
		Compaction: helper(p.agents.Snapshot().Special(agentdefs.Compaction)),
		Accept:     accept,
		Checks:     checksOf(def.Checks),
		Rules:      rules,
		Hooks:      def.Hooks,
		MaxSteps:   def.MaxSteps,
		TimeLimit:  def.Timeout,
		Stall:      cmp.Or(def.Stall, p.limits.Stall),
		Terms:      newTerms(rules, nil, p.files),

		StallNotice: p.limits.StallNotice,
	}
	for _, model := range append(append([]string{def.Model}, def.Fallbacks...), session.SplitModels(p.models[name])...) {
		if model != "" {
			spec.Models = append(spec.Models, model)
		}
	}
	if depth > 0 {
		spec.TimeLimit = cmp.Or(spec.TimeLimit, p.limits.ChildTime)
	}
	spec.TimeLimit = p.limits.within(spec.TimeLimit)
	spec.Params.Effort, spec.Warnings = effort(def.Effort, p.efforts[name])
	return spec, nil
}

// lacking warns of what an agent's file names and its sessions lack: tools, and MCP servers. It
// waits until it is known which tools its servers have.
func (p *planner) lacking(ctx context.Context, def *agentdefs.Definition, tools *toolset.Set, at *workdir.Dir) (warnings []string) {
	servers, by := p.servers, def.Servers
	if at != nil {
		servers, by = at.Servers, by.With(at.Own)
	}
	if servers != nil {
		warnings = append(servers.Lacking(by), servers.Ready(ctx, by, def.Permission)...)
	}
	names := def.Missing(func(name string) bool {
		return agentdefs.Exists(name) || slices.ContainsFunc(tools.Names(), func(here string) bool { return permission.NamesTool(name, here) })
	})
	if len(names) > 0 {
		warnings = append(warnings, "its file names tools that are not here: "+strings.Join(names, ", ")+missingServers(names)+missingSearch(def, names))
	}
	return warnings
}

// missingServers says where to look if a name means a tool of an MCP server.
func missingServers(names []string) string {
	if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "mcp_") || strings.Contains(name, "/") }) {
		return "; 'worker mcp servers list' shows the MCP servers that there are"
	}
	return ""
}

// missingSearch says what to do if a name means a search of the web.
func missingSearch(def *agentdefs.Definition, names []string) string {
	for _, n := range def.Named {
		if slices.Contains(n.Tools, toolcatalog.WebSearch) && slices.Contains(names, n.Name) {
			return "; web_search needs a provider: see --web-search"
		}
	}
	return ""
}

// remembered is what agents have remembered of the workspace, for one that has a memory.
func (p *planner) remembered(def *agentdefs.Definition) *memory.Text {
	if p.memory == nil || !def.Memory {
		return nil
	}
	return p.memory.Current()
}

// toolSet returns the tools of an agent's sessions in a folder, of which some are given. The one
// for skills has all of them until [planner.equip].
func (p *planner) toolSet(def *agentdefs.Definition, at *workdir.Dir) (*toolset.Set, error) {
	tools, servers, root := at.Tools, at.Servers, at.Paths.Root
	all := append(p.withTask(tools, offer.CallerOf(def)), p.skillTool(p.skills.At(root).Current().ForModels(), nil, permission.Workspace{Root: root}, nil))
	if p.memory != nil && def.Memory {
		all = append(all, p.memory.Tool())
	}
	if def.PlanExit != "" {
		all = append(all, p.planExit(def))
	}
	set, err := toolset.New(all...)
	if err == nil && def.StopsUnanswered && set.Get(toolcatalog.AskUser) != nil {
		set = set.Replaced(p.sessions.QuestionsOrStop())
	}
	if err == nil && servers != nil {
		set = set.With(servers.Tools(def.Servers.With(at.Own)))
	}
	return set, err
}

// setting is where an agent runs: in a dir, or in the workspace if that is nil.
func (p *planner) setting(def *agentdefs.Definition, at *workdir.Dir, child bool) Setting {
	s := Setting{Root: p.root, Child: child, Memory: p.remembered(def), Shell: p.shell, Today: time.Now()}
	if at != nil {
		s.Root, s.Dir = at.Paths.Root, at.Folder
	}
	s.Text = p.text.At(s.Root).Current()
	return s
}

// home is the workspace as a dir.
func (p *planner) home() *workdir.Dir {
	return &workdir.Dir{Paths: permission.Workspace{Root: p.root}, Tools: p.tools, In: p.in, Servers: p.servers}
}

// session returns the spec of an agent's session at a depth. at is where it works; nil means the
// workspace. say adds what the caller says, such as rules. They decide which skills and
// instructions the agent may read, so those come last.
func (p *planner) session(def *agentdefs.Definition, depth int, at *workdir.Dir, say func(*session.Spec) error) (session.Spec, error) {
	spec, err := p.spec(def, depth)
	if err == nil && at != nil {
		spec.System = SystemPrompt(def, p.setting(def, at, depth > 0))
		spec.ToolSet, err = p.toolSet(def, at)
	}
	if err == nil {
		err = say(&spec)
	}
	if err == nil {
		err = p.equip(def, &spec, at)
	}
	return spec, err
}

// equip gives the session of a spec the skills and instructions that its rules allow. The spec is
// complete otherwise. at is where it works; nil means the workspace.
func (p *planner) equip(def *agentdefs.Definition, spec *session.Spec, at *workdir.Dir) error {
	paths := permission.Workspace{Root: p.root, Home: p.skills.Home()}
	if at != nil {
		paths = at.Paths
	}
	set, said := p.skills.At(paths.Root).Current(), p.text.At(paths.Root).Current()
	spec.About = p.about(spec, paths, said)
	if len(set.All())+len(def.Skills) == 0 && !said.Chosen() {
		spec.Warnings = append(slices.Clip(spec.Warnings), said.Warnings()...)
		return nil
	}
	rules, err := p.sessions.Ruling(spec)
	if err != nil {
		return err
	}
	kept := said.Keep(Readable(paths, rules.Withheld))
	spec.Warnings = append(slices.Clip(spec.Warnings), kept.Warnings()...)
	o := skilltool.Choose(set, def.Skills, paths, rules)
	if text := o.Warning(); text != "" {
		spec.Warnings = append(slices.Clip(spec.Warnings), text)
	}
	if section := o.Section(); section != "" || kept != said { // all other sessions of the agent share one text
		in := p.setting(def, at, spec.Parent != nil)
		in.Text, in.Skills = kept, section
		spec.System = SystemPrompt(def, in)
	}
	var by *offer.Caller
	if rules.Has(toolcatalog.Task) {
		by = new(offer.CallerOf(def))
	}
	spec.ToolSet = spec.ToolSet.Replaced(p.skillTool(o.Usable, o.Preloaded, paths, by))
	return nil
}

// about returns what a workspace says to the session of a spec about files that it comes to. The
// rules decide that are in force at the time.
func (p *planner) about(spec *session.Spec, paths permission.Workspace, said *instructions.Set) func(path string) []conversation.Note {
	asked := *spec
	return func(path string) (notes []conversation.Note) {
		rules, err := p.sessions.Ruling(&asked)
		if err != nil {
			return nil
		}
		for _, f := range said.About(path, Readable(paths, rules.Withheld)) {
			notes = append(notes, conversation.Note{File: f.Name, Text: f.Note()})
		}
		return notes
	}
}

// skillTool returns the tool by which sessions load skills. by calls the subagents of skills; nil
// means that the session has none.
func (p *planner) skillTool(usable, loaded []*skills.Skill, paths permission.Workspace, by *offer.Caller) tool.Tool {
	hooks := skilltool.Hooks{Given: func(call *tool.Call, opening string) bool {
		return p.sessions.Given(call.SessionID, call.ID, opening)
	}}
	if by != nil {
		hooks.Subagent = func(agent, description, prompt string) tool.Beginner {
			return p.subagent(*by, agent, description, prompt)
		}
	}
	return skilltool.New(usable, loaded, paths, hooks)
}

// AgentRules returns the ruleset of an agent's session at a depth: the agent's own rules, then
// those in own, which no file can lift. Where nesting ends, at the deepest, the last one denies
// task.
func AgentRules(def *agentdefs.Definition, own []permission.Rule, depth, deepest int) (*permission.Ruleset, error) {
	if depth >= deepest {
		own = append(slices.Clone(own), noTask(deepest))
	}
	return def.Permission.Append(own...)
}

// noTask returns the rule that ends nesting at a depth.
func noTask(deepest int) permission.Rule {
	note := fmt.Sprintf("Agents may call agents %d deep here (--max-depth), and nobody can approve a deeper call. ", deepest)
	if deepest < maxDepth {
		note += fmt.Sprintf("A worker that is started with --max-depth %d allows it.", deepest+1)
	} else {
		note += "That is the most that --max-depth can be."
	}
	return permission.Rule{
		Tool: toolcatalog.Task, Pattern: "*", Action: permission.Deny,
		Source: permission.Source{File: "nesting limit"}, Note: note,
	}
}

// helper returns an agent of the worker's own, such as summary, as sessions use it.
func helper(def *agentdefs.Definition) *session.Helper {
	return &session.Helper{System: def.Prompt, Model: def.Model, Params: params(def)}
}

// params are how the model of an agent is to answer.
func params(def *agentdefs.Definition) session.Params {
	return session.Params{
		MaxOutputTokens: def.MaxOutputTokens,
		Temperature:     def.Temperature,
		TopP:            def.TopP,
		Effort:          def.Effort,
	}
}

// checksOf returns the checks of an agent file or a call as sessions make them.
func checksOf(checks []agentdefs.Check) []session.Check {
	made := make([]session.Check, 0, len(checks))
	for _, c := range checks {
		made = append(made, session.Check{Path: c.Path, Command: c.Command, Timeout: c.Timeout()})
	}
	return made
}

// effort returns the first word that is an effort, and a warning for each before it. Empty
// means that of the model.
func effort(words ...string) (found string, warnings []string) {
	for _, word := range words {
		switch {
		case model.IsEffort(word):
			return word, warnings
		case word != "":
			warnings = append(warnings, fmt.Sprintf("the effort %.50q is not used: it is none of %s", word, strings.Join(model.Efforts, ", ")))
		}
	}
	return "", warnings
}

// readOnly reports whether an agent's own rules deny every tool that changes something.
func (p *planner) readOnly(def *agentdefs.Definition) bool {
	if def.PlanExit != "" { // it may become an agent that can
		return false
	}
	tools := p.tools
	if p.servers != nil {
		tools = slices.Concat(tools, p.servers.Tools(def.Servers)())
	}
	return !slices.ContainsFunc(tools, func(t tool.Tool) bool {
		spec := t.Spec()
		return !spec.ReadOnly && !def.Permission.DeniesAll(spec.Name)
	})
}
