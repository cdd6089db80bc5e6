package httpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/natstest"
	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/frontdoor/httpserver/problem"
	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/taskt"
)

// TestStoreAway: while the event store is away requests are answered with 503, the reason, and when
// to try again; a stream waits, and goes on.
func TestStoreAway(t *testing.T) {
	g, dir := newGate(), t.TempDir()
	srv := natstest.Start(t, server.Options{StoreDir: dir})
	address, err := url.Parse(srv.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	port, _ := strconv.Atoi(address.Port())
	w := doortest.Open(t, "ws", eventbus.Options{URL: srv.ClientURL()}, modelFunc(g.model), taskt.Limits{})
	ctx, stop := context.WithCancel(context.Background())
	door, err := httpserver.Start(ctx, "127.0.0.1:0", httpserver.Options{Bus: w.Bus, Tasks: w.Tasks, Sessions: w.Sessions.Store(), Token: token})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer func() {
		stop()
		if err := door.Wait(); err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
	}()
	client := &http.Client{Transport: transport}
	do := func(method, path, body string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), method, door.URL()+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	var task struct{ SessionID string }
	begun := do("POST", "/v1/tasks", `{"agentType":"explore","prompt":"p","background":true}`)
	err = json.NewDecoder(begun.Body).Decode(&task)
	begun.Body.Close()
	if err != nil || task.SessionID == "" {
		t.Fatal(begun.Status, task, err)
	}
	<-g.started
	events := do("GET", "/v1/sessions/"+task.SessionID+"/events", "")
	defer events.Body.Close()

	natstest.Stop(srv)
	for _, path := range []string{"/v1/sessions", "/readyz"} {
		res := do("GET", path, "")
		var got problem.Document
		err := json.NewDecoder(res.Body).Decode(&got)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") != "5" || got.Error.Code != "not_ready" || !strings.Contains(got.Detail, "the event store does not answer: ") {
			t.Errorf("%s: %s, Retry-After %q, %+v, %v", path, res.Status, res.Header.Get("Retry-After"), got, err)
		}
	}

	natstest.Start(t, server.Options{StoreDir: dir, Port: port})
	close(g.open)
	lines := bufio.NewScanner(events.Body)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "stream_error") {
			lines.Scan()
			t.Fatal("the stream has ended: ", lines.Text())
		}
		if strings.Contains(lines.Text(), "second") {
			return
		}
	}
	t.Error("the stream ended without the answer: ", lines.Err())
}
