package httpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/agentworker/worker/eventbus"
)

// errNotTaken tells that the client has gone, or stalls.
var errNotTaken = errors.New("the client does not read the stream")

// eventWriter writes server-sent events.
type eventWriter struct {
	w   http.ResponseWriter
	out *http.ResponseController
	buf bytes.Buffer // what a flush will send
}

// startEvents begins the answer of a stream. It takes back the time limit of
// the request: a stream may go on for long.
func startEvents(w http.ResponseWriter) (*eventWriter, error) {
	e := &eventWriter{w: w, out: http.NewResponseController(w)}
	if err := e.out.SetReadDeadline(time.Time{}); err != nil {
		return e, fmt.Errorf("%w: %w", errNotTaken, err)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // of a proxy
	w.WriteHeader(http.StatusOK)
	return e, e.flush()
}

// delivery adds an event of a session.
func (e *eventWriter) delivery(d eventbus.Delivery) error {
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(d.Raw, &head); err != nil {
		return fmt.Errorf("event %d: %w", d.Seq, err)
	}
	return e.event("id: "+strconv.FormatUint(d.Seq, 10)+"\n", head.Type, d.Raw)
}

// position sends up to where the client is taken to have seen the stream: an
// EventSource that has to reconnect before its first event begins behind it.
// A line "id" counts without an event: WHATWG HTML, 9.2.6.
func (e *eventWriter) position(seq uint64) error {
	e.buf.WriteString("id: " + strconv.FormatUint(seq, 10) + "\n\n")
	return e.flush()
}

// result adds an event that is not stored, and so has no id.
func (e *eventWriter) result(name string, data []byte) error { return e.event("", name, data) }

// event adds an event, whose data is JSON: line ends in it are white space,
// and would end the event early.
func (e *eventWriter) event(id, name string, data []byte) error {
	if strings.ContainsAny(name, "\r\n") {
		return fmt.Errorf("%q is not an event type", name)
	}
	if bytes.ContainsAny(data, "\r\n") {
		var line bytes.Buffer
		if err := json.Compact(&line, data); err != nil {
			return fmt.Errorf("an event of type %s: %w", name, err)
		}
		data = line.Bytes()
	}
	e.buf.WriteString(id + "event: " + name + "\ndata: ")
	e.buf.Write(data)
	e.buf.WriteString("\n\n")
	return nil
}

// beat adds a comment, which keeps the connection alive and finds out whether
// it is.
func (e *eventWriter) beat() { e.buf.WriteString(":\n\n") }

// flush sends what was added. The client has [writeTimeout] to take it; else
// the error is errNotTaken.
func (e *eventWriter) flush() error {
	err := e.out.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err == nil {
		_, err = e.w.Write(e.buf.Bytes())
	}
	if err == nil {
		err = e.out.Flush()
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errNotTaken, err)
	}
	if e.buf.Reset(); e.buf.Cap() > 2*maxWaiting { // of one large event
		e.buf = bytes.Buffer{}
	}
	return nil
}
