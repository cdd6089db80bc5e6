package httpserver_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/frontdoor/httpserver/page"
	"github.com/agentworker/worker/frontdoor/httpserver/tokens"
	"github.com/agentworker/worker/session/presence"
)

// TestPagePresence: other processes find somebody at the page while a browser of somebody who may
// approve is open.
func TestPagePresence(t *testing.T) {
	file, texts := named(t)
	e := newEnv(t, answer("x"), httpserver.Options{
		Tokens: tokens.Open(file, slog.New(slog.DiscardHandler)), Page: &page.Options{Workspace: "ws"},
	})
	reader := e.open(e.with(texts["read"], "GET", "/page/events", ""))
	if _, ok := reader.next(); !ok {
		t.Fatal("no update")
	}
	if where := presence.Find(t.Context(), e.bus); where != "" {
		t.Errorf("somebody who may only read answers at %q", where)
	}
	e.loggedIn()
	first, second := e.open(e.bare("GET", "/page/events")), e.open(e.bare("GET", "/page/events"))
	for _, s := range []*stream{first, second} {
		if _, ok := s.next(); !ok {
			t.Fatal("no update")
		}
	}
	want := "the page at " + strings.TrimPrefix(e.server.URL(), "http://")
	for _, s := range []*stream{first, second} {
		if where := presence.Find(t.Context(), e.bus); where != want {
			t.Errorf("with an open browser: %q, want %q", where, want)
		}
		s.resp.Body.Close()
	}
	for deadline := time.Now().Add(10 * time.Second); presence.Find(t.Context(), e.bus) != ""; {
		if time.Now().After(deadline) {
			t.Fatal("browsers that have gone are found")
		}
	}
}
