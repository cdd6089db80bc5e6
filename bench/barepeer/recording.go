package barepeer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/agentworker/worker/bench/scen"
	"github.com/agentworker/worker/bench/workerpeer"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
)

const (
	// recorded is how many runs of the worker are looked at: the one with the fewest
	// messages is taken, since it differs how many deltas join.
	recorded = 5

	// childWaits is how often a child waits for the store: before each call of its
	// tool, and at its end.
	childWaits = 3

	workspace = "bench"
	subjects  = "agents.v1." + workspace + ".events."
	ofLog     = subjects + "log." // what no follower gets
	ofTurns   = ".turn"           // ends the subject of the last message

	// An id is that of a session. The number of a run takes the place of the first
	// characters behind its prefix.
	idPrefix = "ses_"
	idLength = 20
	idDigits = 6
)

// recording is what a run of the worker has stored, in an order in which it may do
// so.
type recording struct {
	messages []*message
	events   int // of the messages: what a follower of the root gets
}

// message is one message, with the ids of the run that is played.
type message struct {
	subject, data []byte
	id            []byte   // its Nats-Msg-Id; nil means it has none
	numbers       [][]byte // the parts of these that hold the run's number
	phase         int      // how many waits come before it
	wait          bool     // the next message is sent when it is stored, and all before it
}

// record has the worker run a script, and reads what it has stored.
func record(ctx context.Context, s *scen.Script) (*recording, error) {
	w, err := workerpeer.Start(s)
	if err != nil {
		return nil, err
	}
	r, err := recordWith(ctx, w, s)
	return r, errors.Join(err, w.Close())
}

func recordWith(ctx context.Context, w *workerpeer.Worker, s *scen.Script) (*recording, error) {
	stream, err := w.Bus.JetStream().Stream(ctx, eventbus.Stream)
	if err != nil {
		return nil, err
	}
	var before, first, last uint64 // sequence numbers; the run with the fewest has those from first to last
	for range recorded {
		if err := scen.Once(ctx, w, s, &scen.Sink{}); err != nil {
			return nil, err
		}
		info, err := stream.Info(ctx)
		if err != nil {
			return nil, err
		}
		after := info.State.LastSeq
		if last == 0 || after-before <= last-first {
			first, last = before+1, after
		}
		before = after
	}
	r := &recording{}
	for seq := first; seq <= last; seq++ {
		msg, err := stream.GetMsg(ctx, seq)
		if err != nil {
			return nil, err
		}
		r.add(msg)
	}
	return r, errors.Join(r.findIDs(), r.findWaits(s.Fan))
}

// add adds a message. Of its headers the id alone is kept, if it has one: the others belong
// to the batches of the worker.
func (r *recording) add(msg *jetstream.RawStreamMsg) {
	m := &message{subject: []byte(msg.Subject), data: msg.Data}
	if id := msg.Header.Get(jetstream.MsgIDHeader); id != "" {
		m.id = []byte(id)
	}
	if !strings.HasPrefix(msg.Subject, ofLog) {
		r.events++
	}
	r.messages = append(r.messages, m)
}

// findIDs finds where the ids of sessions stand.
func (r *recording) findIDs() error {
	ids, ends := make(map[string]bool), make(map[string]bool)
	for _, m := range r.messages {
		for token := range strings.SplitSeq(string(m.subject), ".") {
			if !strings.HasPrefix(token, idPrefix) {
				continue
			}
			if len(token) != idLength {
				return fmt.Errorf("the id %s has %d characters, want %d", token, len(token), idLength)
			}
			ids[token], ends[token[len(idPrefix)+idDigits:]] = true, true
		}
	}
	if len(ends) != len(ids) {
		return fmt.Errorf("some ids of %d sessions differ only where the number of a run is written", len(ids))
	}
	for _, m := range r.messages {
		for _, text := range [][]byte{m.subject, m.data, m.id} {
			m.numbers = append(m.numbers, numbers(text, ids)...)
		}
	}
	return nil
}

// numbers returns the parts of a text that hold the run's number.
func numbers(text []byte, ids map[string]bool) (all [][]byte) {
	for at := 0; at+idLength <= len(text); at++ {
		if bytes.HasPrefix(text[at:], []byte(idPrefix)) && ids[string(text[at:at+idLength])] {
			all = append(all, text[at+len(idPrefix):][:idDigits])
		}
	}
	return all
}

// findWaits brings the messages into an order with one wait for what the sessions
// wait for side by side.
func (r *recording) findWaits(children int) error {
	waits := make(map[string]int) // how often a child has waited
	results := false              // the root has some
	for _, m := range r.messages {
		child, ev, err := m.of()
		if err != nil {
			return err
		}
		if child == "" {
			if _, result := ev.(event.ToolCallEnd); result || results {
				results, m.phase = true, childWaits
			}
			continue
		}
		m.phase = waits[child]
		switch ev.(type) {
		case event.ToolCallStart, event.SessionEnd:
			waits[child]++
		}
	}
	if len(waits) != children {
		return fmt.Errorf("%d of %d children have stored something", len(waits), children)
	}
	for child, n := range waits {
		if n != childWaits {
			return fmt.Errorf("child %s waits %d times, want %d", child, n, childWaits)
		}
	}
	slices.SortStableFunc(r.messages, func(a, b *message) int { return a.phase - b.phase })
	for i, m := range r.messages {
		m.wait = i+1 == len(r.messages) || r.messages[i+1].phase != m.phase
	}
	return nil
}

// of returns whose message it is, "" for the root's, and which event, or nil.
func (m *message) of() (child string, ev event.Event, err error) {
	subject, entry := strings.CutPrefix(string(m.subject), ofLog)
	if !entry {
		if _, ev, err = event.Unwrap(m.data); err != nil {
			return "", nil, fmt.Errorf("%s: %w", m.subject, err)
		}
	}
	tokens := strings.Split(strings.TrimPrefix(subject, subjects), ".") // the root, perhaps a child, and what it is
	if len(tokens) == 3 {
		child = tokens[1]
	}
	return child, ev, nil
}

// root returns the subject of the root, which ends the run.
func (r *recording) root() string {
	return strings.TrimSuffix(string(r.messages[len(r.messages)-1].subject), ofTurns)
}

// renumber gives all sessions the ids of another run.
func (r *recording) renumber(run int) {
	number := fmt.Appendf(nil, "%0*d", idDigits, run)
	for _, m := range r.messages {
		for _, at := range m.numbers {
			copy(at, number)
		}
	}
}
