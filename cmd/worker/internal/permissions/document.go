package permissions

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/agentworker/worker/cmd/worker/internal/agents"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/sandbox"
)

// explainDocument is an explanation as --json prints it.
type explainDocument struct {
	Tool   string            `json:"tool"`
	Action permission.Action `json:"action"`
	Layer  permission.Layer  `json:"layer"` // layerTool: the tool refuses the arguments
	Reason string            `json:"reason"`
	Layers []layerDocument   `json:"layers"`
	Values []valueDocument   `json:"values"`

	// Policy is what else of a policy concerns the call, besides the rules of its layer.
	Policy []string `json:"policy,omitempty"`

	// Sandbox is what holds a command of the shell; nil means it is another tool.
	Sandbox *sandboxDocument `json:"sandbox,omitempty"`
}

// layerDocument is a layer, whether or not a rule in it matches.
type layerDocument struct {
	Layer  permission.Layer `json:"layer"`
	Agent  string           `json:"agent,omitempty"`
	Source string           `json:"source"`
	Rules  int              `json:"rules"` // as they are written: one line may make several

	// Added counts the rules that the worker adds to an agent's own, for example to protect its own
	// state.
	Added int `json:"added,omitempty"`
}

// layerOf describes a layer and counts its rules.
func layerOf(layer permission.Layer, agent, source string, rules *permission.Ruleset) layerDocument {
	doc := layerDocument{Layer: layer, Agent: agent, Source: source}
	written := map[permission.Source]bool{}
	for rule := range rules.Rules() {
		if layer == permission.LayerAgent && rule.Source.File != source {
			doc.Added++
		} else if rule.Source.Line == 0 || !written[rule.Source] {
			written[rule.Source] = true
			doc.Rules++
		}
	}
	return doc
}

// valueDocument is what became of one value.
type valueDocument struct {
	Tool     string          `json:"tool"`
	Text     string          `json:"text"`
	Action   string          `json:"action"` // "none": it has no say
	Layer    string          `json:"layer,omitempty"`
	Unknown  bool            `json:"unknown"`  // it cannot be known before the call runs
	DenyOnly bool            `json:"denyOnly"` // it can deny the call and nothing else
	Decides  bool            `json:"decides"`  // it decides on the call
	Reason   string          `json:"reason,omitempty"`
	Matches  []matchDocument `json:"matches"` // in the order in which the last one wins
}

type matchDocument struct {
	agents.Rule
	Layer permission.Layer `json:"layer"`
	Agent string           `json:"agent,omitempty"`
	For   string           `json:"for,omitempty"` // the block of the rule: for whom it is
	Wins  bool             `json:"wins"`
}

// refuse is the outcome where the tool itself refuses the arguments.
func (doc *explainDocument) refuse(err error) {
	doc.Action, doc.Layer, doc.Values = permission.Deny, layerTool, []valueDocument{}
	doc.Reason = fmt.Sprintf("The tool refuses the arguments, so the rules are not asked: %v.", err)
}

func (doc *explainDocument) fill(e permission.Explanation) {
	doc.Action, doc.Layer, doc.Reason = e.Decision.Action, e.Decision.Layer, e.Decision.Reason()
	doc.Values = make([]valueDocument, 0, len(e.Values))
	decided := false
	for _, v := range e.Values {
		value := valueDocument{
			Tool: v.Value.Tool, Text: v.Value.Text, Action: v.Decision.Action.String(), Layer: string(v.Decision.Layer),
			Unknown: v.Value.Certainty == permission.Unknown, DenyOnly: v.Value.OnlyDenies(), Matches: []matchDocument{},
		}
		if v.Decision.Action != 0 {
			value.Reason = v.Decision.Reason()
			value.Decides = !decided && v.Decision.Action == e.Decision.Action && v.Value == e.Decision.Value
			decided = decided || value.Decides
		}
		for _, m := range v.Matches {
			match := matchDocument{
				Rule:  agents.Rule{Tool: m.Rule.Tool, Pattern: m.Rule.Pattern, Action: m.Rule.Action, Source: m.Rule.Source.String()},
				Layer: m.Layer, Wins: m.Wins, For: strings.TrimSpace(m.Rule.Block.String()),
			}
			if m.Layer == permission.LayerAgent {
				match.Agent = doc.agent(m.Agent)
			}
			value.Matches = append(value.Matches, match)
		}
		doc.Values = append(doc.Values, value)
	}
}

// narrow notes by which rule a second person has to approve the call, nil for none, and why no
// answer may add a rule that lasts, nil where one may.
func (doc *explainDocument) narrow(second *permission.Rule, lasting error) {
	if second != nil && doc.Action != permission.Deny {
		doc.Policy = append(doc.Policy, fmt.Sprintf("a second person has to approve it, who has not asked for the work, by the rule %v (%s)", *second, second.Source))
		if doc.Action == permission.Allow { // by all that is known of it
			doc.Action, doc.Layer = permission.Ask, permission.LayerPolicy
			doc.Reason = fmt.Sprintf("It may be what the rule %v (%s) is about, so it is asked about.", *second, second.Source)
		}
	}
	if lasting != nil && doc.Action == permission.Ask {
		doc.Policy = append(doc.Policy, fmt.Sprintf("it can be approved for one time alone: %v", lasting))
	}
}

// agent returns the name of the agent whose layer is the nth of those.
func (doc *explainDocument) agent(n int) string {
	for _, l := range doc.Layers {
		if l.Layer != permission.LayerAgent {
			continue
		}
		if n == 0 {
			return l.Agent
		}
		n--
	}
	return ""
}

// printSandbox shows what holds a command, for people.
func printSandbox(w io.Writer, doc *sandboxDocument) {
	if doc.Backend == "" {
		fmt.Fprintf(w, "\nsandbox: none: %s\n", termtext.Printable(strings.Join(doc.NotHeld, "; ")))
		return
	}
	network := "loopback only"
	switch {
	case doc.Plan.Backend == sandbox.Landlock:
		network = "none, whatever the rules allow: only namespaces let commands reach hosts"
	case doc.Network:
		network = "hosts that the rules about network allow"
	}
	fmt.Fprintf(w, "\nsandbox (%s):\n  network\t%s\n", doc.Backend, network)
	list := func(title string, paths []string) {
		if len(paths) > 0 {
			fmt.Fprintf(w, "  %s\t%s\n", title, termtext.OneLine(strings.Join(paths, ", "), termtext.MaxLine))
		}
	}
	list("hidden", doc.Hidden)
	list("read-only", doc.ReadOnly)
	list("not looked at", doc.NotLooked)
	list("not held", doc.NotHeld)
}

// printExplanation prints the document for people. Values that could only deny
// and do not are counted.
func (p commands) printExplanation(doc *explainDocument) error {
	w := tabwriter.NewWriter(p.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s: %s\n\nlayers:\n", doc.Action, termtext.Printable(doc.Reason))
	for _, l := range doc.Layers {
		source := termtext.OneLine(l.Source, termtext.MaxLine)
		if l.Added > 0 {
			source += fmt.Sprintf(", and %d of the worker", l.Added)
		}
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\n", l.Layer, termtext.OneLine(l.Agent, termtext.MaxName), termtext.Plural(l.Rules, "rule"), source)
	}
	for i, line := range doc.Policy {
		if i == 0 {
			fmt.Fprintln(w, "\nthe policy:")
		}
		fmt.Fprintf(w, "  %s\n", termtext.OneLine(line, termtext.MaxReport))
	}
	silent := 0
	for _, v := range doc.Values {
		if v.Action == permission.Action(0).String() {
			silent++
			continue
		}
		fmt.Fprintf(w, "\n%s %q\n", termtext.OneLine(v.Tool, termtext.MaxName), termtext.OneLine(v.Text, termtext.MaxText))
		for _, m := range v.Matches {
			won := ""
			if m.Wins {
				won = "<- wins"
			}
			layer := string(m.Layer)
			if m.Agent != "" {
				layer += " " + termtext.OneLine(m.Agent, termtext.MaxName)
			}
			source := m.Source
			if m.For != "" {
				source += " (" + m.For + ")"
			}
			fmt.Fprintf(w, "  %s\t%s\t%s: %q\t%s\t%s\n", layer, m.Action, termtext.OneLine(m.Tool, termtext.MaxName), termtext.OneLine(m.Pattern, termtext.MaxLine), termtext.OneLine(source, termtext.MaxLine), won)
		}
		if len(v.Matches) == 0 {
			fmt.Fprintln(w, "  no rule matches")
		}
		outcome := v.Action
		if v.Decides {
			outcome += ", which decides on the call"
		}
		fmt.Fprintf(w, "  = %s: %s\n", outcome, termtext.Printable(v.Reason))
	}
	if doc.Sandbox != nil {
		printSandbox(w, doc.Sandbox)
	}
	if silent > 0 {
		fmt.Fprintf(w, "\nAlso judged: %s that could only have denied the call, as files that a command names. No rule denies one (--json shows them).\n", termtext.Plural(silent, "value"))
	}
	return w.Flush()
}
