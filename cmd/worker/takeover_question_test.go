package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// waits returns what waits for an answer, once something does.
func (p *servedProcess) waits(ctx context.Context) (found struct {
	Approvals []struct{ ID, SessionID string }
}) {
	p.t.Helper()
	token, err := os.ReadFile(filepath.Join(p.state, "serve.token"))
	if err != nil {
		p.t.Fatal(err)
	}
	for ctx.Err() == nil && len(found.Approvals) == 0 {
		r, err := http.NewRequestWithContext(ctx, "GET", p.url+"/v1/approvals", nil)
		if err != nil {
			p.t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			p.t.Fatal(err)
		}
		if resp.StatusCode == http.StatusOK {
			err = json.NewDecoder(resp.Body).Decode(&found)
		}
		if resp.Body.Close(); err != nil {
			p.t.Fatal(err)
		}
	}
	if len(found.Approvals) != 1 {
		p.t.Fatalf("%d wait: %v", len(found.Approvals), ctx.Err())
	}
	return found
}

// TestTakeoverQuestion: the worker of an agent that waits for an answer is killed. The question
// waits on under its id, and what is answered before another worker goes on with the session, or
// after it, is the answer.
func TestTakeoverQuestion(t *testing.T) {
	for name, ready := range map[string]bool{"the other one runs": true, "the other one comes later": false} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			model := startModel(t, `{"match": {"user": "Go"}, "toolCalls": [{"name": "ask_user", "arguments": {"question": "Which?", "options": ["a", "b"]}}]}`+"\n"+
				`{"match": {"user": "Go", "result": "The person has answered:\nb"}, "text": "It is b."}`)
			dir := t.TempDir()
			first := startServing(t, dir, model.URL)
			first.listens()
			var accepted struct{ SessionID string }
			answer := first.post("/v1/tasks", `{"description":"d","prompt":"Go","agentType":"general","background":true}`)
			if err := json.Unmarshal([]byte(answer), &accepted); err != nil || accepted.SessionID == "" {
				t.Fatalf("%s, %v", answer, err)
			}
			id := first.waits(ctx).Approvals[0].ID
			first.stores(ctx, dir, accepted.SessionID, "question_asked")
			var second *servedProcess
			if ready {
				second = startServing(t, dir, model.URL)
				second.listens()
				first.kill()
			} else {
				first.kill()
				second = startServing(t, dir, model.URL)
				second.listens()
			}
			if got := second.post("/v1/approvals", `{"approvalId":"`+id+`","answers":["b"]}`); !strings.Contains(got, `"outcome":"answered","answers":["b"]`) {
				t.Errorf("%s: %s", id, got)
			}
			if got := second.post("/v1/tasks/wait", `{"sessionId":"`+accepted.SessionID+`"}`); !strings.Contains(got, `"It is b."`) {
				t.Errorf("it is waited for in vain: %s", got)
			}
			second.stores(ctx, dir, accepted.SessionID, "question_answered")
			if !regexp.MustCompile(`^qst_[0-9a-v]{24}$`).MatchString(id) {
				t.Errorf("the id %q", id)
			}
		})
	}
}
