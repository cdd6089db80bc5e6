package agentdefs

import (
	"regexp"

	"gopkg.in/yaml.v3"
)

// fieldID names a field by what it means here, however a file spells it.
type fieldID string

const (
	fieldName            fieldID = "name"
	fieldDescription     fieldID = "description"
	fieldPermission      fieldID = "permission"
	fieldTools           fieldID = "tools"
	fieldDisallowedTools fieldID = "disallowedTools"
	fieldPermissionMode  fieldID = "permissionMode"
	fieldApprovalMode    fieldID = "approvalMode"
	fieldSandboxMode     fieldID = "sandbox_mode"
	fieldReadonly        fieldID = "readonly"
	fieldAgents          fieldID = "agents"
	fieldDisable         fieldID = "disable"
	fieldNoModelCall     fieldID = "disable-model-invocation"
	fieldInfer           fieldID = "infer"
	fieldMaxSteps        fieldID = "maxSteps"
	fieldMode            fieldID = "mode"
	fieldModel           fieldID = "model"
	fieldTemperature     fieldID = "temperature"
	fieldTopP            fieldID = "topP"
	fieldMaxOutputTokens fieldID = "maxOutputTokens"
	fieldTimeoutSeconds  fieldID = "timeoutSeconds"
	fieldTimeoutMinutes  fieldID = "timeout_mins"
	fieldEffort          fieldID = "effort"
	fieldBackground      fieldID = "background"
	fieldHidden          fieldID = "hidden"
	fieldAliases         fieldID = "aliases"
	fieldOutput          fieldID = "output"
	fieldColor           fieldID = "color"
	fieldCaller          fieldID = "caller"
	fieldInspectable     fieldID = "inspectable"
	fieldPreapproved     fieldID = "allowedTools" // Kiro's, beside its tools
	fieldPrompt          fieldID = "prompt"
	fieldMerge           fieldID = "<<"      // YAML's merge key, which is not followed
	fieldKept            fieldID = "kept"    // known, without a meaning here
	fieldUnknown         fieldID = "unknown" // kept as well
)

// spellings holds how each field is written: in our own files, and in those of
// Claude Code, opencode, Copilot, Gemini CLI, Cursor and Kiro.
var spellings = map[fieldID][]string{
	fieldName:            {"name"},
	fieldDescription:     {"description"},
	fieldPermission:      {"permission"},
	fieldTools:           {"tools"},
	fieldDisallowedTools: {"disallowedTools"},
	fieldPermissionMode:  {"permissionMode"},
	fieldApprovalMode:    {"approvalMode"},
	fieldSandboxMode:     {"sandbox_mode"},
	fieldReadonly:        {"readonly"},
	fieldAgents:          {"agents"},
	fieldDisable:         {"disable"},
	fieldNoModelCall:     {"disable-model-invocation"},
	fieldInfer:           {"infer"},
	fieldMaxSteps:        {"maxSteps", "maxTurns", "max_turns", "steps"},
	fieldMode:            {"mode"},
	fieldModel:           {"model"},
	fieldTemperature:     {"temperature"},
	fieldTopP:            {"topP", "top_p"},
	fieldMaxOutputTokens: {"maxOutputTokens"},
	fieldTimeoutSeconds:  {"timeoutSeconds"},
	fieldTimeoutMinutes:  {"timeout_mins"},
	fieldEffort:          {"effort", "reasoningEffort", "model_reasoning_effort"},
	fieldBackground:      {"background", "is_background"},
	fieldHidden:          {"hidden"},
	fieldAliases:         {"aliases"},
	fieldOutput:          {"output"},
	fieldColor:           {"color"},
	fieldCaller:          {"caller"},
	fieldInspectable:     {"inspectable"},
	fieldPrompt:          {"prompt", "instructions", "developer_instructions"},
	fieldMerge:           {"<<"},
	fieldKept: {
		"skills", "mcpServers", "mcp-servers", "mcp_servers", "hooks", "memory", "isolation", "initialPrompt",
		"variant", "options", "target", "user-invocable", "handoffs", "argument-hint", "kind", "display_name",
		"nickname_candidates", "approval_policy", "toolsSettings", "runConfig",
	},
}

// misspellings are the spellings that occur in real files where another is
// meant, in the form of canonical.
var misspellings = map[string]fieldID{
	"permissions":   fieldPermission,
	"allowedtools":  fieldTools,
	"allowtools":    fieldTools,
	"tool":          fieldTools,
	"denytools":     fieldDisallowedTools,
	"deniedtools":   fieldDisallowedTools,
	"excludetools":  fieldDisallowedTools,
	"excludedtools": fieldDisallowedTools,
	"disabledtools": fieldDisallowedTools, "blockedtools": fieldDisallowedTools, "forbiddentools": fieldDisallowedTools,
	"callers": fieldCaller,
}

// canonicals maps the canonical form of every spelling to its field.
var canonicals = func() map[string]fieldID {
	m := map[string]fieldID{}
	for id, names := range spellings {
		for _, name := range names {
			m[canonical(name)] = id
		}
	}
	for name, id := range misspellings {
		m[name] = id
	}
	return m
}()

// vital holds, in the form of canonical, the spellings whose loss would lose the
// agent or a restriction. "agents" is left out: too much else is near it.
var vital = []string{
	"description", "permission", "permissions", "tools", "allowedtools", "disallowedtools", "permissionmode", "readonly",
	"approvalmode", "sandboxmode", "disable", "disablemodelinvocation", "inspectable", "caller", "callers",
}

// fieldOf returns the field that name stands for, and whether it is spelt as it
// should be. A single slip of the pen is forgiven where overlooking the field
// would lose the agent or a restriction.
func fieldOf(name string) (id fieldID, exact bool) {
	c := canonical(name)
	id, ok := canonicals[c]
	if !ok {
		for _, near := range vital {
			if oneSlip(c, near) {
				return canonicals[near], false
			}
		}
		return fieldUnknown, true
	}
	for _, s := range spellings[id] {
		if s == name {
			return id, true
		}
	}
	return id, false
}

// guards reports whether id decides what the agent may do, or who may call it.
// A file in which such a field cannot be read exactly is refused.
func (id fieldID) guards() bool {
	switch id {
	case fieldPreapproved, fieldPermission, fieldTools, fieldDisallowedTools, fieldPermissionMode, fieldApprovalMode, fieldSandboxMode, fieldReadonly,
		fieldAgents, fieldDisable, fieldNoModelCall, fieldInfer, fieldCaller, fieldMerge:
		return true
	}
	return false
}

// restricting finds, in the form of canonical, the names of fields that would
// take something away, where nothing here does what they say.
var restricting = regexp.MustCompile(`allow|den(?:y|ied)|block|forbid|restrict|sandbox|approv|confirm|isolat|exclu|limit|budget|timeout|maxtime|maxcost|guard|network|readonly|toolssettings|runconfig`)

// blockingHooks are the events of hooks that can keep a call from happening, or
// a run from ending; the hooks of others only look on.
var blockingHooks = regexp.MustCompile(`(?i)^(?:pre|before|permission|userprompt|stop|subagentstop)`)

// restricts reports whether an entry that has no meaning here would take
// something away where it has.
func restricts(e entry) bool {
	c := canonical(e.key)
	if c != "hooks" {
		return restricting.MatchString(c)
	}
	if e.node == nil || e.node.Kind != yaml.MappingNode {
		return e.node == nil || !isNull(e.node)
	}
	for i := 0; i+1 < len(e.node.Content); i += 2 {
		if blockingHooks.MatchString(e.node.Content[i].Value) {
			return true
		}
	}
	return false
}

// textual reports whether the value of id is a text, which can be taken as it
// stands where it is no valid YAML.
func (id fieldID) textual() bool {
	switch id {
	case fieldName, fieldDescription, fieldModel, fieldColor, fieldEffort, fieldPrompt:
		return true
	}
	return false
}

// oneSlip reports whether a and b differ by one letter added, left out,
// replaced, or swapped with its neighbour.
func oneSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 || a == b {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) < len(b) {
		return a[i:] == b[i+1:]
	}
	if a[i+1:] == b[i+1:] {
		return true
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
