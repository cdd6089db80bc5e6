package toolcall

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/agentworker/worker/hooks"
	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/permission"
)

// hooked are the calls of a session as hooks have them.
type hooked struct{ *Calls }

// hookCall returns what hooks learn about a call.
func (s hooked) hookCall(e hookconfig.Event, c *Call) hooks.Call {
	h := HooksOf(s.Calls).call(e)
	h.Hooks = append(slices.Clip(s.HooksAbove), s.AgentHooks...)
	h.Tool, h.ID, h.Input = c.Name, c.ID, json.RawMessage(c.Arguments)
	return h
}

// has reports whether hooks judge a call before it is made.
func (s hooked) has(c *Call, values []permission.Value) bool {
	if s.p.Hooks == nil {
		return false
	}
	call := s.hookCall(hookconfig.PreToolUse, c)
	call.Values = values
	return s.p.Hooks.Has(&call)
}

// askHooks has the hooks judge a call that no rule denies. It reports whether they have changed the
// arguments, which are then to be judged from the start. If they deny the call, it is over.
func (s hooked) askHooks(ctx context.Context, c *Call, values []permission.Value) (changed bool) {
	if s.p.Hooks == nil || c.hooksAsked {
		return false
	}
	c.hooksAsked = true
	call := s.hookCall(hookconfig.PreToolUse, c)
	call.Values = values
	out := s.p.Hooks.Run(ctx, call)
	c.hooks = out
	switch {
	case out.Deny != nil:
		c.End(s.hookDenies(c, values, out.Deny))
	case out.Updated != nil && c.Prepared != nil && c.given:
		c.End(s.hookDenies(c, values, &hooks.Voice{Hook: out.By.Hook, Text: "it changes the arguments of a call that a person has made"}))
	case out.Updated != nil:
		c.Arguments, c.Prepared = string(out.Updated), nil
		c.hooks.Context = append(c.hooks.Context, hooks.Voice{Hook: out.By.Hook, Text: "The arguments of the call were changed to: " + c.Arguments})
		return true
	}
	return false
}

// hookDenies refuses a call, since a hook does.
func (s hooked) hookDenies(c *Call, values []permission.Value, by *hooks.Voice) Result {
	r := s.Audit.decision(c, values, permission.Decision{Action: permission.Deny, Layer: permission.LayerHook}, nil)
	r.By, r.Source, r.Reason = by.Hook.By(), by.Hook.Source(), by.Text
	s.Audit.note(r)
	return refuse("%s is denied by the %s", c.Name, by.Because())
}

// asked is a decision as the hooks of a call have it: what they ask about is asked about.
func (c *Call) asked(d permission.Decision) permission.Decision {
	if c.hooks.Ask == nil || d.Action != permission.Allow {
		return d
	}
	h := c.hooks.Ask.Hook
	rule := permission.Rule{Tool: c.Name, Pattern: "*", Action: permission.Ask, Source: permission.Source{File: h.File, Line: h.Line}}
	return permission.Decision{Action: permission.Ask, Layer: permission.LayerHook, Rule: &rule, Value: d.Value}
}

// hookAsks says why a hook has somebody asked; empty if none does, or it gives no reason.
func (c *Call) hookAsks() string {
	if c.hooks.Ask == nil || c.hooks.Ask.Text == "" {
		return ""
	}
	return " " + c.hooks.Ask.Because() + "."
}

// answer returns the hook that answers the question of a call; nil means that none does. It
// is no answer to what is for a person alone, or to another hook.
func (s hooked) answer(ctx context.Context, c *Call, d permission.Decision) (allow, deny *hooks.Voice) {
	if s.p.Hooks == nil || c.tool == nil {
		return nil, nil
	}
	out := s.p.Hooks.Run(ctx, s.hookCall(hookconfig.PermissionRequest, c))
	allow, deny = c.hooks.Allow, out.Deny
	if allow == nil && out.Updated == nil {
		allow = out.Allow
	}
	if c.hooks.Ask != nil || out.Ask != nil || d.Personal {
		allow = nil
	}
	return allow, deny
}

// tellHooks tells the hooks how a call has ended, and adds what they say to its result.
func (s hooked) tellHooks(ctx context.Context, c *Call) {
	if s.p.Hooks == nil || c.admitted == nil {
		return
	}
	c.mu.Lock()
	res, told := c.res, c.returned || !c.over
	c.mu.Unlock()
	if told {
		return
	}
	event := hookconfig.PostToolUse
	if res.IsError {
		event = hookconfig.PostToolUseFailure
	}
	call := s.hookCall(event, c)
	call.Response, call.Took = res.Text, time.Since(c.start)
	out := s.p.Hooks.Run(ctx, call)
	if out.Output != nil {
		res.Text = out.Output.Marked()
	}
	said := c.hooks.Context
	if out.Deny != nil {
		said = append(said, *out.Deny)
	}
	if added := hooks.Added(append(said, out.Context...)); added != "" || out.Output != nil {
		res.Text += added
		c.End(res)
	}
}
