package acpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/coder/acp-go-sdk"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/frontdoor/acpserver"
	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/replaymodel"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/taskt"
)

func TestMain(m *testing.M) { doortest.Main(m) }

// env is a worker.
type env struct {
	t *testing.T
	*doortest.Worker
}

// play is a model that plays a script.
func play(t *testing.T, script string) model.Model {
	t.Helper()
	turns, err := replaymodel.Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return replaymodel.New("script", turns)
}

func newEnv(t *testing.T, m model.Model, changes ...func(*session.Options)) *env {
	t.Helper()
	w := doortest.Open(t, "ws", eventbus.Options{StoreDir: t.TempDir()}, m, taskt.Limits{}, changes...)
	t.Cleanup(func() {
		w.Tasks.Close()
		if err := errors.Join(w.Sessions.Close(), w.Close()); err != nil {
			t.Error(err)
		}
	})
	return &env{t, w}
}

// serve starts a server of its own for a client, and returns the client's ends of the
// connection and what ends it.
func (e *env) serve(opts acpserver.Options) (to io.WriteCloser, from io.Reader, end func()) {
	opts.Tasks, opts.Agents, opts.Sessions, opts.Bus, opts.Root = e.Tasks, e.Agents, e.Sessions.Store(), e.Bus, e.Root
	in, to := io.Pipe()
	from, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- acpserver.New(opts).Serve(context.Background(), in, out) }()
	end = sync.OnceFunc(func() {
		to.Close()
		if err := <-served; err != nil {
			e.t.Error(err)
		}
	})
	e.t.Cleanup(func() { // what was written last is read before
		end()
		out.Close()
	})
	return to, from, end
}

// editor is a client made with the SDK.
type editor struct {
	*acp.ClientSideConnection
	acp.Client // what no test makes use of
	t          *testing.T
	root       string
	answer     func(acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) // nil means the user never does
	end        func()
	several    bool // updates are noted with their session

	reads sync.Mutex // held by a client that reads nothing

	mu    sync.Mutex
	lines []string // the updates, in a line each
	news  chan struct{}
}

func (e *env) editor(opts acpserver.Options) *editor {
	e.t.Helper()
	to, from, end := e.serve(opts)
	c := &editor{t: e.t, root: e.Root, end: end, news: make(chan struct{}, 1)}
	c.ClientSideConnection = acp.NewClientSideConnection(c, to, &reader{from, &c.reads})
	got, err := c.Initialize(e.t.Context(), acp.InitializeRequest{ProtocolVersion: 1, ClientInfo: &acp.Implementation{Name: "editor", Version: "1"}})
	if err != nil || got.ProtocolVersion != 1 || !got.AgentCapabilities.LoadSession || got.AgentCapabilities.SessionCapabilities.List == nil {
		e.t.Fatalf("initialize: %+v, %v", got, err)
	}
	return c
}

func (c *editor) RequestPermission(ctx context.Context, req acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	if c.answer != nil {
		return c.answer(req)
	}
	c.note("asked")
	<-ctx.Done()
	c.note("withdrawn")
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
}

// reader reads while it may.
type reader struct {
	io.Reader
	may *sync.Mutex
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.may.Lock()
	defer r.may.Unlock()
	return n, err
}

// ids matches generated ids.
var ids = regexp.MustCompile(`(ses|msg|apr|call)_[0-9a-z]{6,}(-\d+)?`)

func (c *editor) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	line := ids.ReplaceAllString(show(n.Update), "${1}_")
	if c.several {
		line = string(n.SessionId) + " " + line
	}
	c.note(line)
	return nil
}

func (c *editor) note(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, line)
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// show is an update in a line.
func show(u acp.SessionUpdate) string {
	contents := func(list []acp.ToolCallContent) (text string) {
		for _, c := range list {
			switch {
			case c.Content != nil:
				text += " " + fmt.Sprintf("%q", c.Content.Content.Text.Text)
			case c.Diff != nil:
				text += " diff of " + filepath.Base(c.Diff.Path)
			}
		}
		return text
	}
	switch {
	case u.UserMessageChunk != nil:
		return "user: " + u.UserMessageChunk.Content.Text.Text
	case u.AgentMessageChunk != nil:
		return "agent: " + u.AgentMessageChunk.Content.Text.Text
	case u.AgentThoughtChunk != nil:
		return "thought: " + u.AgentThoughtChunk.Content.Text.Text
	case u.ToolCall != nil:
		return fmt.Sprintf("call: %s, %s%s", u.ToolCall.Title, u.ToolCall.Kind, contents(u.ToolCall.Content))
	case u.ToolCallUpdate != nil:
		status := "the same"
		if u.ToolCallUpdate.Status != nil {
			status = string(*u.ToolCallUpdate.Status)
		}
		return fmt.Sprintf("%s: %s%s", u.ToolCallUpdate.ToolCallId, status, contents(u.ToolCallUpdate.Content))
	case u.Plan != nil:
		var entries []string
		for _, e := range u.Plan.Entries {
			entries = append(entries, e.Content+" "+string(e.Status))
		}
		return "plan: " + strings.Join(entries, ", ")
	}
	data, _ := json.Marshal(u) // a test prints it
	return string(data)
}

// shown returns the updates since it was called last, without those of a call that works.
func (c *editor) shown() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var lines []string
	for _, line := range c.lines {
		if !strings.Contains(line, ": in_progress") {
			lines = append(lines, line)
		}
	}
	c.lines = nil
	return strings.Join(lines, "\n")
}

// sees waits for an update.
func (c *editor) sees(text string) {
	c.t.Helper()
	for {
		c.mu.Lock()
		all := strings.Join(c.lines, "\n")
		c.mu.Unlock()
		if strings.Contains(all, text) {
			return
		}
		select {
		case <-c.news:
		case <-c.Done():
			c.t.Fatalf("%q was not shown: %s", text, all)
		}
	}
}

// begin opens a session.
func (c *editor) begin() acp.SessionId {
	c.t.Helper()
	got, err := c.NewSession(c.t.Context(), acp.NewSessionRequest{Cwd: c.root, McpServers: []acp.McpServer{}})
	if err != nil {
		c.t.Fatal(err)
	}
	return got.SessionId
}

func (c *editor) prompt(id acp.SessionId, text string) (acp.StopReason, error) {
	got, err := c.Prompt(c.t.Context(), acp.PromptRequest{SessionId: id, Prompt: []acp.ContentBlock{acp.TextBlock(text)}})
	return got.StopReason, err
}
