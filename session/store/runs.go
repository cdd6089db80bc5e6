package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/model"
)

// A session that has ended may be resumed: another session goes on with its
// conversation, its next run. The ids of the runs are that of the first with "-2",
// "-3" and so on behind it: so each has one next run at most, and who knows the id of
// one finds the others.

// cutOff is the result of a call of which the log has none, in the conversation of
// the next run.
const cutOff = "[interrupted: the call was cut off, and it is not known what of it was done]"

// parseRun returns the id of the first run of a session, and which run an id is of.
func parseRun(id string) (first string, run int) {
	if i := strings.LastIndexByte(id, '-'); i > 0 {
		if n, err := strconv.Atoi(id[i+1:]); err == nil && n > 1 && id[i+1] != '0' {
			return id[:i], n
		}
	}
	return id, 1
}

// NextRun returns the id of the session that goes on with the conversation of
// another one, once that has ended.
func NextRun(id string) string {
	first, run := parseRun(id)
	return first + "-" + strconv.Itoa(run+1)
}

// FirstRun returns the id of the first run of a session.
func FirstRun(id string) string {
	first, _ := parseRun(id)
	return first
}

// SameRuns reports whether the sessions of two ids are runs of the same one.
func SameRuns(a, b string) bool {
	a, _ = parseRun(a)
	b, _ = parseRun(b)
	return a == b
}

// newestRuns returns the ids that begin with start or, where they are runs of one
// session, the newest of them.
func newestRuns(ids []string, start string) []string {
	if slices.Contains(ids, start) {
		return ids
	}
	found := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !strings.HasPrefix(id, start) })
	if len(found) < 2 || slices.ContainsFunc(found, func(id string) bool { return !SameRuns(id, found[0]) }) {
		return ids
	}
	return []string{slices.MaxFunc(found, func(a, b string) int {
		_, m := parseRun(a)
		_, n := parseRun(b)
		return m - n
	})}
}

// Next returns the record of the session that goes on with the conversation of another
// one; nil means there is none.
func (s *Store) Next(ctx context.Context, id string) (*Record, error) {
	r, _, err := s.read(ctx, NextRun(id))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return s.current(ctx, r)
}

// NewestRun returns the record of the newest run of a session: its own, if it was
// not resumed.
func (s *Store) NewestRun(ctx context.Context, r *Record) (*Record, error) {
	for r.Status.Ended() {
		next, _, err := s.read(ctx, NextRun(r.ID))
		if errors.Is(err, jetstream.ErrKeyNotFound) {
			return r, nil
		}
		if err != nil {
			return nil, err
		}
		s.settle(ctx, next.ID)
		if next, err = s.Get(ctx, next.ID); err != nil {
			return nil, err
		}
		r = next
	}
	return r, nil
}

// ErrResumed is returned for a session that somebody else has resumed.
var ErrResumed = errors.New("it was resumed already")

// Reserve stores the record of a session that resumes another one, before anything
// is in its log. Of all that would resume a session one succeeds; the others get
// [ErrResumed].
func (s *Store) Reserve(ctx context.Context, r *Record) error {
	_, err := s.update(ctx, r, 0)
	if errors.Is(err, errConflict) {
		return fmt.Errorf("session %s: %w as session %s", r.Resumes, ErrResumed, r.ID)
	}
	return err
}

// Conversation is [Store.Messages] so that a model can go on with it: each call has
// an outcome.
func (s *Store) Conversation(ctx context.Context, id string) ([]*Message, error) {
	r, err := s.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	state, err := s.State(ctx, r.Path)
	if err != nil {
		return nil, fmt.Errorf("reading the conversation of %w", err)
	}
	own := state.completed(cutOff)
	before, err := s.before(ctx, r, state)
	return append(before, own...), err
}

// before returns the conversation that a session goes on with.
func (s *Store) before(ctx context.Context, r *Record, state *State) ([]*Message, error) {
	switch {
	case state.compacted: // what came before is in the summary
	case r.Resumes != "":
		return s.Conversation(ctx, r.Resumes)
	case r.Fork != 0:
		return s.forkedFrom(ctx, r)
	}
	return nil, nil
}

// forkedFrom returns the conversation that a session goes on from, by [Record.Fork].
func (s *Store) forkedFrom(ctx context.Context, r *Record) ([]*Message, error) {
	all, err := s.Conversation(ctx, r.ParentID)
	if err != nil {
		return nil, err
	}
	end := slices.IndexFunc(all, func(m *Message) bool { return m.ID == r.ParentMessageID })
	if end < 0 {
		return nil, fmt.Errorf("session %s went on from message %s of session %s, which is not stored", r.ID, r.ParentMessageID, r.ParentID)
	}
	begin, turns := 0, r.Fork
	for i := end - 1; i > 0 && begin == 0; i-- {
		if m := all[i]; m.Role == model.User && len(m.ToolResults) == 0 {
			if turns--; turns == 0 {
				begin = i
			}
		}
	}
	return all[begin:end], nil
}

// lastSaid is what the model has said last, whether or not it was complete.
func (f *fold) lastSaid() string {
	if f.draft != nil && f.draft.text.Len() > 0 {
		return f.draft.text.String()
	}
	for _, m := range slices.Backward(f.Messages) {
		if m.Role == model.Assistant && m.Text != "" {
			return m.Text
		}
	}
	return ""
}

// cutShort notes which calls of a message have no outcome, and the results of the
// others.
func (f *fold) cutShort(g *group) {
	results := make([]model.ToolResult, len(g.message.ToolCalls))
	for i, call := range g.message.ToolCalls {
		result, ended := g.results[call.ID]
		if !ended {
			f.Open = append(f.Open, call)
		}
		results[i] = result
	}
	if f.cut == nil {
		f.cut = make(map[string][]model.ToolResult)
	}
	f.cut[g.message.ID] = results
}

// completed returns the messages, with a text as the outcome of the calls that have none.
func (st *State) completed(text string) []*Message {
	var all []*Message
	for _, m := range st.Sent {
		all = append(all, m)
		if results := slices.Clone(st.cut[m.ID]); results != nil && m.Role == model.Assistant {
			for i, r := range results {
				if r.ToolCallID == "" {
					results[i] = model.ToolResult{ToolCallID: m.ToolCalls[i].ID, Text: text, IsError: true}
				}
			}
			all = append(all, &Message{
				Schema: Schema, ID: ResultsID(m.ID), SessionID: m.SessionID, CreatedAt: m.CreatedAt,
				Message: model.Message{Role: model.User, ToolResults: results},
			})
		}
	}
	return all
}
