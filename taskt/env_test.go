package taskt_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/bustest"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/modeltest"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session"
	"github.com/agentworker/worker/session/approval"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/taskt"
	"github.com/agentworker/worker/taskt/input"
	"github.com/agentworker/worker/taskt/workdir"
	"github.com/agentworker/worker/tool"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// A client that has stored an image may leave it: see TestMain of eventbus.
		goleak.IgnoreAnyFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"))
}

// modelFunc is a model made of a function.
type modelFunc = modeltest.Func

// prompt returns the first message of a conversation, and how many answers the
// model has given.
func prompt(req *model.Request) (text string, answers int) {
	for _, m := range req.Messages {
		if m.Role == model.Assistant {
			answers++
		}
	}
	return req.Messages[0].Text, answers
}

func answer(text string) modelFunc { return modeltest.Say(text) }

func (e *env) stream(t testing.TB, path event.Path) []eventbus.Delivery {
	t.Helper()
	var got []eventbus.Delivery
	for d, err := range e.bus.Follow(t.Context(), path, nil) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, d)
	}
	return got
}

// static are the user's rules of a test.
type static []permission.Rule

func (s static) Rules() (*permission.Ruleset, error) { return permission.NewRuleset(s...) }
func (static) Allow(string, []string) error          { return nil }

func (s static) ruleset(t testing.TB) *permission.Ruleset {
	t.Helper()
	rules, err := s.Rules()
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

var allowAll = static{{Tool: "*", Pattern: "*", Action: permission.Allow}}

type env struct {
	*taskt.Service
	bus      *eventbus.Bus
	registry *agentdefs.Registry
	sessions *session.Manager
	root     *session.Session
	dir      string // of the agent files
	folder   string // the workspace
}

// setup is what a test's environment is made of. The zero value allows all and
// has no model.
type setup struct {
	model    model.Model
	models   func(name string) (model.Model, error) // nil means model, whatever the name
	limits   taskt.Limits
	files    map[string]string // agent files, name to content
	static   static            // nil means all is allowed
	approver approval.Approver
	budget   taskt.Budget
	above    []taskt.BudgetAbove

	agentModels map[string]string
	efforts     map[string]string
	window      int64 // tokens of the context window of all models; 0 means it is not known

	agents  taskt.Agents // nil means those of files
	tools   []tool.Tool
	isolate func(ctx context.Context, from, id string) (*workdir.Dir, error)

	ownFiles bool // not those of the other services of the workspace

	bus    *eventbus.Bus // of a store that is there; nil means a new one
	rivals int           // how many more services take over at the same time
}

func newEnv(t testing.TB, m model.Model, limits taskt.Limits, files map[string]string) *env {
	t.Helper()
	return setup{model: m, limits: limits, files: files}.open(t)
}

// open returns a task service over a workspace, and a caller's root session.
func (s setup) open(t testing.TB) *env {
	t.Helper()
	root := t.TempDir()
	e := &env{dir: filepath.Join(root, ".agents", "agents"), folder: root}
	if err := os.MkdirAll(e.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range s.files {
		e.write(t, name, content)
	}
	var err error
	if e.bus = s.bus; e.bus == nil {
		e.bus = openBus(t, t.TempDir())
	}
	if e.registry, err = agentdefs.Open(t.Context(), root, &agentdefs.Options{Nesting: s.limits.Depth > 1}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.registry.Close)
	if s.static == nil {
		s.static = allowAll
	}
	if s.models == nil {
		s.models = func(string) (model.Model, error) { return s.model, nil }
	}
	if s.agents == nil {
		s.agents = e.registry
	}
	e.sessions, err = session.OpenManager(t.Context(), session.Options{
		Bus: e.bus, Static: s.static, Model: s.models, Approver: s.approver, TakesOver: s.limits.Takeovers > 0,
		Window: func(string) int64 { return s.window },
	})
	if err != nil {
		t.Fatal(err)
	}
	e.sessions.Store().Recovery.StopGrace = time.Minute
	if e.Service, err = taskt.New(taskt.Options{Sessions: e.sessions, Agents: s.agents, Root: root, SharedFiles: !s.ownFiles, Limits: s.limits, Budget: s.budget, Above: s.above, AgentModels: s.agentModels, AgentEfforts: s.efforts, Isolate: s.isolate, Tools: s.tools}); err != nil {
		t.Fatal(err)
	}
	if e.root, err = e.OpenCaller(t.Context(), "test", record.Owner); err != nil {
		t.Fatal(err)
	}
	return e
}

// openBus opens a store.
func openBus(t testing.TB, dir string) *eventbus.Bus {
	t.Helper()
	return bustest.Open(t, &eventbus.Options{StoreDir: dir})
}

// warnings are those on the stream of a session.
func (e *env) warnings(t testing.TB, path event.Path) (said []event.Warning) {
	t.Helper()
	for _, d := range e.stream(t, path) {
		ev, err := event.Decode(d.Raw)
		if err != nil {
			t.Fatal(err)
		}
		if w, ok := ev.(event.Warning); ok {
			said = append(said, w)
		}
	}
	return said
}

// write writes an agent file, as an editor does.
func (e *env) write(t testing.TB, name, content string) {
	t.Helper()
	path := filepath.Join(e.dir, name)
	if err := errors.Join(os.WriteFile(path+".new", []byte(content), 0o644), os.Rename(path+".new", path)); err != nil {
		t.Fatal(err)
	}
}

// snapshot returns the agents of these files.
func snapshot(t testing.TB, files map[string]string) *agentdefs.Snapshot {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, ".agents", "agents", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	s, err := agentdefs.Load(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// spec describes the task tool to hosts.
func (e *env) spec() tool.Spec { return e.Offer().Spec(input.Presentation{SideBySide: true}) }
