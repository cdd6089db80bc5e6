package httpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/httpserver/problem"
	"github.com/agentworker/worker/frontdoor/internal/caller"
)

// maxWaiting bounds what waits for a client, in bytes. A larger event waits without others.
const maxWaiting = 256 << 10

// eventWriter writes server-sent events. What the client has not read yet waits in one
// buffer. It is bounded by bytes, not by events, because an event has from a hundred bytes
// up to a megabyte. While a client leaves the buffer unread, the reader of the stream
// waits, too.
type eventWriter struct {
	w     http.ResponseWriter
	out   *http.ResponseController
	ready chan struct{} // has a value when something waits
	room  chan struct{} // has a value when there may be room

	mu      sync.Mutex
	waiting []byte
	sending []byte // empty, or what is on its way to the client
}

// startEvents begins the answer of a stream. It lifts the time limit of
// the request: a stream may go on for long.
func startEvents(w http.ResponseWriter) (*eventWriter, error) {
	e := newEventWriter(w)
	if err := e.out.SetReadDeadline(time.Time{}); err != nil {
		return e, fmt.Errorf("%w: %w", errNotTaken, err)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // of a proxy
	w.WriteHeader(http.StatusOK)
	return e, e.flush()
}

func newEventWriter(w http.ResponseWriter) *eventWriter {
	return &eventWriter{w: w, out: http.NewResponseController(w), ready: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// send writes a session's stream up to its end, and a comment after each heartbeat without
// an event. It returns early if the client does not take the stream, and when ctx ends.
func (e *eventWriter) send(ctx context.Context, stream iter.Seq2[eventbus.Delivery, error], heartbeat time.Duration) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	end := make(chan struct{})
	var writing sync.WaitGroup
	var failed error
	writing.Go(func() {
		failed = e.write(end, heartbeat)
		stop(failed)
	})
	err := e.read(ctx, stream)
	close(end)
	writing.Wait()
	return errors.Join(failed, err)
}

// read adds a stream's deliveries up to the session's last one.
func (e *eventWriter) read(ctx context.Context, stream iter.Seq2[eventbus.Delivery, error]) error {
	for d, err := range stream {
		if err != nil {
			return err
		}
		if err := e.delivery(ctx, d); err != nil || d.Ends() {
			return err
		}
	}
	return nil
}

// write sends what is added, until end is closed, and then the rest.
func (e *eventWriter) write(end <-chan struct{}, heartbeat time.Duration) error {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-e.ready:
		case <-beat.C: // a comment keeps the connection alive, and finds out whether it is
			e.append(":", nil)
		case <-end:
			return e.flush()
		}
		if err := e.flush(); err != nil {
			return err
		}
	}
}

// delivery adds an event of a session as soon as there is room for it.
func (e *eventWriter) delivery(ctx context.Context, d eventbus.Delivery) error {
	head, data, err := encodeEvent(event.TypeOf(d.Raw), d.Raw)
	if err != nil {
		return fmt.Errorf("event %d: %w", d.Seq, err)
	}
	head = "id: " + strconv.FormatUint(d.Seq, 10) + "\n" + head
	for !e.append(head, data) {
		select {
		case <-e.room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// append adds a block of lines to what waits, if there is room.
func (e *eventWriter) append(head string, data []byte) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if used := len(e.waiting) + len(e.sending); used > 0 && used+len(head)+len(data) > maxWaiting {
		return false
	}
	e.waiting = append(append(append(e.waiting, head...), data...), "\n\n"...)
	notify(e.ready)
	return true
}

// position sends up to where the client is assumed to have seen the stream. An
// EventSource that has to reconnect before its first event begins after it.
// A line "id" counts without an event: WHATWG HTML, 9.2.6.
func (e *eventWriter) position(seq uint64) error {
	e.append("id: "+strconv.FormatUint(seq, 10), nil)
	return e.flush()
}

// sendJSON sends an event that is not stored, and so has no id.
func (e *eventWriter) sendJSON(name string, body any) error {
	data, err := caller.JSON(body)
	if err != nil {
		return err
	}
	head, data, err := encodeEvent(name, data)
	if err != nil {
		return err
	}
	e.append(head, data)
	return e.flush()
}

// fail ends a stream before its end. A client that is still there is told
// why, in an event without an id; it may resume.
func (e *eventWriter) fail(ctx context.Context, sessionID string, why error, log *slog.Logger) {
	if ctx.Err() == nil && !errors.Is(why, errNotTaken) {
		why = e.sendJSON("stream_error", problem.Of(caller.Explain(why, log)))
	}
	if why != nil {
		log.Debug("a stream ended early", "session", sessionID, "err", why)
	}
}

// encodeEvent returns an event in two pieces. Its data is JSON, in which line ends are
// white space: they would end the event early.
func encodeEvent(name string, data []byte) (head string, line []byte, err error) {
	if name == "" || strings.ContainsAny(name, "\r\n") {
		return "", nil, fmt.Errorf("%q is not an event type", name)
	}
	if bytes.ContainsAny(data, "\r\n") {
		var compact bytes.Buffer
		if err := json.Compact(&compact, data); err != nil {
			return "", nil, fmt.Errorf("an event of type %s: %w", name, err)
		}
		data = compact.Bytes()
	}
	return "event: " + name + "\ndata: ", data, nil
}

// flush sends what was added. The client has [writeTimeout] to take it; else
// the error is errNotTaken.
func (e *eventWriter) flush() error {
	e.mu.Lock()
	e.sending, e.waiting = e.waiting, e.sending[:0]
	e.mu.Unlock()
	err := e.out.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err == nil {
		_, err = e.w.Write(e.sending)
	}
	if err == nil {
		err = e.out.Flush()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNotTaken, err)
	}
	e.mu.Lock()
	if e.sending = e.sending[:0]; cap(e.sending) > 2*maxWaiting { // of one large event
		e.sending = nil
	}
	e.mu.Unlock()
	notify(e.room)
	return nil
}

// notify leaves a value in a channel that has room for one.
func notify(to chan<- struct{}) {
	select {
	case to <- struct{}{}:
	default: // a value is there already
	}
}
