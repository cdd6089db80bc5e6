package agentdefs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/agentworker/worker/agentdefs/internal/access"
	"github.com/agentworker/worker/agentdefs/internal/definition"
	"github.com/agentworker/worker/agentdefs/internal/dialect"
	"github.com/agentworker/worker/permission"
)

// Markdown returns a file of our own form that means what d does, with its rules. An error says
// what can't be written so.
func Markdown(d *Definition, home string) (string, error) {
	fields := &yaml.Node{Kind: yaml.MappingNode}
	put := func(name string, value any) error {
		var n yaml.Node
		if err := n.Encode(value); err != nil {
			return err
		}
		fields.Content = append(fields.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: name}, &n)
		return nil
	}
	name := strings.ReplaceAll(d.Name, ":", "-")
	err := errors.Join(put("name", name), put("description", d.Description), put("mode", string(d.Mode)), put("maxSteps", d.MaxSteps))
	for _, f := range []struct {
		name  string
		set   bool
		value any
	}{
		{"model", d.Model != "", append([]string{d.Model}, d.Fallbacks...)},
		{"temperature", d.Temperature != nil, d.Temperature}, {"topP", d.TopP != nil, d.TopP},
		{"maxOutputTokens", d.MaxOutputTokens > 0, d.MaxOutputTokens}, {"effort", d.Effort != "", d.Effort},
		{"timeoutSeconds", d.Timeout > 0, int(d.Timeout.Seconds())}, {"background", d.Background, true}, {"hidden", d.Hidden, true},
		{"aliases", len(d.Aliases) > 0, d.Aliases}, {"skills", len(d.Skills) > 0, d.Skills}, {"allowAgents", d.AllowAgents != nil, d.AllowAgents},
		{"color", d.Color != "", d.Color},
	} {
		if f.set {
			err = errors.Join(err, put(f.name, f.value))
		}
	}
	for _, f := range d.Fields {
		var value any
		if f.Name == "hooks" || strings.HasPrefix(f.Name, "mcp") {
			err = errors.Join(err, f.Decode(&value), put(f.Name, value))
		}
	}
	rules, wrong := rulesField(d.Permission)
	if err = errors.Join(err, wrong); err != nil {
		return "", err
	}
	if rules != nil {
		fields.Content = append(fields.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: "permission"}, rules)
	}
	header, err := yaml.Marshal(fields)
	if err != nil {
		return "", err
	}
	text := "---\n" + string(header) + "---\n" + d.Prompt + "\n"
	again := definition.Parse(name+".md", []byte(text), definition.Options{Home: home})
	switch {
	case again.Def == nil:
		return "", fmt.Errorf("what it says can't be written in one file: %v", again.Diagnostics)
	case again.Def.Prompt != d.Prompt || again.Def.Description != d.Description || !slices.Equal(plainRules(again.Def.Permission), plainRules(d.Permission)):
		return "", errors.New("its text or its rules would not mean the same")
	}
	return text, nil
}

// rulesField is the field permission for rules; nil means there are none.
func rulesField(set *permission.Ruleset) (*yaml.Node, error) {
	out := &yaml.Node{Kind: yaml.MappingNode}
	patterns := make(map[string]*yaml.Node)
	last := "" // the tool of the rule before
	for _, r := range plainRules(set) {
		of := patterns[r.Tool]
		if of == nil {
			of = &yaml.Node{Kind: yaml.MappingNode}
			patterns[r.Tool] = of
			out.Content = append(out.Content, quotedText(r.Tool), of)
		} else if last != r.Tool {
			return nil, fmt.Errorf("its rules about %s are in several places, and their order counts", r.Tool)
		}
		of.Content = append(of.Content, quotedText(r.Pattern), &yaml.Node{Kind: yaml.ScalarNode, Value: r.Action.String()})
		last = r.Tool
	}
	for i := 1; i < len(out.Content); i += 2 {
		if of := out.Content[i]; len(of.Content) == 2 && of.Content[0].Value == access.Anything {
			out.Content[i] = of.Content[1] // "read_file: allow" says the same in short
		}
	}
	if len(out.Content) == 0 {
		return nil, nil
	}
	return out, nil
}

func quotedText(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Style: yaml.DoubleQuotedStyle}
}

// plainRules returns the rules without their places. Rules of one tool are brought together where that
// changes nothing. Of equal ones the last stays.
func plainRules(set *permission.Ruleset) (out []permission.Rule) {
	for r := range set.Rules() {
		if r.Source.File == access.BuiltIn {
			continue
		}
		r = permission.Rule{Tool: r.Tool, Pattern: r.Pattern, Action: r.Action}
		out = slices.DeleteFunc(out, func(have permission.Rule) bool { return have.Tool == r.Tool && have.Pattern == r.Pattern })
		at := len(out)
		for i := len(out) - 1; i >= 0 && plainTool(r.Tool) && plainTool(out[i].Tool); i-- { // exact names don't meet
			if out[i].Tool == r.Tool {
				at = i + 1
				break
			}
		}
		out = slices.Insert(out, at, r)
	}
	return out
}

// plainTool reports whether a rule's tool is a name, and no pattern.
func plainTool(tool string) bool {
	return !strings.ContainsFunc(tool, func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789_", r) })
}

// ReadFolder is a folder, or a file of several agents, that agents are served from.
type ReadFolder struct {
	Folder string // as shown to people
	Agents int
}

// Read returns from where the agents of files are served, in the order of names.
func (s *Snapshot) Read() (out []ReadFolder) {
	for _, d := range s.agents {
		if d.BuiltIn {
			continue
		}
		folder := dialect.Place(d.File)
		i := slices.IndexFunc(out, func(have ReadFolder) bool { return have.Folder == folder })
		if i < 0 {
			i = len(out)
			out = append(out, ReadFolder{Folder: folder})
		}
		out[i].Agents++
	}
	slices.SortFunc(out, func(a, b ReadFolder) int { return strings.Compare(a.Folder, b.Folder) })
	return out
}

// SayRead says from where agents are served, in a few words.
func SayRead(folders []ReadFolder) string {
	const most = 6 // folders that are spelt out
	var parts []string
	for _, f := range folders[:min(most, len(folders))] {
		parts = append(parts, f.Folder+" ("+strconv.Itoa(f.Agents)+")")
	}
	if more := len(folders) - most; more > 0 {
		parts = append(parts, strconv.Itoa(more)+" more")
	}
	return "agents of " + strings.Join(parts, ", ")
}
