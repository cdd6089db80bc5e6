package httpserver_test

import (
	"bufio"
	"log/slog"
	"net/http"
	"testing"

	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/frontdoor/httpserver/page"
	"github.com/agentworker/worker/frontdoor/httpserver/tokens"
)

// TestStreamsOfAToken holds that a token opens as many streams as it may, whatever others do, and
// another one once one has ended.
func TestStreamsOfAToken(t *testing.T) {
	file, texts := named(t)
	e := newEnv(t, answer("x"), httpserver.Options{Tokens: tokens.Open(file, slog.New(slog.DiscardHandler)), Page: &page.Options{}, MaxStreams: 2})
	open := func(token string) *http.Response {
		t.Helper()
		res, err := http.DefaultClient.Do(e.with(token, "GET", "/page/events", ""))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}
	first := open(texts["read"])
	for i, want := range []int{http.StatusOK, http.StatusTooManyRequests, http.StatusTooManyRequests} {
		if res := open(texts["read"]); res.StatusCode != want {
			t.Errorf("stream %d: %s", i+2, res.Status)
		}
	}
	for path, want := range map[string]int{"/v1/sessions/x/events": http.StatusTooManyRequests, "/v1/sessions": http.StatusOK} {
		if res, _ := e.do(e.with(texts["read"], "GET", path, "")); res.StatusCode != want {
			t.Errorf("%s beside the streams: %s", path, res.Status)
		}
	}
	if res := open(texts["run"]); res.StatusCode != http.StatusForbidden && res.StatusCode != http.StatusOK {
		t.Errorf("the stream of another token: %s", res.Status)
	}
	if _, err := bufio.NewReader(first.Body).ReadByte(); err != nil {
		t.Error(err)
	}
	first.Body.Close()
	for open(texts["read"]).StatusCode != http.StatusOK { // the server notices soon
		if t.Context().Err() != nil {
			t.Fatal("no stream can be opened after one was closed")
		}
	}
}
