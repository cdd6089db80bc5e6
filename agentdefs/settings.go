package agentdefs

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/access"
	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/permission"
)

// SettingsForm is whose settings a file has.
type SettingsForm string

// The forms.
const (
	ClaudeSettings   SettingsForm = "claude"   // permissions of settings.json: deny, ask, allow, additionalDirectories
	OpencodeSettings SettingsForm = "opencode" // permission of opencode.json
	GeminiSettings   SettingsForm = "gemini"   // tools of settings.json: exclude, confirmationRequired, allowed
)

// Settings are the rules in another program's settings.
type Settings struct {
	Narrow  *permission.Ruleset // what they deny and ask about, with the exceptions that they make
	Allowed []permission.Rule   // what they allow, for people
	Granted *permission.Ruleset // the same
	Found   []Diagnostic        // what can't be read exactly
}

// ReadSettings reads the rules in another program's settings. What can't be read exactly is denied as a
// whole, or allows nothing, with a diagnostic. Paths are relative to at.
func ReadSettings(form SettingsForm, file string, data []byte, at permission.Workspace) (*Settings, error) {
	root, err := agentfile.JSONC(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	r := &agentfile.Reader{Reporter: &diag.Reporter{File: file}}
	if form == OpencodeSettings {
		r.Dialect = dialect.From([]string{"opencode"})[0]
	}
	p := &access.Reader{Reader: r, Home: at.Home}
	s := &Settings{}
	var rules []permission.Rule
	switch form {
	case ClaudeSettings:
		of := field(root, "permissions")
		rules = p.Lists(field(of, "ask"), field(of, "deny"))
		s.Allowed = append(p.Allowed(field(of, "allow")), p.Folders(field(of, "additionalDirectories"), at.Root)...)
	case GeminiSettings:
		of := field(root, "tools")
		rules = p.Lists(field(of, "confirmationRequired"), field(of, "exclude"))
		s.Allowed = p.Allowed(field(of, "allowed"))
	case OpencodeSettings:
		if block := field(root, "permission"); block != nil {
			rules = p.Block(agentfile.Entry{Key: "permission", Line: block.Line, Column: block.Column, Node: block})
		}
		for _, rule := range rules {
			if rule.Action == permission.Allow {
				s.Allowed = append(s.Allowed, rule)
			}
		}
	}
	if s.Narrow, err = permission.NewRuleset(rules...); err == nil {
		s.Granted, err = permission.NewRuleset(s.Allowed...)
	}
	s.Found = r.Found
	return s, err
}

// field returns a field of an object; nil means that there is none.
func field(n *yaml.Node, name string) (value *yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			value = n.Content[i+1] // the last one counts, as in encoding/json
		}
	}
	return value
}
