package httpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

// TestStreamedTask: the answer is the stored stream of the root session, and the document.
func TestStreamedTask(t *testing.T) {
	e := newEnv(t, answer("found\n", "it", ": \r\n"), httpserver.Options{})
	s := e.open(e.request("POST", "/v1/tasks", call))
	got := s.rest()
	last := got[len(got)-1]
	doc := decode[taskt.Document](t, []byte(last.Data))
	if last.Event != "task_result" || last.ID != "" || doc.Type != "task_result" || doc.Text != "found\nit: \r\n" {
		t.Errorf("the last event is %+v", last)
	}
	id := s.resp.Header.Get("Agent-Session")
	if doc.ParentID != id {
		t.Errorf("session %s, parent %s", id, doc.ParentID)
	}
	if want := e.stored(id); !slices.Equal(got[:len(got)-1], want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// TestNamedIsStored: a session is stored before its client reads its id, and so survives a
// kill of this process.
func TestNamedIsStored(t *testing.T) {
	e := newEnv(t, answer("x"), httpserver.Options{})
	for range 30 {
		s := e.open(e.request("POST", "/v1/tasks", call))
		path := event.Path{{SessionID: s.resp.Header.Get("Agent-Session")}}
		begun := false
		for entry, err := range e.bus.Log(t.Context(), path) {
			begun = err == nil && entry.Seq > 0
			break
		}
		if !begun {
			t.Fatalf("nothing is stored of session %s, which the answer names", path[0].SessionID)
		}
		s.rest()
	}
}

// TestStreamAccept: a stream is for clients that ask for one.
func TestStreamAccept(t *testing.T) {
	e := newEnv(t, answer("x"), httpserver.Options{})
	for accept, want := range map[string]string{
		"":                                      "application/json",
		"*/*":                                   "application/json",
		"application/json":                      "application/json",
		"text/event-stream":                     "text/event-stream",
		"application/json, text/event-stream":   "text/event-stream",
		"Text/Event-Stream;q=0.9, text/html":    "text/event-stream",
		"text/event-streams, ;;;, text/event-*": "application/json",
	} {
		r := e.request("POST", "/v1/tasks", call)
		r.Header.Set("Accept", accept)
		if resp, _ := e.do(r); resp.Header.Get("Content-Type") != want {
			t.Errorf("Accept %q: %s, want %s", accept, resp.Header.Get("Content-Type"), want)
		}
	}
}

// TestResume: a client that comes back at any point gets exactly what it has not seen.
func TestResume(t *testing.T) {
	e := newEnv(t, answer("a", "b", "c"), httpserver.Options{})
	doc := e.run()
	for _, id := range []string{doc.ParentID, doc.SessionID} { // the child's stream is without envelopes
		want := e.stored(id)
		path := "/v1/sessions/" + id + "/events"
		if got := e.open(e.request("GET", path, "")).rest(); !slices.Equal(got, want) {
			t.Fatalf("the whole stream: %v\nwant %v", got, want)
		}
		for i, seen := range want {
			r := e.request("GET", path+"?from=1", "") // what was seen counts more
			r.Header.Set("Last-Event-ID", seen.ID)
			if i == len(want)-1 {
				if resp, body := e.do(r); resp.StatusCode != http.StatusNoContent || len(body) > 0 {
					t.Errorf("after the last event: status %d %s", resp.StatusCode, body)
				}
			} else if got := e.open(r).rest(); !slices.Equal(got, want[i+1:]) {
				t.Errorf("after event %s: %v\nwant %v", seen.ID, got, want[i+1:])
			}
			if got := e.open(e.request("GET", path+"?from="+seen.ID, "")).rest(); !slices.Equal(got, want[i:]) {
				t.Errorf("from event %s: %v\nwant %v", seen.ID, got, want[i:])
			}
		}
		for _, bad := range []string{"x", "-1", "18446744073709551615", "9223372036854775808", "1.5"} {
			r := e.request("GET", path, "")
			r.Header.Set("Last-Event-ID", bad)
			if resp, body := e.do(r); resp.StatusCode != http.StatusBadRequest || errorCode(t, body) != "bad_request" {
				t.Errorf("Last-Event-ID %q: status %d %s", bad, resp.StatusCode, body)
			}
		}
		r := e.request("GET", path, "")
		r.Header.Set("Last-Event-ID", "9223372036854775807")
		if resp, _ := e.do(r); resp.StatusCode != http.StatusNoContent {
			t.Errorf("a number far ahead: status %d", resp.StatusCode)
		}
		if resp, body := e.do(e.request("HEAD", path, "")); resp.StatusCode != http.StatusOK || len(body) > 0 {
			t.Errorf("HEAD: status %d %s", resp.StatusCode, body)
		}
	}
}

// TestLostEnd: the stream of a session whose session_end the store has lost ends at once
// with an error.
func TestLostEnd(t *testing.T) {
	e := newEnv(t, answer("a", "b"), httpserver.Options{})
	id := e.run().ParentID
	records, err := e.bus.JetStream().KeyValue(t.Context(), "AGENT_SESSIONS")
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := records.WatchAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for entry := range watcher.Updates() { // until its record tells of the end
		if entry == nil {
			continue
		}
		if r := decode[record.Record](t, entry.Value()); r.ID == id && r.Closed {
			break
		}
	}
	if err := watcher.Stop(); err != nil {
		t.Fatal(err)
	}
	want := e.stored(id)
	end := len(want) - 1
	seq, err := strconv.ParseUint(want[end].ID, 10, 64)
	if err != nil || want[end].Event != "session_end" {
		t.Fatalf("%v: %+v", err, want[end])
	}
	events, err := e.bus.JetStream().Stream(t.Context(), eventbus.Stream)
	if err == nil {
		err = events.DeleteMsg(t.Context(), seq)
	}
	if err != nil {
		t.Fatal(err)
	}
	loss, err := json.Marshal([]eventbus.Loss{{Stream: eventbus.Stream, First: seq, Last: seq, Cause: "a test", Found: time.Now().Add(time.Hour)}})
	if err == nil {
		err = os.WriteFile(filepath.Join(e.storeDir, "losses.json"), loss, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	got := e.open(e.request("GET", "/v1/sessions/"+id+"/events", "")).rest()
	if len(got) != end+1 || !slices.Equal(got[:end], want[:end]) {
		t.Fatalf("got %v\nwant %v", got, want[:end])
	}
	if last := got[end]; last.Event != "stream_error" || last.ID != "" || errorCode(t, []byte(last.Data)) != "incomplete" {
		t.Errorf("the stream ends with %+v", last)
	}
}

// TestLive: a stream that is followed while its session runs, left and resumed
// twice, is the stored one.
func TestLive(t *testing.T) {
	g := newGate()
	e := newEnv(t, g.model, httpserver.Options{Heartbeat: time.Millisecond})
	task := e.open(e.request("POST", "/v1/tasks", call))
	id := task.resp.Header.Get("Agent-Session")
	path := "/v1/sessions/" + id + "/events"
	<-g.started

	first := e.open(e.request("GET", path, ""))
	got := first.until("tool_call_start")
	first.resp.Body.Close()

	resume := func() *stream {
		r := e.request("GET", path, "")
		r.Header.Set("Last-Event-ID", got[len(got)-1].ID)
		return e.open(r)
	}
	second := resume()
	got = append(got, second.until("content_delta")...)
	for second.beats == 0 { // nothing happens but heartbeats
		second.lines.Scan()
		if strings.HasPrefix(second.lines.Text(), ":") {
			second.beats++
		}
	}
	second.resp.Body.Close()

	third := resume()
	close(g.open)
	got = append(got, third.rest()...)
	if want := e.stored(id); !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if last := got[len(got)-1]; last.Event != "session_end" {
		t.Errorf("the last event is %+v", last)
	}
	if events := task.rest(); events[len(events)-1].Event != "task_result" {
		t.Errorf("the call ended with %+v", events[len(events)-1])
	}
}

// TestLeftStream: a caller that leaves the stream of its task may come back to
// it: the task goes on.
func TestLeftStream(t *testing.T) {
	g := newGate()
	e := newEnv(t, g.model, httpserver.Options{})
	s := e.open(e.request("POST", "/v1/tasks", call))
	<-g.started
	seen := s.until("content_delta")
	s.resp.Body.Close()
	id := s.resp.Header.Get("Agent-Session")
	r := e.request("GET", "/v1/sessions/"+id+"/events", "")
	r.Header.Set("Last-Event-ID", seen[len(seen)-1].ID)
	back := e.open(r)
	close(g.open)
	rest := back.rest()
	if last := rest[len(rest)-1]; last.Data != `{"type":"session_end","status":"completed"}` {
		t.Errorf("the last event is %+v", last)
	}
	if want := e.stored(id); !slices.Equal(append(seen, rest...), want) {
		t.Errorf("got %v and %v\nwant %v", seen, rest, want)
	}
}

// TestSlowReader: a client that reads nothing holds up neither the task nor
// another client, and misses nothing.
func TestSlowReader(t *testing.T) {
	pieces := make([]string, 250)
	for i := range pieces {
		pieces[i] = fmt.Sprint(i, strings.Repeat(" x", 7500))
	}
	e := newEnv(t, answer(pieces...), httpserver.Options{})
	e.client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return conn, conn.(*net.TCPConn).SetReadBuffer(64 << 10)
	}
	slow := e.open(e.request("POST", "/v1/tasks", call)) // 3.8 MB that are not read. The system keeps 2.8
	id := slow.resp.Header.Get("Agent-Session")
	if r := e.await(id); r.Status != record.Completed {
		t.Fatalf("session %+v", r)
	}
	if doc := e.run(); doc.Type != "task_result" {
		t.Errorf("another task: %+v", doc.Error)
	}
	got := slow.rest()
	for last := got[len(got)-1]; last.Event != "task_result" && last.Event != "session_end"; last = got[len(got)-1] {
		// Dropped: a busy machine needed more than 30 s for the tasks. It comes back.
		r := e.request("GET", "/v1/sessions/"+id+"/events", "")
		r.Header.Set("Last-Event-ID", last.ID)
		got = append(got, e.open(r).rest()...)
	}
	if got[len(got)-1].Event == "task_result" {
		got = got[:len(got)-1]
	}
	if want := e.stored(id); !slices.Equal(got, want) {
		t.Errorf("%d events, want %d", len(got), len(want))
	}
}
