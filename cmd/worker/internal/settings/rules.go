package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/agentworker/worker/internal/suggest"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/permission"
)

// rules are what a person decides for a process.
type rules struct {
	Permissions     string // a file of rules; empty means none
	TrustRepository bool   // the repository's own rules that allow count
	OtherRules      bool   // rules in the settings of other programs narrow

	allow []permission.Rule
}

// Allowed are the rules of --allow.
func (r *rules) Allowed() []permission.Rule { return r.allow }

func (r *rules) register(flags *pflag.FlagSet) {
	flags.Var(r.allowed(), "allow", "what agents may do without a question, as TOOL:PATTERN or TOOL, such as 'shell_exec:git diff *'; can be given more than once")
	flags.Var(file(&r.Permissions), "permissions", "a file of rules in the form of permissions.jsonc, which come after those of that")
	flags.BoolVar(&r.OtherRules, "settings-rules", true, "rules that deny or ask in the settings of Claude Code, Gemini CLI and opencode hold here, too")
	flags.BoolVar(&r.TrustRepository, "trust-repository", false, "rules of the repository (.agents/permissions.jsonc) that allow count, as after 'worker trust'")
}

// allowed is the setting of the rules that allow. Its variable has one rule a line, its key in
// the config file is a text or a list.
func (r *rules) allowed() *value {
	add := func(text string) error {
		rule, err := parseAllow(text)
		if err == nil {
			r.allow = append(r.allow, rule)
		}
		return err
	}
	all := func(texts []string) (err error) {
		for _, text := range texts {
			if err == nil && strings.TrimSpace(text) != "" {
				err = add(text)
			}
		}
		return err
	}
	show := func() string {
		var shown []string
		for _, rule := range r.allow {
			shown = append(shown, rule.Tool+":"+rule.Pattern)
		}
		return strings.Join(shown, "\n")
	}
	return &value{
		kind: "rule", show: show, set: add, adds: true,
		env: func(text string) error { return all(strings.Split(text, "\n")) },
		config: func(raw json.RawMessage, _ string) error {
			list, err := texts(raw)
			if err != nil {
				return errors.New("write a rule, or a list of them")
			}
			return all(list)
		},
	}
}

// namesTool reports whether a rule may name a tool so: by its name, or by a pattern of names.
func namesTool(name string) bool {
	_, known := toolcatalog.Find(name)
	return known || name == "network" || name != "" && strings.Trim(name, "*?") == ""
}

// unknownTool is the error of a rule for what is no tool here.
func unknownTool(name string) error {
	word, _, _ := strings.Cut(name, "(")
	if t, ok := toolcatalog.Elsewhere(strings.TrimSpace(word)); ok {
		return fmt.Errorf("there is no tool %q here: write %s:PATTERN", name, t.Name)
	}
	known := toolcatalog.Names(func(t toolcatalog.Tool) bool { return !t.Own || t.Reserved })
	return fmt.Errorf("there is no tool %q%s: write TOOL:PATTERN, or TOOL for all that it does", name, suggest.DidYouMean(strings.ToLower(strings.TrimSpace(word)), known))
}

// parseAllow reads TOOL:PATTERN or TOOL. The name of a tool may have colons, as those of MCP
// servers have: a pattern follows the name of one that is known, or of hosts.
func parseAllow(text string) (permission.Rule, error) {
	text = strings.TrimSpace(text)
	rule := permission.Rule{Tool: text, Pattern: "*", Action: permission.Allow, Source: permission.Source{File: "--allow"}}
	name, pattern, found := strings.Cut(text, ":")
	if found && namesTool(name) {
		rule.Tool, rule.Pattern = name, strings.TrimSpace(pattern)
	}
	switch {
	case rule.Tool == "" || name == "" || rule.Pattern == "":
		return rule, errors.New("write TOOL:PATTERN, or TOOL for all that it does")
	case !namesTool(rule.Tool) && name != "mcp" && !strings.Contains(text, "__"):
		return rule, unknownTool(name)
	}
	_, err := permission.NewRuleset(rule)
	return rule, err
}
