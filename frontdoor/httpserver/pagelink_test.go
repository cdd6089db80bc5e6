package httpserver_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/frontdoor/httpserver/page"
	"github.com/agentworker/worker/frontdoor/httpserver/tokens"
	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/session/approval"
)

// TestQuestionLink: a link to a question logs one person in, once, after a button, until the
// question's end. Only the owner makes it for others.
func TestQuestionLink(t *testing.T) {
	file, texts := filepath.Join(t.TempDir(), "serve.tokens"), map[string]string{"": token}
	for _, name := range []string{"anna", "bert"} {
		text, err := tokens.Add(file, name, []tokens.Scope{"read", "approve"})
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = text
	}
	e := newEnv(t, doortest.Asking, httpserver.Options{Tokens: tokens.Open(file, slog.New(slog.DiscardHandler)), Page: &page.Options{Workspace: "ws", RulesFile: "rules"}})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.do(e.request("POST", "/v1/tasks", `{"description":"d","prompt":"p","agentType":"general"}`))
	}()
	var waits []approval.Approval
	for deadline := time.Now().Add(time.Minute); len(waits) == 0 && time.Now().Before(deadline); {
		_, body := e.do(e.request("GET", "/v1/approvals", ""))
		waits = decode[struct{ Approvals []approval.Approval }](t, body).Approvals
	}
	if len(waits) != 1 {
		t.Fatalf("approvals %+v, want one", waits)
	}
	id := waits[0].ID
	ask := func(by, body string) (int, string) {
		resp, answer := e.do(e.with(texts[by], "POST", "/v1/page/links", body))
		var made struct{ URL string }
		_ = json.Unmarshal(answer, &made) // an error has another form
		return resp.StatusCode, strings.TrimPrefix(made.URL, e.server.URL())
	}
	for _, tt := range []struct {
		by, body string
		want     int
	}{
		{"", `{"person":"anna"}`, 400}, {"", `{"approvalId":"` + id + `"}`, 400}, {"", `{"person":"anna","approvalId":"` + id + `","x":1}`, 400},
		{"", `{"person":"nobody","approvalId":"` + id + `"}`, 404}, {"", `{"person":"anna","approvalId":"` + id[:8] + `"}`, 404},
		{"bert", `{"person":"anna","approvalId":"` + id + `"}`, 403},
		{"anna", `{"person":"anna","approvalId":"` + id + `"}`, 201}, {"", `{"person":"anna","approvalId":"` + id + `"}`, 201},
	} {
		if code, _ := ask(tt.by, tt.body); code != tt.want {
			t.Errorf("%q asks for %s: %d, want %d", tt.by, tt.body, code, tt.want)
		}
	}

	e.loggedIn() // the owner's login lasts longer, and stays
	_, path := ask("", `{"person":"anna","approvalId":"`+id+`"}`)
	if resp, body := e.press(path, "same-origin"); resp.StatusCode != http.StatusOK || len(resp.Cookies()) != 0 || !strings.Contains(body, "#"+id) {
		t.Errorf("the button for the owner: %d, %v: %s", resp.StatusCode, resp.Cookies(), body)
	}
	_, path = ask("", `{"person":"anna","approvalId":"`+id+`"}`)
	e.pressed(path, waits[0])
	<-ended
	e.client.Jar = nil
	if code, _ := ask("", `{"person":"anna","approvalId":"`+id+`"}`); code != http.StatusConflict {
		t.Errorf("a link to an answered question: %d, want 409", code)
	}
}

// pressed opens a link to a question, presses its button, and approves what is asked.
func (e *env) pressed(path string, asked approval.Approval) {
	t := e.t
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	e.client.Jar = jar
	for range 2 { // as a chat server looks at a link, too
		resp, body := e.do(e.bare("GET", path))
		if resp.StatusCode != http.StatusOK || len(resp.Cookies()) != 0 || !strings.Contains(string(body), "an answer from anna") {
			t.Errorf("before the button: %d, %v: %s", resp.StatusCode, resp.Cookies(), body)
		}
	}
	if resp, _ := e.press(path, "cross-site"); resp.StatusCode != http.StatusForbidden {
		t.Errorf("the button on another page: %d", resp.StatusCode)
	}
	resp, body := e.press(path, "same-origin")
	if resp.StatusCode != http.StatusOK || len(resp.Cookies()) != 1 || !strings.Contains(body, "/sessions/"+asked.SessionID+"#"+asked.ID) {
		t.Fatalf("the button: %d, %v: %s", resp.StatusCode, resp.Cookies(), body)
	}
	until := regexp.MustCompile(`^\d+`).FindString(resp.Cookies()[0].Value)
	if want := asked.ExpiresAt.Format("20060102150405"); until == "" || decodeUnix(t, until).UTC().Format("20060102150405") != want {
		t.Errorf("the cookie ends at %s, want %s", until, want)
	}
	if resp, _ := e.press(path, "same-origin"); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("the button once more: %d", resp.StatusCode)
	}
	answer := e.request("POST", "/v1/approvals", `{"approvalId":"`+asked.ID+`","approve":true}`)
	answer.Header.Del("Authorization")
	answer.Header.Set("Sec-Fetch-Site", "same-origin")
	_, got := e.do(answer)
	if a := decode[approval.Approval](t, got); a.Outcome != "approved" || a.AnsweredAs != "token:anna" {
		t.Errorf("answered: %s", got)
	}
}

// press presses the button of a link, in a document of a site.
func (e *env) press(path, site string) (*http.Response, string) {
	e.t.Helper()
	r := e.request("POST", "/login", "link="+path[strings.IndexByte(path, '=')+1:])
	r.Header.Del("Authorization")
	r.Header.Set("Sec-Fetch-Site", site)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, body := e.do(r)
	return resp, string(body)
}

func decodeUnix(t testing.TB, seconds string) time.Time {
	t.Helper()
	return time.Unix(decode[int64](t, []byte(seconds)), 0)
}
