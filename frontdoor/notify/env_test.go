package notify_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/frontdoor/notify"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
)

// server is a server of messages. It answers with what its answers have, and then with 204.
type server struct {
	*httptest.Server
	got     chan received
	mu      sync.Mutex
	answers []int
}

func newServer(t *testing.T, answers ...int) *server {
	s := &server{got: make(chan received, 100), answers: answers}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.mu.Lock()
		code := http.StatusNoContent
		if len(s.answers) > 0 {
			code, s.answers = s.answers[0], s.answers[1:]
		}
		s.mu.Unlock()
		s.got <- received{r.Header, string(body)}
		w.WriteHeader(code)
	}))
	t.Cleanup(s.Close)
	return s
}

// env is a worker of whose sessions people are told.
type env struct {
	*doortest.Worker
	t      *testing.T
	dir    string // the state folder
	logger *slog.Logger
}

func newEnv(t *testing.T, m modeltest.Func) *env {
	t.Helper()
	e := &env{doortest.Open(t, "ws", eventbus.Options{StoreDir: t.TempDir()}, m, taskt.Limits{}), t, t.TempDir(), slog.New(slog.DiscardHandler)}
	t.Cleanup(func() {
		e.Tasks.Close()
		if err := errors.Join(e.Sessions.Close(), e.Close()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// start starts a notifier.
func (e *env) start(targets string) *notify.Notifier {
	e.t.Helper()
	to, err := notify.Parse([]byte(targets))
	if err != nil {
		e.t.Fatal(err)
	}
	n, err := notify.Start(e.t.Context(), notify.Options{
		Bus: e.Bus, Sessions: e.Sessions.Store(), Targets: to, Workspace: "shop", StateDir: e.dir, Dir: e.dir, Shell: "/bin/sh", Env: os.Environ(),
		Getenv: func(name string) string {
			return map[string]string{"SECRET": secret, "TOKEN": "abc"}[name]
		},
		Link: func(_ context.Context, person, id string) (string, error) {
			if person == "nobody" {
				return "", errors.New("nobody has that token")
			}
			return "http://127.0.0.1:7433/login?link=" + person + "." + id, nil
		},
		Logger: e.logger,
	})
	if err != nil {
		e.t.Fatal(err)
	}
	return n
}

// task runs a task, and answers its questions with a verdict.
func (e *env) task(answer *approval.Verdict) {
	e.t.Helper()
	root, err := e.Tasks.OpenCaller(e.t.Context(), "test", record.Owner)
	if err != nil {
		e.t.Fatal(err)
	}
	run := e.Tasks.Start(e.t.Context(), root, taskt.Input{Description: "Mend the cart", Prompt: "p", AgentType: "general"})
	if answer != nil {
		for {
			pending, err := e.Sessions.Store().Approvals.Pending(e.t.Context())
			if err != nil {
				e.t.Fatal(err)
			}
			if len(pending) > 0 {
				if _, err := e.Sessions.Store().Approvals.Answer(e.t.Context(), pending[0].ID, approval.Answer{Verdict: *answer}); err != nil {
					e.t.Error(err)
				}
				break
			}
		}
	}
	<-run.Done()
	if err := root.End(record.Completed, nil); err != nil {
		e.t.Error(err)
	}
}

// lines is a log that is read while it is written.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
