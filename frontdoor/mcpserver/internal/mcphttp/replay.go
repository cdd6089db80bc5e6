package mcphttp

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The bounds of what is kept for each session: the bytes of all its streams
// together, its streams, and the events of each stream.
const (
	maxReplayBytes   = 2 << 20
	maxReplayStreams = 256
	maxReplayEvents  = 1024
)

// replay keeps the events sent on the streams of HTTP sessions, so that a client with a
// broken connection gets what it missed. The SDK's own store has one bound for all
// sessions, which one busy session would use up. It has no bound for the number of streams.
type replay struct {
	mu       sync.Mutex
	sessions map[string]*keptSession
}

var _ mcp.EventStore = (*replay)(nil)

type keptSession struct {
	bytes   int
	streams map[string]*keptStream
	order   []string // of the streams, the oldest first
}

type keptStream struct {
	first  int // index of the first event that is kept
	events [][]byte
}

func newReplay() *replay { return &replay{sessions: make(map[string]*keptSession)} }

// Open implements [mcp.EventStore].
func (r *replay) Open(_ context.Context, sessionID, streamID string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[sessionID]
	if s == nil {
		s = &keptSession{streams: make(map[string]*keptStream)}
		r.sessions[sessionID] = s
	}
	if s.streams[streamID] != nil {
		return nil
	}
	s.streams[streamID] = new(keptStream)
	s.order = append(s.order, streamID)
	for i := 0; len(s.order) > maxReplayStreams; {
		if s.order[i] == "" { // the stream of messages without a request stays
			i++
			continue
		}
		s.forget(i)
	}
	return nil
}

// forget drops the stream at i in the order.
func (s *keptSession) forget(i int) {
	for _, event := range s.streams[s.order[i]].events {
		s.bytes -= len(event)
	}
	delete(s.streams, s.order[i])
	s.order = slices.Delete(s.order, i, i+1)
}

// Append implements [mcp.EventStore]. Events of a forgotten stream are dropped.
func (r *replay) Append(_ context.Context, sessionID, streamID string, data []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[sessionID]
	if s == nil || s.streams[streamID] == nil {
		return nil
	}
	stream := s.streams[streamID]
	stream.events = append(stream.events, data)
	s.bytes += len(data)
	if len(stream.events) > maxReplayEvents {
		s.dropFirst(stream)
	}
	// The oldest streams give way first, and the newest event stays whatever
	// its size.
	for _, id := range s.order {
		old := s.streams[id]
		for s.bytes > maxReplayBytes && len(old.events) > 0 && (old != stream || len(old.events) > 1) {
			s.dropFirst(old)
		}
	}
	return nil
}

func (s *keptSession) dropFirst(stream *keptStream) {
	s.bytes -= len(stream.events[0])
	stream.events[0] = nil
	stream.events = stream.events[1:]
	stream.first++
}

// After implements [mcp.EventStore]. A client that begins to listen on the stream
// without a request gets all that is kept of it.
func (r *replay) After(_ context.Context, sessionID, streamID string, index int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		events, err := r.after(sessionID, streamID, index)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, event := range events {
			if !yield(event, nil) {
				return
			}
		}
	}
}

func (r *replay) after(sessionID, streamID string, index int) ([][]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[sessionID]
	if s == nil || s.streams[streamID] == nil {
		return nil, fmt.Errorf("stream %q: %w", streamID, mcp.ErrEventsPurged)
	}
	stream := s.streams[streamID]
	start := index + 1 - stream.first
	if streamID == "" && index < 0 {
		start = 0
	}
	if start < 0 {
		return nil, fmt.Errorf("stream %q after event %d: %w", streamID, index, mcp.ErrEventsPurged)
	}
	return slices.Clone(stream.events[min(start, len(stream.events)):]), nil
}

// SessionClosed implements [mcp.EventStore].
func (r *replay) SessionClosed(_ context.Context, sessionID string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.sessions, sessionID)
	return nil
}
