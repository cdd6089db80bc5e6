package httpserver_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/agentworker/worker/frontdoor/httpserver/page"
	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/taskt"
)

// TestPageImages: the page shows the picture of a prompt, to those who are logged in, as what its
// bytes are. It serves nothing else that a session has stored.
func TestPageImages(t *testing.T) {
	e := withPage(t, doortest.Looking)
	url := doortest.Attachments(t)[1].URL() // its media type is another one
	resp, body := e.do(e.request("POST", "/v1/tasks", `{"description":"d","prompt":"look","agentType":"explore","attachments":["`+url+`"]}`))
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %s", resp.StatusCode, body)
	}
	id := decode[taskt.Document](t, body).SessionID
	_, body = e.do(e.request("GET", "/page/sessions/"+id, ""))
	shown := decode[page.Transcript](t, body).Blocks[0].Images
	if len(shown) != 1 || shown[0].Width != 60 || !strings.HasPrefix(shown[0].About, "liar.png, image/png, 60×30") {
		t.Fatalf("%s", body)
	}
	if resp, _ := e.do(e.bare("GET", shown[0].Source)); resp.StatusCode == http.StatusOK {
		t.Errorf("anybody gets it")
	}
	e.loggedIn()
	resp, body = e.do(e.bare("GET", shown[0].Source))
	if resp.StatusCode != http.StatusOK || !bytes.HasPrefix(body, []byte("\x89PNG")) {
		t.Errorf("%s: %d %.40q", shown[0].Source, resp.StatusCode, body)
	}
	for name, want := range map[string]string{
		"Content-Type": "image/png", "X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin",
		"Content-Security-Policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for _, path := range []string{strings.Replace(shown[0].Source, id, "ses_none", 1), shown[0].Source[:len(shown[0].Source)-1], shown[0].Source[:len(shown[0].Source)-4] + "0000"} {
		if resp, body := e.do(e.bare("GET", path)); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
}
