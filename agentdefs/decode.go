package agentdefs

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// longDescription is the longest description, in characters, that other tools
// take.
const longDescription = 1024

// guardLine finds a field that decides about permission in a text that was
// only judged to be the body.
var guardLine = regexp.MustCompile(`(?m)^(?:permissions?|tools|allowed-?[tT]ools|disallowed-?[tT]ools|permissionMode|approvalMode|sandbox_mode|readonly|infer|callers?|disable(?:-model-invocation)?)[ \t]*:`)

// definition makes res of the header's fields. Whatever keeps the file from
// being served is said with refuse, and the rest is read all the same, so that
// an author sees all that is wrong at once.
func (p *parser) definition(h header, res *parsed) {
	d := &Definition{
		Name: fileName(p.file), Prompt: h.body, Mode: Subagent, MaxSteps: DefaultMaxSteps, Inspectable: true, Timeout: p.dialect.time,
		File: p.file, Line: h.line,
	}
	if p.dialect.mode != "" {
		d.Mode = p.dialect.mode
	}
	if p.dialect.steps > 0 {
		d.MaxSteps = p.dialect.steps
	}
	entries := p.entries(h)
	if h.root != nil {
		d.Prompt = p.promptField(entries)
	}
	if h.guessed {
		if m := guardLine.FindString(h.body); m != "" {
			p.refuse(codePermissionInvalid, h.line, 0, "close the frontmatter with --- below its last field",
				"the end of the frontmatter is not clear, and %q stands behind where it seems to be", m)
		}
	}
	if m := secondHeader(h.body); m != "" {
		p.refuse(codePermissionInvalid, h.below, 0, "write all fields into one frontmatter",
			"%q stands below the frontmatter, which does not count, as if it were a field", m)
	}
	var grants access
	name, description := entry{line: h.line}, entry{line: h.line}
	for _, e := range entries {
		if p.damaged && (strings.ContainsRune(e.key, utf8.RuneError) || e.id.guards() && holdsDamage(e)) {
			p.refuse(codePermissionInvalid, e.line, e.column, "save the file as UTF-8", "%q holds characters that could not be decoded", e.key)
			continue
		}
		if e.misspelled {
			p.report(codeFieldMisspelled, e.line, e.column, "write "+spellings[e.id][0], "%s is taken as %s", shownKey(e.key), spellings[e.id][0])
		}
		switch e.id {
		case fieldName:
			name = e
		case fieldDescription:
			description = e
		}
		p.set(d, &grants, e)
	}
	p.checkName(d, name)
	res.name, res.line, res.column, res.disabled = d.Name, name.line, max(name.column, 1), grants.disabled
	if grants.disabled {
		if !p.refused {
			p.report(codeAgentDisabled, h.line, 0, "remove disable to use it", "%s is switched off by its file", d.Name)
		}
		return
	}
	p.describe(d, description)
	if d.Description == "" {
		restricts := slices.ContainsFunc(entries, func(e entry) bool { return e.id.guards() })
		if !p.refused && !restricts { // as good as absent; any other still holds its name
			res.name = ""
		}
		p.refuseUndescribed(description)
		return
	}
	p.checkFences(h)
	if d.Prompt == "" {
		p.report(codeBodyEmpty, h.line, 0, "write below the frontmatter how the agent should work", "the file has no text below its frontmatter")
	}
	if h.endless && d.Prompt == "" {
		p.refuseEndless(h.line)
	}
	if d.Permission = p.ruleset(&grants, d.Mode); d.Permission != nil && h.endless {
		d.Permission = p.withoutTools(d, h.line)
	}
	if d.Permission != nil {
		res.def = d
	}
}

// secondHeader returns the field that restricts in a body which begins as a
// frontmatter does, with or without a fence; empty: there is none.
func secondHeader(body string) string {
	first, rest, _ := strings.Cut(body, "\n")
	if dashes.MatchString(first) {
		body = strings.TrimSpace(rest)
	}
	if _, id, _, ok := keyOf(strings.SplitN(body, "\n", 2)[0]); !ok || id == fieldUnknown {
		return ""
	}
	for line := range strings.SplitSeq(body, "\n") {
		if strings.TrimSpace(line) == "" || dashes.MatchString(line) || heading.MatchString(line) {
			break
		}
		if m := guardLine.FindString(line); m != "" {
			return m
		}
	}
	return ""
}

// set takes the value of one field into d or grants.
func (p *parser) set(d *Definition, grants *access, e entry) {
	switch e.id {
	case fieldName:
		if s, ok := p.textOf(e); ok && s != "" {
			d.Name = s
		}
	case fieldDescription:
		d.Description, _ = p.textOf(e)
	case fieldPrompt:
		if s, ok := p.textOf(e); ok && s != "" && d.Prompt == "" && !strings.HasPrefix(s, "file://") {
			d.Prompt = s
			p.report(codeBodyFromField, e.line, e.column, "write it below the frontmatter", "%s is taken as the agent's prompt", e.key)
		}
	case fieldMaxSteps:
		if n, ok := p.intOf(e, 1, MaxMaxSteps); ok {
			d.MaxSteps = n
		}
	case fieldMode:
		if s, ok := p.scalarOf(e, "primary, subagent or all"); ok {
			switch m := Mode(strings.ToLower(s)); m {
			case Primary, Subagent, All:
				d.Mode = m
			default:
				p.wrongType(e, "primary, subagent or all")
			}
		}
	case fieldModel:
		d.Model = p.model(e)
	case fieldTemperature:
		d.Temperature = p.floatOf(e, 2)
	case fieldTopP:
		d.TopP = p.floatOf(e, 1)
	case fieldMaxOutputTokens:
		d.MaxOutputTokens, _ = p.intOf(e, 1, 1<<30)
	case fieldTimeoutSeconds:
		if n, ok := p.intOf(e, 1, 24*60*60); ok {
			d.Timeout = time.Duration(n) * time.Second
		}
	case fieldTimeoutMinutes:
		if n, ok := p.intOf(e, 1, 24*60); ok {
			d.Timeout = time.Duration(n) * time.Minute
		}
	case fieldEffort:
		d.Effort, _ = p.textOf(e)
	case fieldColor:
		d.Color, _ = p.textOf(e)
	case fieldBackground:
		d.Background, _ = p.boolOf(e)
	case fieldHidden:
		d.Hidden, _ = p.boolOf(e)
	case fieldAliases:
		d.Aliases = p.aliases(e)
	case fieldCaller:
		d.Callers = p.callers(e)
	case fieldInspectable:
		value, ok := p.boolOf(e)
		d.Inspectable = value && ok
	case fieldOutput:
		d.Output = p.output(e)
	case fieldDisable:
		value, ok := p.boolOf(e)
		grants.disabled = value || !ok
	case fieldNoModelCall:
		if value, ok := p.boolOf(e); value || !ok {
			grants.noModelCall = true
		}
	case fieldMerge:
		p.refuse(codePermissionInvalid, e.line, e.column, "write the fields out", "merge keys (<<) are not followed, so what the agent may do is not clear")
	case fieldInfer:
		if value, ok := p.boolOf(e); !value || !ok {
			grants.noModelCall = true
		}
	case fieldPreapproved, fieldPermission, fieldTools, fieldDisallowedTools, fieldPermissionMode, fieldApprovalMode, fieldSandboxMode, fieldReadonly, fieldAgents:
		grants.add(e)
	default:
		if restricts(e) {
			d.Fields = append(d.Fields, Field{Name: e.key, Line: e.line, Column: e.column, node: e.node})
			p.report(codeRestrictionIgnored, e.line, e.column, "say it under permission, or do not rely on it", "%s would restrict the agent elsewhere; here it has no effect", e.key)
			return
		}
		d.Fields = append(d.Fields, Field{Name: e.key, Line: e.line, Column: e.column, node: e.node})
		if near := nearestField(e.key); near != "" && e.id == fieldUnknown {
			p.report(codeFieldUnknown, e.line, e.column, "write "+near+" if that is meant", "%s is no field that is known; the nearest is %s", shownKey(e.key), near)
			return
		}
		p.report(codeFieldUnsupported, e.line, e.column, "", "%s has no meaning here; it is kept", e.key)
	}
	if grants.noModelCall {
		d.Mode = Primary
	}
}

// model returns the model e names: the first one, of a list, that is known.
// "inherit" is the caller's.
func (p *parser) model(e entry) string {
	var names []string
	if e.node != nil && e.node.Kind == yaml.SequenceNode {
		names = p.textsOf(e)
	} else if s, ok := p.textOf(e); ok && s != "" {
		names = []string{s}
	}
	for _, name := range names {
		if strings.EqualFold(name, "inherit") {
			return ""
		}
		if p.opts.KnownModel == nil || p.opts.KnownModel(name) {
			return name
		}
	}
	if len(names) > 0 {
		p.report(codeModelUnknown, e.line, e.column, "name a configured model or alias, or inherit", "the model %q is not known here, or lacks its key; the caller's is used", cutShort(names[0]))
	}
	return ""
}

func (p *parser) refuseUndescribed(e entry) {
	what := "the frontmatter has no description"
	if e.key != "" {
		what = "the description is empty"
	}
	p.refuse(codeDescriptionMissing, e.line, e.column, "add a line description: that says when to use the agent", "%s, so the file is no agent", what)
}

var escapes = strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\t`, "\t")

// describe turns the literal \n of a description that is no block into line
// ends, as the tool that writes them means it.
func (p *parser) describe(d *Definition, e entry) {
	if e.node == nil || e.node.Style&(yaml.LiteralStyle|yaml.FoldedStyle|yaml.SingleQuotedStyle) == 0 {
		if s := escapes.Replace(d.Description); s != d.Description {
			p.report(codeDescriptionEscapes, e.line, e.column, "write the description as a block: description: |", `the description holds literal \n, \t or \"; they are taken as what they stand for`)
			d.Description = strings.TrimSpace(s)
		}
	}
	if n := utf8.RuneCountInString(d.Description); n > longDescription {
		p.report(codeDescriptionLong, e.line, e.column, "move detail to the body", "the description has %d characters; each call of a model pays for them", n)
	}
}

func holdsDamage(e entry) bool {
	if e.node == nil {
		return strings.ContainsRune(e.raw, utf8.RuneError)
	}
	var inside func(n *yaml.Node) bool
	inside = func(n *yaml.Node) bool {
		if strings.ContainsRune(n.Value, utf8.RuneError) {
			return true
		}
		for _, c := range n.Content {
			if inside(c) {
				return true
			}
		}
		return false
	}
	return inside(e.node)
}

func cutShort(s string) string {
	if utf8.RuneCountInString(s) > 60 {
		return string([]rune(s)[:60]) + "…"
	}
	return s
}
