package gate

import (
	"slices"

	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// Layers are the rulesets that decide on a call, and how far the kernel enforces them.
type Layers struct {
	permission.Layers
	Policy    string // the hash of their policy; empty means there is none
	sandboxed bool   // the tool starts programs
	notHeld   string // why no sandbox enforces all of the rules; empty means one does
	lasting   error  // why no answer may add a lasting rule; nil means it may

	second []*permission.Ruleset // of the policy: they deny what needs a second person
}

// Decide decides on the values of a call.
func (l *Layers) Decide(values []permission.Value) permission.Decision {
	if l.sandboxed && !l.Held {
		// A program may reach any host.
		values = append(slices.Clip(values), permission.Value{Tool: tool.NetworkTool, Kind: permission.Mentioned, Certainty: permission.Unknown})
	}
	d := l.Layers.Decide(values)
	if d.Action == permission.Allow {
		if rule := l.SecondPerson(values); rule != nil {
			return permission.Decision{Action: permission.Ask, Layer: permission.LayerPolicy, Rule: rule, Value: d.Value, Personal: true}
		}
	}
	return d
}

// Reason says why a decision is what it is.
func (l *Layers) Reason(d permission.Decision) string {
	text := d.Reason()
	if d.Action == permission.Ask && l.notHeld != "" {
		text += " No sandbox holds the command: " + l.notHeld + "."
	}
	if d.Action == permission.Ask && l.lasting != nil {
		text += " It can be allowed for this time alone: " + l.lasting.Error() + "."
	}
	return text
}
