// Package toolset has the tools of a session, offers its model the ones that rules leave, and has
// tool_search for long lists.
package toolset

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
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/tool"
)

// Set is the tools of a session. It is safe for concurrent use, so sessions with the same
// tools share it. It changes only in what a source adds to it: see [Set.With].
type Set struct {
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
	trained  bool
	specs    []tool.Spec // of all tools of the set
	offered  []model.ToolSpec
}

// New returns a set of tools. It refuses two of one name.
func New(tools ...tool.Tool) (*Set, error) {
	ts := &Set{byName: make(map[string]tool.Tool, len(tools)), names: make([]string, 0, len(tools))}
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
func (ts *Set) With(source func() []tool.Tool) *Set {
	return &Set{byName: ts.byName, names: ts.names, source: source, allowed: ts.allowed}
}

// now returns the tools of the moment by their names, and the names in order.
func (ts *Set) now() (byName map[string]tool.Tool, names []string) {
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
		if s.byName[spec.Name] != nil || ts.allowed != nil && !among(ts.allowed, spec) {
			continue
		}
		s.byName[spec.Name] = t
		s.names = append(s.names, spec.Name)
	}
	if len(s.names) > len(ts.names) && s.byName[toolcatalog.ToolSearch] == nil {
		s.byName[toolcatalog.ToolSearch] = searchTool{ts}
		s.names = append(s.names, toolcatalog.ToolSearch)
	}
	ts.sourced.Store(s)
	return s.byName, s.names
}

// Get returns the tool of a name; nil means there is none.
func (ts *Set) Get(name string) tool.Tool {
	byName, _ := ts.now()
	return byName[name]
}

// Names returns the names of the tools, in the order in which the model sees them. The caller
// must not change them.
func (ts *Set) Names() []string {
	_, names := ts.now()
	return names
}

// Offered describes the tools that the model may call: all available ones, unless rules deny
// them with any arguments. trained says that the model is trained for the tools of
// [tool.Spec.Trained]. The result is made anew only after a change, and the caller must not
// change it.
func (ts *Set) Offered(rulesets []*permission.Ruleset, trained bool) []model.ToolSpec {
	byName, names := ts.now()
	if last := ts.last.Load(); last != nil && last.trained == trained && slices.Equal(last.rulesets, rulesets) && last.holds(byName, names) {
		return last.offered
	}
	o := &offer{rulesets: rulesets, trained: trained}
	for _, name := range names {
		spec := byName[name].Spec()
		o.specs = append(o.specs, spec)
		if !spec.Unavailable && barred(rulesets, spec) == "" && (!spec.Trained || trained || named(rulesets, name, permission.Allow)) {
			o.offered = append(o.offered, model.ToolSpec{Name: spec.Name, Description: spec.Description, InputSchema: spec.InputSchema})
		}
	}
	o.offered = slices.Clip(o.offered)
	ts.last.Store(o)
	return o.offered
}

// Only returns the set of the tools that allowed names, with the tools that follow them. A nil
// allowed names all.
func (ts *Set) Only(allowed []string) *Set {
	if allowed == nil {
		return ts
	}
	some := &Set{byName: make(map[string]tool.Tool), source: ts.source, allowed: allowed}
	for _, name := range ts.names {
		if t := ts.byName[name]; among(allowed, t.Spec()) {
			some.byName[name] = t
			some.names = append(some.names, name)
		}
	}
	return some
}

// Replaced returns the set with a tool, instead of one of its name if there is one.
func (ts *Set) Replaced(t tool.Tool) *Set {
	name := t.Spec().Name
	more := &Set{byName: maps.Clone(ts.byName), names: slices.Clone(ts.names), source: ts.source, allowed: ts.allowed}
	if more.byName[name] == nil {
		more.names = append(more.names, name)
	}
	more.byName[name] = t
	return more
}

// Lasts reports whether the results of the tool of a name stay in a conversation.
func (ts *Set) Lasts(name string) bool {
	t := ts.byName[name]
	return t != nil && t.Spec().Lasting
}

// CheckAllowed returns an error about the first name in allowed that is not that of a tool of
// the set with rules of its own.
func (ts *Set) CheckAllowed(allowed []string) error {
	var known []string
	byName, names := ts.now()
	for _, name := range names {
		if slices.Equal(givenBy(byName[name].Spec()), []string{name}) {
			known = append(known, name)
		}
	}
	for _, name := range allowed {
		if slices.Contains(known, name) {
			continue
		}
		if t := byName[name]; t != nil && len(givenBy(t.Spec())) > 0 {
			return fmt.Errorf("%s comes with %s: name that instead", name, strings.Join(givenBy(t.Spec()), " and "))
		}
		return fmt.Errorf("there is no tool %q%s; the tools are: %s", termtext.CutBytes(name, termtext.MaxTitle), suggest.DidYouMean(name, known), strings.Join(known, ", "))
	}
	return nil
}

// Acts reports whether the model may call a tool that changes more than its own notes.
func (ts *Set) Acts(rulesets []*permission.Ruleset) bool {
	byName, names := ts.now()
	return slices.ContainsFunc(names, func(name string) bool {
		spec := byName[name].Spec()
		return !spec.ReadOnly && !spec.Delegates && !spec.Notes && !spec.Unavailable && spec.Follows == "" && barred(rulesets, spec) == ""
	})
}

// ruledAs returns the names of the tools whose rules hold for calls of this one.
func ruledAs(spec tool.Spec) []string {
	if spec.RuledBy != nil {
		return spec.RuledBy
	}
	return []string{cmp.Or(spec.Follows, spec.Name)}
}

// givenBy returns the names that a list of allowed tools has to have for a tool: those whose rules
// hold for its calls. A tool that only reads has to be named itself: nothing of what is named would
// lack it.
func givenBy(spec tool.Spec) []string {
	if spec.ReadOnly && len(spec.RuledBy) > 0 {
		return []string{spec.Name}
	}
	return ruledAs(spec)
}

// among reports whether allowed names a tool, or what gives it.
func among(allowed []string, spec tool.Spec) bool {
	return !slices.ContainsFunc(givenBy(spec), func(name string) bool { return !slices.Contains(allowed, name) })
}

// barred returns the tool whose rules deny all calls of this one in one of the rulesets; empty
// means there is none. A tool that has no rules of its own can be denied by its name all the same.
func barred(rulesets []*permission.Ruleset, spec tool.Spec) string {
	for _, name := range ruledAs(spec) {
		if gate.DeniesAll(rulesets, name) {
			return name
		}
	}
	if deniedByName(rulesets, spec) {
		return spec.Name
	}
	return ""
}

func deniedByName(rulesets []*permission.Ruleset, spec tool.Spec) bool {
	return spec.RuledBy != nil && slices.ContainsFunc(rulesets, func(r *permission.Ruleset) bool {
		return r.DeniesAll(spec.Name) && named([]*permission.Ruleset{r}, spec.Name, permission.Deny)
	})
}

// Barred returns the tool whose rules deny all calls of this one; empty means there is none.
func Barred(l *gate.Layers, spec tool.Spec) string {
	if name := barred(slices.Concat(l.Policies, l.Agents), spec); name != "" || !deniedByName(l.All(), spec) {
		return name
	}
	return spec.Name
}

// named reports whether a rule with this action names a tool, not only matches it.
func named(rulesets []*permission.Ruleset, name string, action permission.Action) bool {
	for _, set := range rulesets {
		for r := range set.Rules() {
			if r.Tool == name && r.Action == action {
				return true
			}
		}
	}
	return false
}

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
