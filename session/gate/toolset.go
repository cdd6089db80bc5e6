package gate

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/agentworker/worker/internal/suggest"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/tool"
)

// ToolSet is the tools of a session. It is safe for concurrent use, so sessions with the same
// tools share it. It changes only in what a source adds to it: see [ToolSet.With].
type ToolSet struct {
	byName map[string]tool.Tool
	names  []string // in the order in which the model sees them
	last   atomic.Pointer[offer]

	source  func() []tool.Tool // of more tools; nil means there are none
	allowed []string           // those of the source that count; nil means all
	sourced atomic.Pointer[sourced]
}

// sourced is what the set is with the tools that its source had at a moment.
type sourced struct {
	tools  []tool.Tool // as the source returned them
	byName map[string]tool.Tool
	names  []string
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

// With returns the set with the tools of a source besides, which is asked for them each time.
// It returns the same slice as long as nothing has changed. A tool of the set is not replaced
// by one of the source.
func (ts *ToolSet) With(source func() []tool.Tool) *ToolSet {
	return &ToolSet{byName: ts.byName, names: ts.names, source: source, allowed: ts.allowed}
}

// now returns the tools of the moment by their names, and the names in order.
func (ts *ToolSet) now() (byName map[string]tool.Tool, names []string) {
	if ts.source == nil {
		return ts.byName, ts.names
	}
	tools := ts.source()
	if len(tools) == 0 {
		return ts.byName, ts.names
	}
	if s := ts.sourced.Load(); s != nil && len(s.tools) == len(tools) && &s.tools[0] == &tools[0] {
		return s.byName, s.names
	}
	s := &sourced{tools: tools, byName: maps.Clone(ts.byName), names: slices.Clone(ts.names)}
	for _, t := range tools {
		spec := t.Spec()
		if s.byName[spec.Name] != nil || ts.allowed != nil && !slices.Contains(ts.allowed, RuledAs(spec)) {
			continue
		}
		s.byName[spec.Name] = t
		s.names = append(s.names, spec.Name)
	}
	ts.sourced.Store(s)
	return s.byName, s.names
}

// Get returns the tool of a name; nil means there is none.
func (ts *ToolSet) Get(name string) tool.Tool {
	byName, _ := ts.now()
	return byName[name]
}

// Names returns the names of the tools, in the order in which the model sees them. The caller
// must not change them.
func (ts *ToolSet) Names() []string {
	_, names := ts.now()
	return names
}

// Offered describes the tools that the model may call: all available ones, unless rules deny
// them with any arguments. The result is made anew only after a change, and the caller must
// not change it.
func (ts *ToolSet) Offered(rulesets []*permission.Ruleset) []model.ToolSpec {
	byName, names := ts.now()
	if last := ts.last.Load(); last != nil && slices.Equal(last.rulesets, rulesets) && last.holds(byName, names) {
		return last.offered
	}
	o := &offer{rulesets: rulesets}
	for _, name := range names {
		spec := byName[name].Spec()
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
	some := &ToolSet{byName: make(map[string]tool.Tool), source: ts.source, allowed: allowed}
	for _, name := range ts.names {
		if t := ts.byName[name]; slices.Contains(allowed, RuledAs(t.Spec())) {
			some.byName[name] = t
			some.names = append(some.names, name)
		}
	}
	return some
}

// Replaced returns the set with a tool, instead of one of its name if there is one.
func (ts *ToolSet) Replaced(t tool.Tool) *ToolSet {
	name := t.Spec().Name
	more := &ToolSet{byName: maps.Clone(ts.byName), names: slices.Clone(ts.names), source: ts.source, allowed: ts.allowed}
	if more.byName[name] == nil {
		more.names = append(more.names, name)
	}
	more.byName[name] = t
	return more
}

// Lasts reports whether the results of the tool of a name stay in a conversation.
func (ts *ToolSet) Lasts(name string) bool {
	t := ts.byName[name]
	return t != nil && t.Spec().Lasting
}

// CheckAllowed returns an error about the first name in allowed that is not that of a tool of
// the set with rules of its own.
func (ts *ToolSet) CheckAllowed(allowed []string) error {
	var known []string
	byName, names := ts.now()
	for _, name := range names {
		if RuledAs(byName[name].Spec()) == name {
			known = append(known, name)
		}
	}
	for _, name := range allowed {
		if slices.Contains(known, name) {
			continue
		}
		if t := byName[name]; t != nil {
			return fmt.Errorf("%s comes with %s: name that one", name, t.Spec().Follows)
		}
		return fmt.Errorf("there is no tool %q%s; the tools are: %s", termtext.CutBytes(name, termtext.MaxTitle), suggest.DidYouMean(name, known), strings.Join(known, ", "))
	}
	return nil
}

// Acts reports whether the model may call a tool that changes more than its own notes.
func (ts *ToolSet) Acts(rulesets []*permission.Ruleset) bool {
	byName, names := ts.now()
	return slices.ContainsFunc(names, func(name string) bool {
		spec := byName[name].Spec()
		return !spec.ReadOnly && !spec.Delegates && !spec.Notes && !spec.Unavailable && spec.Follows == "" && !DeniesAll(rulesets, spec.Name)
	})
}

// RuledAs returns the name of the tool whose rules hold for calls of this one.
func RuledAs(spec tool.Spec) string { return cmp.Or(spec.Follows, spec.Name) }

// holds reports whether the tools of the set have not changed since the offer.
func (o *offer) holds(byName map[string]tool.Tool, names []string) bool {
	if len(names) != len(o.specs) {
		return false
	}
	for i, name := range names {
		was, is := &o.specs[i], byName[name].Spec()
		if was.Name != is.Name || was.Unavailable != is.Unavailable || was.Description != is.Description || !bytes.Equal(was.InputSchema, is.InputSchema) {
			return false
		}
	}
	return true
}
