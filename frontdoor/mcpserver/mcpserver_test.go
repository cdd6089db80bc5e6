package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/frontdoor/internal/doortest"
	"github.com/agentworker/worker/frontdoor/mcpserver"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/tool"
)

func TestMain(m *testing.M) { doortest.Main(withDir{m}) }

// binDir is where tests put the program that they share.
var binDir string

// withDir runs the tests while binDir exists.
type withDir struct{ *testing.M }

func (m withDir) Run() int {
	dir, err := os.MkdirTemp("", "worker-mcp-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	binDir = dir
	status := m.M.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}

// modelFunc is a model made of a function. answers counts the answers that the
// model has given to the prompt.
type modelFunc func(ctx context.Context, prompt string, answers int) (model.Part, error)

func (modelFunc) Name() string { return "func" }

func (f modelFunc) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Part, error] {
	answers := 0
	for _, m := range req.Messages {
		if m.Role == model.Assistant {
			answers++
		}
	}
	return func(yield func(model.Part, error) bool) {
		part, err := f(ctx, req.Messages[0].Text, answers)
		stop := model.StopEnd
		if _, ok := part.(model.ToolCall); ok {
			stop = model.StopToolCalls
		}
		switch {
		case err != nil:
			yield(nil, err)
		default:
			_ = yield(part, nil) && yield(model.Stop{Reason: stop}, nil)
		}
	}
}

// echo answers with the prompt.
func echo(_ context.Context, prompt string, _ int) (model.Part, error) {
	return model.TextDelta{Text: "answer to " + prompt}, nil
}

// hang tells that it has begun, and hangs until it is cancelled.
func hang(begun chan<- string) modelFunc {
	return func(ctx context.Context, prompt string, _ int) (model.Part, error) {
		begun <- prompt
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
}

type allowAll struct{}

func (allowAll) Rules() (*permission.Ruleset, error) {
	return permission.NewRuleset(permission.Rule{Tool: "*", Pattern: "*", Action: permission.Allow})
}
func (allowAll) Allow(string, []string) error { return nil }

// followLive follows a stream from its start.
var followLive = &eventbus.FollowOptions{Live: true}

type env struct {
	tasks    *taskt.Service
	bus      *eventbus.Bus
	sessions *session.Manager
	server   *mcpserver.Server
	dir      string // of the agent files
}

// newEnv returns a server over a workspace with these agent files (name to
// content).
func newEnv(t testing.TB, m model.Model, silence time.Duration, files map[string]string) *env {
	t.Helper()
	return setup{model: m, files: files, options: mcpserver.Options{Silence: silence}}.open(t)
}

// setup is what a test's server is made of.
type setup struct {
	model   model.Model
	files   map[string]string // agent files, name to content
	rules   gate.StaticRules  // nil means all is allowed
	policy  func(*session.Options)
	options mcpserver.Options // Tasks, Bus, Sessions and Logger are set
}

func (s setup) open(t testing.TB) *env {
	t.Helper()
	m, files := s.model, s.files
	if s.rules == nil {
		s.rules = allowAll{}
	}
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, ".agents", "agents", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	bus, err := eventbus.Open(t.Context(), "ws", &eventbus.Options{StoreDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	agents, err := agentdefs.Open(t.Context(), dir, &agentdefs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ws, err := tool.OpenWorkspace(dir, &tool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		agents.Close()
		if err := errors.Join(ws.Close(), bus.Close()); err != nil {
			t.Error(err)
		}
	})
	e := &env{bus: bus, dir: filepath.Join(dir, ".agents", "agents")}
	opts := session.Options{
		Bus: bus, Static: s.rules, Model: func(string) (model.Model, error) { return m, nil },
		Workspace: permission.Workspace{Root: dir},
	}
	if s.policy != nil {
		s.policy(&opts)
	}
	if e.sessions, err = session.OpenManager(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	e.tasks, err = taskt.New(taskt.Options{Sessions: e.sessions, Agents: agents, Root: dir, Tools: append(tool.Builtin(ws), e.sessions.Questions())})
	if err != nil {
		t.Fatal(err)
	}
	if s.options.Reflex == 0 { // the clients of the tests answer at once
		s.options.Reflex = time.Nanosecond
	}
	s.options.Tasks, s.options.Bus, s.options.Sessions = e.tasks, bus, e.sessions.Store()
	s.options.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	e.server = mcpserver.New(s.options)
	return e
}

// wire is a connection to the server as a host process has it: the ends of its
// stdin and stdout.
type wire struct {
	in     *io.PipeWriter
	out    *io.PipeReader
	served chan error
}

// serve starts a connection, which ends with ctx or with its input.
func (e *env) serve(ctx context.Context, t testing.TB) *wire {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	w := &wire{in: inWrite, out: outRead, served: make(chan error, 1)}
	go func() {
		err := e.server.Serve(ctx, &mcpserver.Stdio{In: inRead, Out: outWrite, Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
		w.served <- errors.Join(err, outWrite.Close())
	}()
	return w
}

// connect connects a client of the SDK, and ends the connection with the test.
func (e *env) connect(t testing.TB, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	return e.connectAs(t, "test-host", "", opts)
}

// connectAs is connect for a client with a name and a version of the protocol; empty means
// the newest.
func (e *env) connectAs(t testing.TB, name, version string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	w := e.serve(t.Context(), t)
	host := connect(t, &mcp.IOTransport{Reader: w.out, Writer: w.in}, name, version, opts)
	t.Cleanup(func() {
		if err := errors.Join(host.Close(), <-w.served); err != nil {
			t.Errorf("ending the connection: %v", err)
		}
	})
	return host
}

// connect connects a client, and returns when the server knows what the client
// wants to hear of. In the newest protocol that is a request of its own, beside
// all others, which the SDK does not wait for.
func connect(t testing.TB, transport mcp.Transport, name, version string, opts *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1.2.3"}, opts)
	known := make(chan struct{}, 1)
	client.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "notifications/subscriptions/acknowledged" {
				known <- struct{}{}
			}
			return next(ctx, method, req)
		}
	})
	host, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	listens := opts != nil && (opts.ToolListChangedHandler != nil || opts.PromptListChangedHandler != nil)
	if listens && host.InitializeResult().ProtocolVersion >= "2026-07-28" {
		<-known
	}
	return host
}

func call(agent, prompt string) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: "task", Arguments: taskt.Input{Description: "a test", Prompt: prompt, AgentType: agent}}
}

func text(t testing.TB, res *mcp.CallToolResult) string {
	t.Helper()
	if len(res.Content) != 1 {
		t.Fatalf("%d pieces of content, want 1", len(res.Content))
	}
	c, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("content %T, want text", res.Content[0])
	}
	return c.Text
}

func (e *env) records(t testing.TB) []*record.Record {
	t.Helper()
	records, err := e.sessions.Store().Index.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return records
}

// statuses returns "agent status" of all sessions, the root's agent being "-".
func (e *env) statuses(t testing.TB) string {
	t.Helper()
	var all []string
	for _, r := range e.records(t) {
		agent := r.Agent
		if agent == "" {
			agent = "-"
		}
		all = append(all, fmt.Sprintf("%s %s", agent, r.Status))
	}
	return strings.Join(all, ", ")
}
