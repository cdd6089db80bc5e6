package gate

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/agentworker/worker/internal/suggest"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// ToolSet is the tools of a session. It is immutable and safe for concurrent use, so sessions
// with the same tools share it.
type ToolSet struct {
	byName map[string]tool.Tool
	names  []string // in the order in which the model sees them
	last   atomic.Pointer[offer]
}

// offer is what the model is offered of a set at a moment. It is immutable.
type offer struct {
	rulesets []*permission.Ruleset
	specs    []tool.Spec // of all tools of the set
	offered  []model.ToolSpec
}

// NewToolSet returns a set of tools. It refuses two of one name.
func NewToolSet(tools ...tool.Tool) (*ToolSet, error) {
	ts := &ToolSet{byName: make(map[string]tool.Tool, len(tools)), names: make([]string, 0, len(tools))}
	for _, t := range tools {
		name := t.Spec().Name
		if name == "" || strings.ContainsAny(name, " \t\n") {
			return nil, fmt.Errorf("%q is not a tool name", name)
		}
		if ts.byName[name] != nil {
			return nil, fmt.Errorf("there are two tools named %s", name)
		}
		ts.byName[name] = t
		ts.names = append(ts.names, name)
	}
	return ts, nil
}

// Get returns the tool of a name; nil means there is none.
func (ts *ToolSet) Get(name string) tool.Tool { return ts.byName[name] }

// Names returns the names of the tools, in the order in which the model sees them. The caller
// must not change them.
func (ts *ToolSet) Names() []string { return ts.names }

// Offered describes the tools that the model may call: all available ones, unless rules deny
// them with any arguments. The result is made anew only after a change, and the caller must
// not change it.
func (ts *ToolSet) Offered(rulesets []*permission.Ruleset) []model.ToolSpec {
	if last := ts.last.Load(); last != nil && slices.Equal(last.rulesets, rulesets) && last.holds(ts) {
		return last.offered
	}
	o := &offer{rulesets: rulesets}
	for _, name := range ts.names {
		spec := ts.byName[name].Spec()
		o.specs = append(o.specs, spec)
		if !spec.Unavailable && !DeniesAll(rulesets, RuledAs(spec)) {
			o.offered = append(o.offered, model.ToolSpec{Name: spec.Name, Description: spec.Description, InputSchema: spec.InputSchema})
		}
	}
	o.offered = slices.Clip(o.offered)
	ts.last.Store(o)
	return o.offered
}

// Only returns the set of the tools that allowed names, with the tools that follow them. A nil
// allowed names all.
func (ts *ToolSet) Only(allowed []string) *ToolSet {
	if allowed == nil {
		return ts
	}
	some := &ToolSet{byName: make(map[string]tool.Tool)}
	for _, name := range ts.names {
		if t := ts.byName[name]; slices.Contains(allowed, RuledAs(t.Spec())) {
			some.byName[name] = t
			some.names = append(some.names, name)
		}
	}
	return some
}

// CheckAllowed returns an error about the first name in allowed that is not that of a tool of
// the set with rules of its own.
func (ts *ToolSet) CheckAllowed(allowed []string) error {
	var known []string
	for _, name := range ts.names {
		if RuledAs(ts.byName[name].Spec()) == name {
			known = append(known, name)
		}
	}
	for _, name := range allowed {
		if slices.Contains(known, name) {
			continue
		}
		if t := ts.byName[name]; t != nil {
			return fmt.Errorf("%s comes with %s: name that one", name, t.Spec().Follows)
		}
		return fmt.Errorf("there is no tool %q%s; the tools are: %s", termtext.CutBytes(name, termtext.MaxTitle), suggest.DidYouMean(name, known), strings.Join(known, ", "))
	}
	return nil
}

// Acts reports whether the model may call a tool that changes more than its own notes.
func (ts *ToolSet) Acts(rulesets []*permission.Ruleset) bool {
	return slices.ContainsFunc(ts.names, func(name string) bool {
		spec := ts.byName[name].Spec()
		return !spec.ReadOnly && !spec.Delegates && !spec.Notes && !spec.Unavailable && spec.Follows == "" && !DeniesAll(rulesets, spec.Name)
	})
}

// RuledAs returns the name of the tool whose rules hold for calls of this one.
func RuledAs(spec tool.Spec) string { return cmp.Or(spec.Follows, spec.Name) }

// holds reports whether the tools of the set have not changed since the offer.
func (o *offer) holds(ts *ToolSet) bool {
	for i, name := range ts.names {
		was, is := &o.specs[i], ts.byName[name].Spec()
		if was.Unavailable != is.Unavailable || was.Description != is.Description || !bytes.Equal(was.InputSchema, is.InputSchema) {
			return false
		}
	}
	return true
}
