package httpserver_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentworker/worker/frontdoor/httpserver"
	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/taskt"
)

// TestQuestions: a client sees what an agent asks. What does not fit is refused, and the question
// waits on.
func TestQuestions(t *testing.T) {
	e := newEnv(t, doortest.Calling("ask_user", doortest.Question), httpserver.Options{})
	for _, tt := range []struct{ answer, outcome, says string }{
		{`"answers":["<b>","a"]`, "answered", "The person has answered:\n- <b>\n- a"},
		{`"approve":false,"feedback":"not today"`, "declined", "says:\nnot today"},
	} {
		docs := make(chan taskt.Document, 1)
		go func() {
			_, body := e.do(e.request("POST", "/v1/tasks", `{"description":"d","prompt":"p","agentType":"general"}`))
			var doc taskt.Document
			_ = json.Unmarshal(body, &doc) // what is missing is seen below
			docs <- doc
		}()
		var waits []approval.Approval
		for deadline := time.Now().Add(time.Minute); len(waits) == 0 && time.Now().Before(deadline); {
			_, body := e.do(e.request("GET", "/v1/approvals", ""))
			waits = decode[struct{ Approvals []approval.Approval }](t, body).Approvals
		}
		if len(waits) != 1 || waits[0].Ask == nil || !slices.Equal(waits[0].Ask.Options, []string{"a", "<b>"}) || len(waits[0].Path) != 2 {
			t.Fatalf("approvals %+v, want one that asks", waits)
		}
		post := func(answer string) (int, []byte) {
			resp, body := e.do(e.request("POST", "/v1/approvals", `{"approvalId":"`+waits[0].ID+`",`+answer+`}`))
			return resp.StatusCode, body
		}
		for answer, says := range map[string]string{
			`"answers":["c"]`: "none of the options", `"answers":["a","a"]`: "twice", `"answers":[]`: "no answer", `"approve":true`: "nobody can approve",
		} {
			if status, body := post(answer); status != http.StatusUnprocessableEntity || errorCode(t, body) != "wrong_answer" || !strings.Contains(string(body), says) {
				t.Errorf("%s: status %d %s, want %q", answer, status, body, says)
			}
		}
		if status, body := post(`"answers":["a"],"approve":true`); status != http.StatusBadRequest {
			t.Errorf("both: status %d %s", status, body)
		}
		if _, body := post(tt.answer); string(decode[approval.Approval](t, body).Outcome) != tt.outcome {
			t.Errorf("answered %s: %s", tt.answer, body)
		}
		if status, body := post(tt.answer); status != http.StatusConflict {
			t.Errorf("answered twice: status %d %s", status, body)
		}
		if doc := <-docs; !strings.Contains(doc.Text, tt.says) {
			t.Errorf("answered %s: document %+v, want %q", tt.answer, doc, tt.says)
		}
	}
}

// TestPageQuestion: the page shows what an agent asks, nothing hides in it, and what does not fit is
// refused.
func TestPageQuestion(t *testing.T) {
	e := withPage(t, doortest.Calling("ask_user", doortest.Question))
	e.loggedIn()
	_, body := e.do(e.request("POST", "/v1/tasks", strings.Replace(background, "explore", "general", 1)))
	id := decode[taskt.Document](t, body).SessionID
	card := e.awaitCard(t)
	ask := card.Ask
	if ask == nil || !slices.Equal(ask.Options, []string{"a", "<b>"}) || !ask.Multiple || ask.Default != "a" || ask.Note == "" || len(card.Always) > 0 {
		t.Fatalf("card %+v", card)
	}
	shown := ""
	for _, piece := range ask.Question {
		shown += piece.Text
	}
	if want := `Which one?\u{1b}[2J\u{202e}<script>alert(1)</script>`; shown != want {
		t.Errorf("shown %q, want %q", shown, want)
	}
	for _, tt := range []struct {
		body string
		want int
	}{
		{`"answer":"once"`, http.StatusUnprocessableEntity},
		{`"answer":"answer"`, http.StatusUnprocessableEntity},
		{`"answer":"answer","answers":["c"]`, http.StatusUnprocessableEntity},
		{`"answer":"answer","answers":["<b>"]`, http.StatusOK},
		{`"answer":"deny"`, http.StatusConflict},
	} {
		r := e.request("POST", "/page/approvals", `{"approvalId":"`+card.ID+`",`+tt.body+`}`)
		r.Header.Del("Authorization")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		if resp, body := e.do(r); resp.StatusCode != tt.want {
			t.Errorf("%s: %d, want %d: %s", tt.body, resp.StatusCode, tt.want, body)
		}
	}
	e.await(id)
}
