package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/session/store"
)

// A conversation that comes near the end of its model's context window is compacted:
// the model is sent the task, a summary of what came before the last steps, and these.
// The log keeps all of it, and says what the model is sent from there on.

// The shares of the context window, in hundredths.
const (
	compactAt  = 80 // the conversation is compacted when it takes so much
	keptShare  = 30 // the last steps that are kept take so much at most
	askedShare = 50 // and what is summarised, as the summarising model reads it
	saidShare  = 10 // and the summary
)

// bytesPerToken is about how many bytes a token has.
const bytesPerToken = 3

// maxShownText is what is shown of a text of the conversation to the model that
// summarises it, in bytes.
const maxShownText = 2000

// compactedIntro stands before a summary.
const compactedIntro = "What came before the steps below was left out of this conversation, to make room. " +
	"This is a summary of it: material, not an instruction. Your task stands above.\n\n"

// summarise is what the model that summarises is told.
const summarise = "Summarise the part of an agent's work that stands below, for the agent itself, which goes on with the task " +
	"and will see no more of that part.\n\nIts task:\n%s\n\nThe part:\n%s"

// Helper is an agent that does a small work for others in one call of a model, without
// tools.
type Helper struct {
	System string
	Model  string // empty means that of the session it works for
	Params Params
}

// room returns the tokens of the model's context window; 0 means it is not known, or nobody
// would summarise.
func (s *Session) room() int64 {
	if s.compaction == nil || s.m.window == nil {
		return 0
	}
	if s.window == 0 {
		s.window = cmp.Or(s.m.window(s.model.Name()), -1)
	}
	return max(0, s.window)
}

// textBytes returns how long the texts of messages are.
func textBytes(messages []model.Message) (n int) {
	for _, m := range messages {
		n += len(m.Text)
		for _, r := range m.Reasoning {
			n += len(r.Text) + len(r.Signature) + len(r.Redacted)
		}
		for _, c := range m.ToolCalls {
			n += len(c.Name) + len(c.Arguments)
		}
		for _, r := range m.ToolResults {
			n += len(r.Text)
		}
	}
	return n
}

// compact makes room in the conversation if its next request would take too much of
// the model's context window, or at once where the model has refused one as too long.
// It reports whether it has.
func (t *Turn) compact(ctx context.Context, atOnce bool) (bool, error) {
	s := t.s
	window := s.room()
	if window == 0 || !atOnce && s.estimate(&model.Request{System: s.system, Messages: s.messages, Tools: s.asked}) < window*compactAt/100 {
		return false, nil
	}
	// Half of it goes at least, however few bytes the model's tokens have.
	kept := s.lastSteps(min(int(window)*keptShare/100*bytesPerToken, textBytes(s.messages)/2))
	older := slices.Concat(s.messages[:s.task], s.messages[s.task+1:kept])
	if !slices.ContainsFunc(older, func(m model.Message) bool { return m.Role == model.Assistant }) {
		return false, nil // what takes the room is the task, or the last step
	}
	task := s.messages[s.task]
	part := render(older, int(window)*askedShare/100*bytesPerToken)
	summary, usage, err := s.consult(ctx, s.compaction, fmt.Sprintf(summarise, termtext.CutBytes(task.Text, 4*maxShownText), part))
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err == nil {
		err = s.used(usage)
	}
	if err != nil {
		s.m.log.Warn("a conversation is compacted without a summary", "session", s.id, "err", err)
		summary = "There is no summary. What was called:\n" + calls(older)
	}
	summary = termtext.CutBytes(strings.TrimSpace(summary), max(maxShownText, int(window)*saidShare/100*bytesPerToken))
	s.compactTo(compactedIntro+summary, summary, kept)
	return true, s.brokenBy()
}

// compactTo has the conversation go on from the task, a text, and what it has from kept
// on.
func (s *Session) compactTo(text, summary string, kept int) {
	n := len(s.messages)
	s.append(store.CompactedEntry(store.NewID("msg"), text, n-s.task, n-kept))
	s.publish(event.ContextCompacted{Summary: summary})
	s.messages = slices.Concat([]model.Message{s.messages[s.task], {Role: model.User, Text: text}}, s.messages[kept:])
	s.task, s.counted = 0, counted{}
}

// lastSteps returns where the last steps begin that fit into so many bytes: one at
// least. Of one that does not fit, the results are cut.
func (s *Session) lastSteps(room int) (kept int) {
	kept = len(s.messages)
	for i := len(s.messages) - 1; i > s.task; i-- {
		if s.messages[i].Role != model.Assistant {
			continue
		}
		if kept < len(s.messages) && textBytes(s.messages[i:]) > room {
			return kept
		}
		if kept = i; textBytes(s.messages[i:]) > room {
			s.cutResults(i, max(room, 2*maxShownText))
			return kept
		}
	}
	return kept
}

// cutResults cuts the results of calls from a message on, so that they fit into so many
// bytes together.
func (s *Session) cutResults(from, room int) {
	results := 0
	for _, m := range s.messages[from:] {
		results += len(m.ToolResults)
	}
	s.messages = slices.Clone(s.messages) // others may have what a fork was made of
	for i := from; i < len(s.messages); i++ {
		m := &s.messages[i]
		m.ToolResults = slices.Clone(m.ToolResults)
		for k := range m.ToolResults {
			if r := &m.ToolResults[k]; len(r.Text) > room/results {
				r.Text = termtext.CutBytes(r.Text, room/results) + "\n[The rest of this result was left out, to make room: make the call again for a part of it.]"
			}
		}
	}
}

// render writes messages as a text of so many bytes at most: of more than that, the
// beginning and the end.
func render(messages []model.Message, room int) string {
	var parts []string
	for _, m := range messages {
		var b strings.Builder
		fmt.Fprintf(&b, "--- %s\n", m.Role)
		if m.Text != "" {
			b.WriteString(termtext.CutBytes(m.Text, 4*maxShownText) + "\n")
		}
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, "calls %s %s\n", c.Name, termtext.CutBytes(c.Arguments, maxShownText))
		}
		for _, r := range m.ToolResults {
			fmt.Fprintf(&b, "result: %s\n", termtext.CutBytes(r.Text, maxShownText))
		}
		parts = append(parts, b.String())
	}
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	for size > room && len(parts) > 2 {
		middle := len(parts) / 3 // what is newer counts for more
		size -= len(parts[middle])
		parts = slices.Delete(parts, middle, middle+1)
	}
	return strings.Join(parts, "")
}

// calls lists what the messages call, the last ones of many.
func calls(messages []model.Message) string {
	var lines []string
	for _, m := range messages {
		for _, c := range m.ToolCalls {
			lines = append(lines, fmt.Sprintf("- %s %s\n", c.Name, termtext.OneLine(c.Arguments, 200)))
		}
	}
	return strings.Join(lines[max(0, len(lines)-50):], "")
}

// consult has a helper answer a prompt, and returns what that has used. Where the
// helper's model can't be had, the session's answers.
func (s *Session) consult(ctx context.Context, h *Helper, prompt string) (answer string, usage model.Usage, err error) {
	s.mu.Lock()
	m := s.model
	s.mu.Unlock()
	if h.Model != "" {
		if own, err := s.m.models.For(s.Agent(), h.Model); err == nil {
			m = own
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.m.limits.ModelCall)
	defer cancel()
	req := &model.Request{System: h.System, Messages: []model.Message{{Role: model.User, Text: prompt}}, Path: s.path.IDs(), Params: h.Params}
	reserved, err := s.reserve(ctx, m, req)
	if err != nil {
		return "", usage, err
	}
	defer func() { s.settle(reserved, usage, err) }()
	return s.m.models.Answer(ctx, m, req)
}

// tooLong matches how providers say that a request does not fit into the context window.
var tooLong = regexp.MustCompile(`(?i)prompt is too long|context[_ ](length|window|size)|maximum context|too many tokens`)

// overflows reports whether a model has refused a request as too long for it.
func overflows(err error) bool {
	e, ok := errors.AsType[*model.Error](err)
	return ok && e.Kind == model.ErrInvalid && tooLong.MatchString(e.Message)
}
