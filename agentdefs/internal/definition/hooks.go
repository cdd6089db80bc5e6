package definition

import (
	"regexp"

	"github.com/agentworker/worker/agentdefs/internal/agentfile"
	"github.com/agentworker/worker/agentdefs/internal/diag"
	"github.com/agentworker/worker/internal/hookconfig"
)

// blockingHooks are the events of hooks that can keep a call from happening, or
// a run from ending; the hooks of others only look on.
var blockingHooks = regexp.MustCompile(`(?i)^(?:pre|before|permission|userprompt|stop|subagentstop)`)

// hooks reads the hooks of a file, and reports each that can't run here.
func (p *parser) hooks(d *Definition, e agentfile.Entry) {
	d.Fields = append(d.Fields, OtherField{Name: e.Key, Line: e.Line, Column: e.Column, node: e.Node})
	if e.Node == nil || agentfile.IsNull(e.Node) {
		return
	}
	all, err := hookconfig.ParseAgent(e.Node)
	if err != nil {
		p.Report(diag.RestrictionIgnored, e.Line, e.Column, "write hooks as Claude Code has them: docs/guide/hooks.md", "%v; none of the hooks runs", err)
		return
	}
	for i := 0; i+1 < len(e.Node.Content); i += 2 {
		key := e.Node.Content[i]
		switch {
		case hookconfig.Happens(key.Value):
		case blockingHooks.MatchString(key.Value):
			p.Report(diag.RestrictionIgnored, key.Line, key.Column, "use PreToolUse", "there is no event %s here: its hooks never run", key.Value)
		default:
			p.Report(diag.FieldUnsupported, key.Line, key.Column, "", "there is no event %s here: its hooks never run", key.Value)
		}
	}
	for _, h := range all {
		h.File, h.Repository = p.File, !p.outside
		switch {
		case h.Wrong == "":
		case h.Event.Refuses() && h.OnFailure != "continue":
			p.Report(diag.RestrictionIgnored, h.Line, 1, "write a command, or an https URL", "a hook of %s can't run: %s; once it is trusted, what it guards is denied", h.Event, h.Wrong)
		default:
			p.Report(diag.FieldUnsupported, h.Line, 1, "", "a hook of %s can't run: %s", h.Event, h.Wrong)
		}
	}
	d.Hooks = all
}
