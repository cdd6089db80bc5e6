// Package scen is the work that every peer does, so that their figures can be
// compared, and the check that they have done it.
//
// The model of one parent answers the user's message with Fan calls of a child.
// A child's model calls the tool echo twice, one call after the other, and then
// answers with Deltas pieces of text. The parent's model gets the text as the
// result of each call and ends the run. Models have no latency. Each peer writes
// them against its own framework's interface, around a [Model].
package scen

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// What the agents are called and told.
const (
	ParentName  = "parent"
	ChildName   = "child"
	ToolName    = "echo"
	Instruction = "You are a careful assistant."
	UserText    = "Please find the answer."
	ChildArgs   = `{"request":"look it up"}`
	EchoArgs    = `{"text":"hello"}`
	echoText    = "hello"
	fewDeltas   = 4
)

// Script is what each run of a peer does.
type Script struct {
	Fan    int   // calls of the child in the parent's one turn
	Deltas int   // pieces of a child's answer; 0 means 4
	Gate   *Gate // holds the children in their first model call; nil means none is held

	// What the models and the tool were asked, in all runs.
	ParentCalls, ChildCalls, Echoes atomic.Int64
}

// Text is the answer of each child.
func (s *Script) Text() string { return pieces(s.Deltas).whole }

// Final is the answer of the parent.
func (s *Script) Final() string { return pieces(0).whole }

// Echo is the tool.
func (s *Script) Echo(text string) string {
	s.Echoes.Add(1)
	return text
}

// Gate holds every child in its first model call.
type Gate struct {
	In   atomic.Int64 // children that have come
	open chan struct{}
}

// NewGate returns a gate that is closed.
func NewGate() *Gate { return &Gate{open: make(chan struct{})} }

// Open lets all children go on.
func (g *Gate) Open() { close(g.open) }

func (g *Gate) wait(ctx context.Context) error {
	if g == nil {
		return nil
	}
	g.In.Add(1)
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Model is the part of a peer's model that all peers share.
type Model struct {
	Script *Script
	Parent bool // whose model it is
}

// Call is one call of a model: first Result for each tool result of the request,
// then Answer.
type Call struct {
	model         Model
	want          string // in each result
	results, good int
	bad           string // the first result that is not good
}

// Begin begins a call.
func (m Model) Begin() Call {
	if m.Parent {
		m.Script.ParentCalls.Add(1)
		return Call{model: m, want: m.Script.Text()}
	}
	m.Script.ChildCalls.Add(1)
	return Call{model: m, want: echoText}
}

// Result takes a tool result of the request.
func (c *Call) Result(text string) {
	c.results++
	if strings.Contains(text, c.want) {
		c.good++
	} else if c.bad == "" {
		c.bad = text
	}
}

// Step is a model's answer: calls of a tool, or text in pieces.
type Step struct {
	Tool, Args string
	IDs        []string // of the calls
	Deltas     []string
}

// Answer returns what the model answers. An error is the peer's mistake.
func (c *Call) Answer(ctx context.Context) (Step, error) {
	s := c.model.Script
	if c.good != c.results {
		return Step{}, fmt.Errorf("%d of %d tool results do not hold %.20q, as %.300q", c.results-c.good, c.results, c.want, c.bad)
	}
	switch {
	case c.model.Parent && c.results == 0:
		return Step{Tool: ChildName, Args: ChildArgs, IDs: callIDs(s.Fan)}, nil
	case c.model.Parent && c.results != s.Fan:
		return Step{}, fmt.Errorf("the parent's model got %d results of %d calls", c.results, s.Fan)
	case c.model.Parent:
		return Step{Deltas: pieces(0).all}, nil
	case c.results < 2:
		if c.results == 0 {
			if err := s.Gate.wait(ctx); err != nil {
				return Step{}, err
			}
		}
		return Step{Tool: ToolName, Args: EchoArgs, IDs: []string{"call_echo_" + strconv.Itoa(c.results)}}, nil
	}
	return Step{Deltas: pieces(s.Deltas).all}, nil
}

// Made once, so that a run costs what the peer costs.
var madeIDs, madeTexts sync.Map // by number

func callIDs(n int) []string {
	if v, ok := madeIDs.Load(n); ok {
		return v.([]string)
	}
	ids := make([]string, n)
	for i := range ids {
		ids[i] = "call_child_" + strconv.Itoa(i)
	}
	madeIDs.Store(n, ids)
	return ids
}

type text struct {
	all   []string
	whole string
}

// pieces returns a text of n numbered words.
func pieces(n int) *text {
	if n == 0 {
		n = fewDeltas
	}
	if v, ok := madeTexts.Load(n); ok {
		return v.(*text)
	}
	t := &text{all: make([]string, n)}
	for i := range t.all {
		t.all[i] = fmt.Sprintf("w%04d ", i)
	}
	t.all[n-1] += "end"
	t.whole = strings.Join(t.all, "")
	madeTexts.Store(n, t)
	return t
}
