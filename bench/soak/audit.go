package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

// storeAt says where the store of a fleet is: a folder or URLs.
type storeAt struct {
	dir, url string
}

// stored is all events of a store, and what is wrong with them.
type stored struct {
	sessions map[string]*sessionLog
	roots    map[string][]seen // the events of a root's stream
	events   int
	wrong    []string
}

// sessionLog is what the events of a session say.
type sessionLog struct {
	id, parent string
	children   []string
	started    bool
	status     string // of its session_end
	texts      map[string]*strings.Builder
	calls      map[string]int // tool calls: 1 begun, 2 ended
}

func newStored() *stored {
	return &stored{sessions: make(map[string]*sessionLog), roots: make(map[string][]seen)}
}

// readStore reads all events.
func readStore(ctx context.Context, at storeAt) (_ *stored, err error) {
	bus, err := eventbus.Open(ctx, workspaceID, &eventbus.Options{StoreDir: at.dir, URL: at.url})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, bus.Close()) }()
	prefix := "agents.v1." + workspaceID + ".events."
	consumer, err := bus.JetStream().OrderedConsumer(ctx, eventbus.Stream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{prefix + ">"}})
	if err != nil {
		return nil, err
	}
	info, err := consumer.Info(ctx)
	if err != nil {
		return nil, err
	}
	s := newStored()
	if info.NumPending == 0 {
		return s, nil
	}
	messages, err := consumer.Messages()
	if err != nil {
		return nil, err
	}
	defer messages.Stop()
	for {
		msg, err := messages.Next(jetstream.NextMaxWait(patience))
		if err != nil {
			return nil, fmt.Errorf("reading the stored events: %w", err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			return nil, err
		}
		s.add(meta.Sequence.Stream, strings.Split(strings.TrimPrefix(msg.Subject(), prefix), "."), msg.Data())
		if meta.NumPending == 0 {
			return s, nil
		}
	}
}

func (s *stored) broke(format string, args ...any) {
	s.wrong = append(s.wrong, fmt.Sprintf(format, args...))
}

// add takes a message of the store: its sequence number, its subject behind
// "events.", and its body. They come in the order of the numbers.
func (s *stored) add(seq uint64, subject []string, body []byte) {
	path := subject[:len(subject)-1]
	if subject[0] == "log" || subject[0] == event.WorkspaceStream {
		return // not events, or not of a session
	}
	s.events++
	s.roots[path[0]] = append(s.roots[path[0]], seen{seq, hash(string(body))})
	ev, err := unwrap(body, path)
	if err != nil {
		s.broke("event %d: %v", seq, err)
		return
	}
	if token := subject[len(subject)-1]; ev.Type() != token && token != "turn" {
		s.broke("event %d: its subject says %s, it is %s", seq, token, ev.Type())
	}
	id := path[len(path)-1]
	log := s.sessions[id]
	if log == nil {
		log = &sessionLog{id: id, texts: make(map[string]*strings.Builder), calls: make(map[string]int)}
		s.sessions[id] = log
		if len(path) > 1 {
			log.parent = path[len(path)-2]
			if parent := s.sessions[log.parent]; parent != nil {
				parent.children = append(parent.children, id)
			} else {
				s.broke("session %s begins (event %d) before its parent %s", id, seq, log.parent)
			}
		}
	}
	s.apply(log, seq, ev)
}

// unwrap removes the envelopes of a body: one for each session below the root.
func unwrap(body []byte, path []string) (event.Event, error) {
	for _, id := range path[1:] {
		ev, err := event.Decode(body)
		if err != nil {
			return nil, err
		}
		envelope, ok := ev.(event.SubagentEvent)
		if !ok || envelope.SessionID != id {
			return nil, fmt.Errorf("%s instead of an envelope of %s", ev.Type(), id)
		}
		body = envelope.Event
	}
	return event.Decode(body)
}

// apply checks an event against those of its session before.
func (s *stored) apply(log *sessionLog, seq uint64, ev event.Event) {
	if log.status != "" {
		s.broke("session %s has a %s (event %d) behind its session_end", log.id, ev.Type(), seq)
		return
	}
	if _, start := ev.(event.SessionStart); start == log.started {
		s.broke("session %s: event %d is %s (its session_start came before: %v)", log.id, seq, ev.Type(), log.started)
	}
	log.started = true
	switch ev := ev.(type) {
	case event.SessionStart:
		if parent := s.sessions[log.parent]; parent != nil && parent.status != "" {
			s.broke("session %s begins (event %d) behind the end of its parent %s", log.id, seq, log.parent)
		}
	case event.ContentDelta:
		text := log.texts[ev.MessageID]
		if text == nil {
			text = new(strings.Builder)
			log.texts[ev.MessageID] = text
		}
		if ev.Offset != text.Len() {
			s.broke("session %s: event %d goes on at byte %d of a text of %d", log.id, seq, ev.Offset, text.Len())
		}
		text.WriteString(ev.Delta)
	case event.TurnComplete:
		if text := log.texts[ev.Message.ID]; text != nil && text.String() != ev.Message.Text {
			s.broke("session %s: the pieces of its answer have %d bytes, the answer %d (event %d)", log.id, text.Len(), len(ev.Message.Text), seq)
		}
		clear(log.texts)
	case event.ToolCallStart:
		if log.calls[ev.ToolCallID]++; log.calls[ev.ToolCallID] != 1 {
			s.broke("session %s: tool call %s begins twice (event %d)", log.id, ev.ToolCallID, seq)
		}
	case event.ToolCallEnd:
		if log.calls[ev.ToolCallID]++; log.calls[ev.ToolCallID] != 2 {
			s.broke("session %s: tool call %s ends twice, or without a beginning (event %d)", log.id, ev.ToolCallID, seq)
		}
	case event.SessionEnd:
		s.end(log, seq, string(ev.Status))
	}
}

func (s *stored) end(log *sessionLog, seq uint64, status string) {
	log.status = status
	for _, id := range log.children {
		if s.sessions[id].status == "" {
			s.broke("session %s ends as %s (event %d) before its child %s", log.id, status, seq, id)
		}
	}
	if status == "completed" {
		for id, n := range log.calls {
			if n != 2 {
				s.broke("session %s is completed, and its tool call %s has not ended", log.id, id)
			}
		}
	}
	log.texts, log.calls = nil, nil
}

// below returns a session and all below it.
func (s *stored) below(id string) []*sessionLog {
	log := s.sessions[id]
	if log == nil {
		return nil
	}
	all := []*sessionLog{log}
	for _, child := range log.children {
		all = append(all, s.below(child)...)
	}
	return all
}

// compare checks what a reader was shown against what is stored: each event from the
// first on, once; all of them where the reader came to the end.
func (s *stored) compare(c *call) error {
	want := s.roots[c.root]
	for i, got := range c.seen {
		switch {
		case i >= len(want):
			return fmt.Errorf("session %s: a reader was shown event %d, which is not stored", c.root, got.seq)
		case got.seq != want[i].seq && slices.ContainsFunc(c.seen[:i], func(e seen) bool { return e.seq == got.seq }):
			return fmt.Errorf("session %s: a reader was shown event %d twice", c.root, got.seq)
		case got.seq != want[i].seq:
			return fmt.Errorf("session %s: a reader was shown event %d where %d is stored", c.root, got.seq, want[i].seq)
		case got.sum != 0 && got.sum != want[i].sum:
			return fmt.Errorf("session %s: a reader was shown event %d with another content than is stored", c.root, got.seq)
		}
	}
	if c.ended && len(c.seen) < len(want) {
		return fmt.Errorf("session %s: a reader has come to its end, and was shown %d of %d events", c.root, len(c.seen), len(want))
	}
	return nil
}

// audit waits until all sessions have ended, and checks what is stored, what the
// readers were shown, and how the sessions have ended. It adds to the figures.
func (f *fleet) audit() error {
	records, err := f.records()
	if err != nil {
		return err
	}
	f.doctor()
	s, err := readStore(f.ctx, f.store)
	if err != nil {
		return err
	}
	for _, text := range s.wrong {
		f.broke("%s", text)
	}
	ends := make(map[string]int)
	for id, log := range s.sessions {
		r, ok := records[id]
		switch {
		case log.status == "":
			f.broke("session %s has no session_end", id)
		case !ok:
			f.broke("session %s has a log, and is not listed", id)
		case r.Status != log.status:
			f.broke("session %s is listed as %s, its session_end says %s", id, r.Status, log.status)
		}
		ends[log.status]++
	}
	for id := range records {
		if s.sessions[id] == nil {
			f.broke("session %s is listed, and has no events", id)
		}
	}
	f.figure("%d sessions (%s)", len(s.sessions), counts(ends))
	f.figure("%d events", s.events)
	f.auditCalls(s, records)
	return nil
}

func counts(of map[string]int) string {
	var parts []string
	for name, n := range of {
		parts = append(parts, fmt.Sprintf("%d %s", n, name))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// auditCalls checks what the readers were shown, and that sessions end otherwise
// than completed only where something was done to their worker.
func (f *fleet) auditCalls(s *stored, records map[string]record) {
	followed, resumed, refused := 0, 0, 0
	var latest time.Duration // from a kill to the end of what it has interrupted
	for _, c := range f.calls {
		if c.wrong != nil {
			f.broke("%v", c.wrong)
		}
		if c.root == "" {
			refused++
			continue
		}
		followed += len(c.seen)
		resumed += c.resumed
		if err := s.compare(c); err != nil {
			f.broke("%v", err)
		}
		if c.worker == nil {
			continue
		}
		excuses := c.excuses
		if c.document != nil && c.document.Status == "completed" {
			excuses = nil // it was done before
		}
		for _, log := range s.below(c.root) {
			// In the short form a wait may have been too long because the machine is busy.
			excused := slices.Contains(excuses, log.status) || f.short && log.status == "failed"
			if log.status != "completed" && !excused {
				f.broke("session %s of %s is %s (%s), and nothing was done to its worker that would explain it",
					log.id, c.worker.name, log.status, records[log.id].Error)
			}
			if log.status == "interrupted" && !c.worker.killedAt.IsZero() && c.ended {
				latest = max(latest, c.endedAt.Sub(c.worker.killedAt))
			}
		}
	}
	f.figure("%d events followed by %d readers, %d resumed", followed, len(f.calls), resumed)
	if refused > 0 {
		f.figure("%d calls not taken", refused)
	}
	if latest > 0 {
		f.figure("a killed worker's sessions ended after %s at most", latest.Round(100*time.Millisecond))
	}
}
