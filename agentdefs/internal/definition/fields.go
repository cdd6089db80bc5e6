package definition

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/access"
	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
)

// A new field of agent files has its place in [Definition] and its row in fields,
// both in this file.

// Mode says where an agent may be used.
type Mode string

// The modes. A file that names none is a Subagent.
const (
	Primary  Mode = "primary"  // talks to a person; the task tool does not offer it
	Subagent Mode = "subagent" // run by the task tool
	All      Mode = "all"      // both
)

// Limits of the steps of one run, and what holds where a file is silent.
const (
	DefaultMaxSteps = 10
	MaxMaxSteps     = 1000
)

// field is a row of the table: how the field is written, what an editor should
// know of it, and where its value goes.
type field struct {
	agentfile.Field
	about  string
	value  func() *jsonschema.Schema // a new one for each spelling: a schema is a tree; nil means not offered
	preset any                       // the default; nil if a file cannot write it
	set    func(p *parser, d *Definition, e agentfile.Entry)
}

// fields are in the order in which an editor should offer them.
var fields = []*field{
	{agentfile.Field{ID: "name", Spellings: []string{"name"}, Textual: true},
		"The agent's name, which a task call uses. Without it the file's name counts.", nameSchema, nil,
		func(p *parser, d *Definition, e agentfile.Entry) {
			p.name = e
			if s, ok := p.Text(e); ok && s != "" {
				d.Name = s
			}
		}},
	{agentfile.Field{ID: "description", Spellings: []string{"description"}, Near: []string{"description"}, Textual: true},
		"What the agent is good for, when to use it, and what comes back. The calling model chooses by this alone.", filledText, nil,
		func(p *parser, d *Definition, e agentfile.Entry) {
			p.description = e
			d.Description, _ = p.Text(e)
		}},
	{agentfile.Field{ID: "mode", Spellings: []string{"mode"}},
		"subagent: run by the task tool. primary: run by a person. all: both.", words(string(Subagent), string(Primary), string(All)), string(Subagent),
		func(p *parser, d *Definition, e agentfile.Entry) {
			if s, ok := p.Scalar(e, "primary, subagent or all"); ok {
				switch m := Mode(strings.ToLower(s)); m {
				case Primary, Subagent, All:
					d.Mode = m
				default:
					p.WrongType(e, "primary, subagent or all")
				}
			}
		}},
	{agentfile.Field{ID: "maxSteps", Spellings: []string{"maxSteps", "maxTurns", "max_turns", "steps"}},
		"Model calls that may use tools; then one more concludes.", integer(MaxMaxSteps), DefaultMaxSteps,
		func(p *parser, d *Definition, e agentfile.Entry) {
			if n, ok := p.Int(e, 1, MaxMaxSteps); ok {
				d.MaxSteps = n
			}
		}},
	{agentfile.Field{ID: "permission", Spellings: []string{"permission"}, Mistaken: []string{"permissions"}, Near: []string{"permission", "permissions"}, Restricts: true, Line: "permissions?"},
		"What the agent may do: tools, or globs of such, to actions, or to patterns with actions. The last rule that matches decides.", permissionSchema, nil,
		func(p *parser, _ *Definition, e agentfile.Entry) { p.access.Permission = &e }},
	{agentfile.Field{ID: "model", Spellings: []string{"model"}, Textual: true},
		"The model, or several of which the first that is known counts. inherit: the caller's.", textOrList, "inherit",
		func(p *parser, d *Definition, e agentfile.Entry) { d.Model, d.Fallbacks = p.model(e) }},
	{agentfile.Field{ID: "temperature", Spellings: []string{"temperature"}},
		"Sampling temperature.", upTo(2), nil,
		func(p *parser, d *Definition, e agentfile.Entry) { d.Temperature = p.Float(e, 2) }},
	{agentfile.Field{ID: "topP", Spellings: []string{"topP", "top_p"}},
		"Nucleus sampling.", upTo(1), nil,
		func(p *parser, d *Definition, e agentfile.Entry) { d.TopP = p.Float(e, 1) }},
	{agentfile.Field{ID: "maxOutputTokens", Spellings: []string{"maxOutputTokens"}},
		"The most tokens of one answer of the model.", integer(1 << 30), nil,
		func(p *parser, d *Definition, e agentfile.Entry) { d.MaxOutputTokens, _ = p.Int(e, 1, 1<<30) }},
	{agentfile.Field{ID: "effort", Spellings: []string{"effort", "reasoningEffort", "model_reasoning_effort"}, Textual: true},
		"How much the model reasons, in the words of its provider.", text, nil,
		func(p *parser, d *Definition, e agentfile.Entry) { d.Effort, _ = p.Text(e) }},
	{agentfile.Field{ID: "timeoutSeconds", Spellings: []string{"timeoutSeconds"}},
		"Time limit of the whole run, in seconds.", integer(24 * 60 * 60), nil,
		func(p *parser, d *Definition, e agentfile.Entry) {
			if n, ok := p.Int(e, 1, 24*60*60); ok {
				d.Timeout = time.Duration(n) * time.Second
			}
		}},
	{agentfile.Field{ID: "timeout_mins", Spellings: []string{"timeout_mins"}, Same: "timeoutSeconds"},
		"Time limit of the whole run, in minutes.", integer(24 * 60), nil,
		func(p *parser, d *Definition, e agentfile.Entry) {
			if n, ok := p.Int(e, 1, 24*60); ok {
				d.Timeout = time.Duration(n) * time.Minute
			}
		}},
	{agentfile.Field{ID: "stallSeconds", Spellings: []string{"stallSeconds"}},
		"After how many seconds without an event a run is said to have stalled, and after as many more it is stopped.", integer(24 * 60 * 60), nil,
		func(p *parser, d *Definition, e agentfile.Entry) {
			if n, ok := p.Int(e, 1, 24*60*60); ok {
				d.Stall = time.Duration(n) * time.Second
			}
		}},
	{agentfile.Field{ID: "budget", Spellings: []string{"budget"}, Near: []string{"budget"}},
		"What a run may use at most, with all that it starts: tokens, cost in US dollars, modelCalls, toolCalls, time; then: ask or stop.", budgetSchema, nil,
		func(p *parser, d *Definition, e agentfile.Entry) { d.Budget = p.budget(e) }},
	{agentfile.Field{ID: "aliases", Spellings: []string{"aliases"}},
		"Other names that a task call may use: a list, or a text with commas.", textOrList, nil,
		func(p *parser, d *Definition, e agentfile.Entry) { d.Aliases = p.aliases(e) }},
	{agentfile.Field{ID: "callers", Spellings: []string{"callers"}, Near: []string{"callers"}, Restricts: true, Line: "callers?"},
		"Who may call the agent: names of agents, or host for a caller that is none. Without it: anybody.", namesSchema, nil,
		func(p *parser, d *Definition, e agentfile.Entry) { p.callers(d, e) }},
	{agentfile.Field{ID: "caller", Spellings: []string{"caller"}, Near: []string{"caller"}, Restricts: true},
		"agent: the agent is told that an agent has called it, and no person.", words("agent"), nil,
		func(p *parser, d *Definition, e agentfile.Entry) { p.caller(d, e) }},
	{agentfile.Field{ID: "allowAgents", Spellings: []string{"allowAgents"}, Near: []string{"allowagents", "allowedagents"}, Restricts: true, Line: "allow-?[aA]gents"},
		"The agents that this one may call: names of agents, or [] for none. Without it: all.", listSchema, nil,
		func(p *parser, d *Definition, e agentfile.Entry) { p.onlyAgents(d, p.allowAgents(e)) }},
	{agentfile.Field{ID: "inspectable", Spellings: []string{"inspectable"}, Near: []string{"inspectable"}, TakenAs: "false"},
		"true: runs are rows of their own in lists of sessions. Else their transcripts nest in those of their callers.", yesNo, false,
		func(p *parser, d *Definition, e agentfile.Entry) {
			value, ok := p.Bool(e)
			d.Inspectable = value && ok
		}},
	{agentfile.Field{ID: "hidden", Spellings: []string{"hidden"}},
		"Left out of lists and of what callers are offered; a call may name it.", yesNo, false,
		func(p *parser, d *Definition, e agentfile.Entry) { d.Hidden, _ = p.Bool(e) }},
	{agentfile.Field{ID: "isolation", Spellings: []string{"isolation"}, Near: []string{"isolation"}},
		"worktree: each run works in a git worktree of its own, and what it changes waits to be applied.", words("worktree"), nil,
		func(p *parser, d *Definition, e agentfile.Entry) {
			if e.Node != nil && e.Node.Kind == yaml.ScalarNode && strings.EqualFold(strings.TrimSpace(e.Node.Value), "worktree") {
				d.Worktree = true
				return
			}
			p.keep(d, e)
		}},
	{agentfile.Field{ID: "forkContext", Spellings: []string{"forkContext"}},
		"all, or how many turns: the agent goes on from the conversation of the agent that calls it.", forkSchema, nil,
		func(p *parser, d *Definition, e agentfile.Entry) { d.ForkContext = p.forkContext(e) }},
	{agentfile.Field{ID: "planExit", Spellings: []string{"planExit", "plan_exit"}, Textual: true},
		"The agent as which a session of this one goes on, by the tool plan_exit, once a person has allowed it.", filledText, nil,
		func(p *parser, d *Definition, e agentfile.Entry) { d.PlanExit, _ = p.Text(e) }},
	{agentfile.Field{ID: "onNobody", Spellings: []string{"onNobody", "on_nobody"}},
		"What the agent does where nobody answers its question (ask_user): continue by its own judgement, or stop.", words("continue", "stop"), "continue",
		func(p *parser, d *Definition, e agentfile.Entry) {
			switch s, _ := p.Text(e); s {
			case "continue", "stop":
				d.StopsUnanswered = s == "stop"
			default:
				p.WrongType(e, "continue or stop")
			}
		}},
	{agentfile.Field{ID: "residentFile", Spellings: []string{"residentFile", "resident_file"}, Textual: true},
		"A file of the workspace whose content stands before the prompt of each run.", filledText, nil,
		func(p *parser, d *Definition, e agentfile.Entry) {
			if s, ok := p.Text(e); ok && filepath.IsLocal(filepath.FromSlash(s)) {
				d.ResidentFile = path.Clean(s)
			} else if ok {
				p.WrongType(e, "the path of a file in the workspace")
			}
		}},
	{agentfile.Field{ID: "memory", Spellings: []string{"memory"}},
		"true: the agent reads what agents have remembered of this workspace, and has the tool remember.",
		func() *jsonschema.Schema { return anyOf(yesNo(), words(otherMemories...)()) }, false,
		func(p *parser, d *Definition, e agentfile.Entry) {
			if e.Node != nil && e.Node.Kind == yaml.ScalarNode && slices.Contains(otherMemories, e.Node.Value) {
				p.keep(d, e)
				return
			}
			d.Memory, _ = p.Bool(e)
		}},
	{agentfile.Field{ID: "skills", Spellings: []string{"skills"}},
		"Skills whose texts the agent has from its start: their names.", textOrList, nil,
		func(p *parser, d *Definition, e agentfile.Entry) { d.Skills = p.skills(e) }},
	{agentfile.Field{ID: "output", Spellings: []string{"output"}},
		"JSON Schema that the result must satisfy; it may not refer to itself.", mappingSchema, nil,
		func(p *parser, d *Definition, e agentfile.Entry) { d.Output = p.output(e) }},
	{agentfile.Field{ID: "checks", Spellings: []string{"checks"}, Near: []string{"checks"}},
		"What the worker checks before it takes an answer: commands that must succeed, and paths that must exist. One repair turn; then the task fails.", checksSchema, nil,
		func(p *parser, d *Definition, e agentfile.Entry) { d.Checks = p.checks(e) }},
	{agentfile.Field{ID: "background", Spellings: []string{"background", "is_background"}},
		"Started in the background unless the call says otherwise.", yesNo, false,
		func(p *parser, d *Definition, e agentfile.Entry) { d.Background, _ = p.Bool(e) }},
	{agentfile.Field{ID: "detached", Spellings: []string{"detached"}},
		"Started in the background unless the call says otherwise, and goes on when its caller ends.", yesNo, false,
		func(p *parser, d *Definition, e agentfile.Entry) { d.Detached, _ = p.Bool(e) }},
	{agentfile.Field{ID: "color", Spellings: []string{"color"}, Textual: true},
		"For display.", text, nil,
		func(p *parser, d *Definition, e agentfile.Entry) { d.Color, _ = p.Text(e) }},
	{agentfile.Field{ID: promptID, Spellings: []string{"prompt", "instructions", "developer_instructions"}, Textual: true},
		"The prompt, where there is no text below the frontmatter.", text, nil,
		func(p *parser, d *Definition, e agentfile.Entry) {
			if s, ok := p.Text(e); ok && s != "" && d.Prompt == "" && !p.Refused {
				d.Prompt = p.promptText(e, s)
				p.Report(diag.BodyFromField, e.Line, e.Column, "write it below the frontmatter", "%s is taken as the agent's prompt", e.Key)
			}
		}},
	{agentfile.Field{ID: "tools", Spellings: []string{"tools", access.ExactID}, Mistaken: []string{"allowedtools", "allowtools", "tool"}, Near: []string{"tools", "allowedtools"}, Restricts: true, Line: "tools|allowed-?[tT]ools"},
		"The tools that the agent may use, and no others: names, also those of other programs; or a mapping of tools to true and false.", toolsSchema, nil,
		func(p *parser, _ *Definition, e agentfile.Entry) { p.access.Tools = &e }},
	{agentfile.Field{ID: "disallowedTools", Spellings: []string{"disallowedTools"},
		Mistaken: []string{"denytools", "deniedtools", "excludetools", "excludedtools", "disabledtools", "blockedtools", "forbiddentools"},
		Near:     []string{"disallowedtools"}, Restricts: true, Line: "disallowed-?[tT]ools"},
		"Tools that the agent may not use.", toolListSchema, nil,
		func(p *parser, _ *Definition, e agentfile.Entry) { p.access.DisallowedTools = &e }},
	{agentfile.Field{ID: "permissionMode", Spellings: []string{"permissionMode"}, Near: []string{"permissionmode"}, Restricts: true, Line: "permissionMode"},
		"Claude Code's mode. plan denies writing and commands, dontAsk denies what would be asked about; modes that widen are ignored.",
		words("default", "manual", "ask", "bubble", "plan", "delegate", "dontAsk", "acceptEdits", "auto", "bypassPermissions"), "default",
		func(p *parser, _ *Definition, e agentfile.Entry) { p.access.PermissionMode = &e }},
	{agentfile.Field{ID: "approvalMode", Spellings: []string{"approvalMode"}, Near: []string{"approvalmode"}, Restricts: true, Line: "approvalMode"},
		"Qwen Code's mode. plan denies writing and commands; modes that widen are ignored.", words("default", "plan", "auto-edit", "yolo"), "default",
		func(p *parser, _ *Definition, e agentfile.Entry) { p.access.ApprovalMode = &e }},
	{agentfile.Field{ID: "sandbox_mode", Spellings: []string{"sandbox_mode"}, Near: []string{"sandboxmode"}, Restricts: true, Line: "sandbox_mode"},
		"Codex's sandbox. read-only denies writing and asks about each command, workspace-write keeps writing within the workspace.",
		words("read-only", "workspace-write", "danger-full-access"), nil,
		func(p *parser, _ *Definition, e agentfile.Entry) { p.access.SandboxMode = &e }},
	{agentfile.Field{ID: "readonly", Spellings: []string{"readonly"}, Near: []string{"readonly"}, Restricts: true, Line: "readonly", Strict: true},
		"Denies writing, and asks about each command.", yesNo, false,
		func(p *parser, _ *Definition, e agentfile.Entry) { p.access.Readonly = &e }},
	{agentfile.Field{ID: "agents", Spellings: []string{"agents"}, Restricts: true}, // too many other words are near it
		"Copilot's list of the agents that this one may call; \"*\" is all.", anyValue, nil,
		func(p *parser, d *Definition, e agentfile.Entry) { p.agents(d, e) }},
	{agentfile.Field{ID: "disable", Spellings: []string{"disable"}, Near: []string{"disable"}, Restricts: true, Line: "disable", TakenAs: "true"},
		"Switches the agent off.", yesNo, false,
		func(p *parser, _ *Definition, e agentfile.Entry) {
			value, ok := p.Bool(e)
			p.disabled = value || !ok
		}},
	{agentfile.Field{ID: "disable-model-invocation", Spellings: []string{"disable-model-invocation"}, Near: []string{"disablemodelinvocation"}, Restricts: true, Line: "disable-model-invocation", TakenAs: "true"},
		"No model may call the agent: it is a primary.", yesNo, false,
		func(p *parser, _ *Definition, e agentfile.Entry) {
			if value, ok := p.Bool(e); value || !ok {
				p.noModelCall = true
			}
		}},
	{agentfile.Field{ID: "infer", Spellings: []string{"infer"}, Restricts: true, Line: "infer", TakenAs: "false"},
		"false: no model may call the agent, it is a primary.", yesNo, true,
		func(p *parser, _ *Definition, e agentfile.Entry) {
			if value, ok := p.Bool(e); !value || !ok {
				p.noModelCall = true
			}
		}},

	{Field: agentfile.Field{ID: "mcpServers", Spellings: []string{"mcpServers", "mcp-servers", "mcp_servers"}},
		about: "The MCP servers whose tools the agent has: names of configured ones, or servers as .mcp.json has them.",
		value: serversSchema,
		set:   func(p *parser, d *Definition, e agentfile.Entry) { p.servers(d, e) }},
	{Field: agentfile.Field{ID: "hooks", Spellings: []string{"hooks"}},
		about: "Hooks around what the agent does, as Claude Code has them. docs/guide/hooks.md", value: mappingSchema,
		set: func(p *parser, d *Definition, e agentfile.Entry) { p.hooks(d, e) }},
	{Field: agentfile.Field{ID: "resources", Spellings: []string{"resources"}},
		about: "Kiro's files that the agent is to read before it begins: file:// and a path or a pattern.", value: textOrList,
		set: func(p *parser, d *Definition, e agentfile.Entry) { p.takeResources(d, e) }},
	// Kiro's allowedTools, beside its tools.
	{Field: agentfile.Field{ID: access.PreapprovedID, Restricts: true},
		set: func(p *parser, _ *Definition, e agentfile.Entry) { p.access.Preapproved = &e }},
	// YAML's merge key, which is not followed.
	{Field: agentfile.Field{ID: "<<", Spellings: []string{"<<"}, Restricts: true},
		set: func(p *parser, _ *Definition, e agentfile.Entry) {
			p.Refuse(diag.PermissionInvalid, e.Line, e.Column, "write the fields out", "merge keys (<<) are not followed, so what the agent may do is not clear")
		}},
	// Fields of other tools, without a meaning here.
	{Field: agentfile.Field{ID: "known", Each: true, Spellings: []string{
		"initialPrompt",
		"variant", "options", "target", "user-invocable", "handoffs", "argument-hint", "kind", "display_name",
		"nickname_candidates", "approval_policy", "toolsSettings", "runConfig",
	}}},
}

// otherMemories are the values of memory in Claude Code's files, for folders of its own.
var otherMemories = []string{"user", "project", "local"}

// promptID names the field whose text is the prompt of a file without a body.
const promptID = "prompt"
