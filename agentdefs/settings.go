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
	ClaudeSettings   SettingsForm = "claude"   // permissions.deny and permissions.ask of settings.json
	OpencodeSettings SettingsForm = "opencode" // permission of opencode.json
)

// SettingsRules reads the rules in another program's settings, a JSON document that may have
// comments. The rules only narrow: what the document allows beyond an exception of its own
// does not count. An item that can't be read exactly is denied as a
// whole, with a diagnostic. home is what "~/" means.
func SettingsRules(form SettingsForm, file string, data []byte, home string) (*permission.Ruleset, []Diagnostic, error) {
	root, err := agentfile.JSONC(string(data))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	r := &agentfile.Reader{Reporter: &diag.Reporter{File: file}}
	if form == OpencodeSettings {
		r.Dialect = dialect.From([]string{"opencode"})[0]
	}
	p := &access.Reader{Reader: r, Home: home}
	var rules []permission.Rule
	switch form {
	case ClaudeSettings:
		of := field(root, "permissions")
		rules = p.Lists(field(of, "ask"), field(of, "deny"))
	case OpencodeSettings:
		if block := field(root, "permission"); block != nil {
			rules = p.Block(agentfile.Entry{Key: "permission", Line: block.Line, Column: block.Column, Node: block})
		}
	}
	set, err := permission.NewRuleset(rules...)
	return set, r.Found, err
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
