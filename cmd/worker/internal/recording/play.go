package recording

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
)

// Player answers each call of a recording once. It is safe for concurrent use.
type Player struct {
	normal *Normal
	mask   func(string) string

	mu      sync.Mutex
	rec     *Recording
	used    []bool // by call
	differs []string
}

// NewPlayer returns a player of a recording, for one run. mask is as in [Recording.Save]:
// requests are masked before they are compared.
func NewPlayer(r *Recording, n *Normal, mask func(string) string) *Player {
	return &Player{normal: n, mask: mask, rec: r, used: make([]bool, len(r.Calls))}
}

// Model returns the model that plays the calls of a model of a name.
func (p *Player) Model(name string) (model.Model, error) {
	return &played{cmp.Or(p.rec.Models[name], p.rec.Models[""], "recording"), p}, nil
}

// Differences says how the run has departed from the recording: each call that it does not
// have and, once the run is over, how many calls were not made. Empty means not at all.
func (p *Player) Differences(over bool) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.Clone(p.differs)
	left := 0
	for _, used := range p.used {
		if !used {
			left++
		}
	}
	if over && left > 0 && len(all) == 0 {
		all = append(all, fmt.Sprintf("its end: it has %s", termtext.Plural(left, "model call")+" that the run has not made"))
	}
	return all
}

// played is a model of a player.
type played struct {
	name string
	by   *Player
}

// Name implements [model.Model].
func (m *played) Name() string { return m.name }

// Stream implements [model.Model].
func (m *played) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	return func(yield func(model.Part, error) bool) {
		if ctx.Err() != nil {
			yield(nil, ctx.Err())
			return
		}
		answer, differs := m.by.answer(req)
		if differs != "" {
			yield(nil, &model.Error{Model: m.name, Kind: model.ErrInvalid, Message: "the recording does not have this call: " + differs})
			return
		}
		here := answer.mapped(m.by.normal.back.Replace)
		for _, part := range here.parts() {
			if !yield(part, nil) {
				return
			}
		}
		if f := answer.Error; f != nil {
			yield(nil, &model.Error{Model: m.name, Kind: f.Kind, Status: f.Status, Message: f.Message})
		}
	}
}

// parts are the parts of an answer, all but its error.
func (a *Answer) parts() []model.Part {
	var parts []model.Part
	for _, r := range a.Reasoning {
		if r.Text != "" {
			parts = append(parts, model.ReasoningDelta{Text: r.Text})
		}
		parts = append(parts, r)
	}
	if a.Text != "" {
		parts = append(parts, model.TextDelta{Text: a.Text})
	}
	for _, c := range a.ToolCalls {
		parts = append(parts, c)
	}
	if a.Usage != nil {
		parts = append(parts, *a.Usage)
	}
	if a.Error == nil {
		stop := model.StopEnd
		if len(a.ToolCalls) > 0 {
			stop = model.StopToolCalls
		}
		parts = append(parts, model.Stop{Reason: cmp.Or(a.Stop, stop)})
	}
	return parts
}

// answer returns the answer of the call that the recording has for a request, or what
// differs from the nearest one.
func (p *Player) answer(req *model.Request) (*Answer, string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := New()
	made := (&Recording{Texts: one.Texts, Calls: []*Call{p.normal.call(one, req)}}).Masked(p.mask)
	asked := made.Calls[0]
	for i, c := range p.rec.Calls {
		if !p.used[i] && c.same(asked) {
			p.used[i] = true
			return &c.Answer, ""
		}
	}
	differs := p.difference(asked, made.Texts)
	p.differs = append(p.differs, differs)
	return nil, differs
}

// same reports whether a call asks the same as another.
func (c *Call) same(asked *Call) bool {
	sameSettings := c.System == asked.System && c.NoToolCalls == asked.NoToolCalls && slices.Equal(c.Tools, asked.Tools)
	return (c.System == "" || sameSettings) && slices.Equal(c.Messages, asked.Messages)
}

// alike counts the messages that two calls begin with.
func (c *Call) alike(asked *Call) int {
	n := 0
	for n < min(len(c.Messages), len(asked.Messages)) && c.Messages[n] == asked.Messages[n] {
		n++
	}
	return n
}

// difference says how a call differs from the nearest of the recording that was not made.
func (p *Player) difference(asked *Call, texts map[string]string) string {
	best, bestScore := -1, -1
	for i, c := range p.rec.Calls {
		if p.used[i] {
			continue
		}
		score := 4 * c.alike(asked)
		if c.System == asked.System {
			score += 2
		}
		if len(c.Messages) == len(asked.Messages) {
			score++
		}
		if score > bestScore {
			best, bestScore = i, score
		}
	}
	if best < 0 {
		return fmt.Sprintf("it has %s, and all were made", termtext.Plural(len(p.rec.Calls), "call"))
	}
	c := p.rec.Calls[best]
	where := fmt.Sprintf("call %d of %d: ", best+1, len(p.rec.Calls))
	at := c.alike(asked)
	switch {
	case c.System != "" && c.System != asked.System:
		return where + "the system prompt differs: " + lineThatDiffers(p.rec.Texts[c.System], texts[asked.System])
	case at < len(c.Messages) && at < len(asked.Messages):
		return where + fmt.Sprintf("message %d differs: ", at+1) + lineThatDiffers(p.rec.Texts[c.Messages[at]], texts[asked.Messages[at]])
	case len(c.Messages) != len(asked.Messages):
		return where + fmt.Sprintf("it has %s, recorded were %d", termtext.Plural(len(asked.Messages), "message"), len(c.Messages))
	case c.NoToolCalls != asked.NoToolCalls:
		return where + "only one of the two calls allows tool calls"
	}
	return where + fmt.Sprintf("the tools are %s; recorded were %s", strings.Join(asked.Tools, ", "), strings.Join(c.Tools, ", "))
}

// maxShown bounds what is shown of a line that differs, in characters.
const maxShown = 160

// lineThatDiffers shows the first line in which two texts differ.
func lineThatDiffers(recorded, now string) string {
	was, is := strings.Split(recorded, "\n"), strings.Split(now, "\n")
	at := 0
	for at < min(len(was), len(is)) && was[at] == is[at] {
		at++
	}
	show := func(lines []string) string {
		if at >= len(lines) {
			return "nothing"
		}
		return fmt.Sprintf("%q", termtext.OneLine(lines[at], maxShown))
	}
	return fmt.Sprintf("line %d was %s and is %s", at+1, show(was), show(is))
}
