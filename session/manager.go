package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/permission/shell"
	"github.com/agentworker/worker/tool"
)

// Limits bound what a session does. A zero value means the default.
type Limits struct {
	ModelCall time.Duration // one model call; 120 s
	ToolCall  time.Duration // one call of a tool without a limit of its own; 30 s
	Approval  time.Duration // how long a call waits for an answer; 10 min
}

func (l Limits) withDefaults() Limits {
	if l.ModelCall == 0 {
		l.ModelCall = 120 * time.Second
	}
	if l.ToolCall == 0 {
		l.ToolCall = 30 * time.Second
	}
	if l.Approval == 0 {
		l.Approval = 10 * time.Minute
	}
	return l
}

// Options configures a [Manager].
type Options struct {
	Bus       *eventbus.Bus
	Workspace permission.Workspace
	Static    StaticRules
	RulesFile string // where Static is stored, for people

	// Model returns the model of a name; the empty name is the default's.
	Model func(name string) (model.Model, error)

	// Approver answers what the rules ask, beside whoever calls [Store.Answer],
	// from whatever process; nil: only those.
	Approver Approver

	// Unattended says that nobody is there to answer: without an Approver a
	// call that the rules ask about is refused at once.
	Unattended bool

	// Audit takes every decision of the gate; nil: only the log does.
	Audit *AuditLog

	// Retention says when ended sessions are deleted; the zero value: never.
	Retention Retention

	Limits Limits
	Logger *slog.Logger // nil: discard
}

// Manager opens sessions and knows those that run in this process.
type Manager struct {
	bus        *eventbus.Bus
	store      *Store
	paths      permission.Workspace
	static     StaticRules
	rulesFile  string
	model      func(string) (model.Model, error)
	approver   Approver
	unattended bool
	audit      *AuditLog
	limits     Limits
	retention  Retention
	log        *slog.Logger
	bootID     string
	keeper     *keeper
	rechecks   rechecks
	stops      *stops

	mu   sync.Mutex
	live map[string]*Session

	rulesSaid string // what was logged of the static rules; empty: nothing is wrong
}

// NewManager opens the session store of the bus's workspace, and takes a lease
// there: as long as this process renews it, its sessions are its own. It wants
// Close before the bus is closed.
func NewManager(ctx context.Context, opts Options) (*Manager, error) {
	store, err := OpenStore(ctx, opts.Bus)
	if err != nil {
		return nil, err
	}
	m := &Manager{
		bus:        opts.Bus,
		store:      store,
		paths:      opts.Workspace,
		static:     opts.Static,
		rulesFile:  opts.RulesFile,
		model:      opts.Model,
		approver:   opts.Approver,
		unattended: opts.Unattended,
		audit:      opts.Audit,
		limits:     opts.Limits.withDefaults(),
		retention:  opts.Retention,
		log:        opts.Logger,
		bootID:     newID("boot"),
		live:       make(map[string]*Session),
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	if m.keeper, err = startKeeper(ctx, m); err != nil {
		return nil, err
	}
	if m.stops, err = startStops(m); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// Close gives the lease back. To other processes this one has gone then: its
// sessions are to be ended before. Without Close that happens once the lease
// has run out.
func (m *Manager) Close() error {
	if m.stops != nil {
		m.stops.close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	return m.keeper.close(ctx)
}

// Report has load's answer stored with the lease, now and at each renewal, for
// who lists workers.
func (m *Manager) Report(ctx context.Context, load func() WorkerLoad) {
	m.keeper.mu.Lock()
	m.keeper.load = load
	m.keeper.mu.Unlock()
	m.keeper.renew(ctx)
}

// Params say how an agent's model is to answer.
type Params = model.Params

// Model is what answers a session.
type Model = model.Model

// Spec says what session to open.
type Spec struct {
	Parent          *Session // nil: a root
	ParentMessageID string
	Agent           string // empty: the session stands for a caller, and has no model
	Description     string
	System          string // the system prompt
	Model           string // empty: the parent's, or the default where that has none
	Params          Params

	// Lasting says that the session's caller makes call after call, as a connected
	// host does. Where it is stopped, its calls are, and it is ended once they are
	// over; all others end with what they do.
	Lasting bool

	// CallerModel is the model that a caller brings along: that of its children
	// which name none. It is for sessions without an agent; nil: none.
	CallerModel Model

	Tools []tool.Tool

	// Accept takes an answer of the model and returns what of it is the result
	// of a turn. With an error the model is told why, and answers again, twice
	// at most and within the turn's limits; then the turn fails with an
	// [UnacceptedError]. nil: any answer is the result.
	Accept func(answer string) (result string, err error)

	// Rules is the agent's ruleset. It is judged beside those of the session's
	// ancestors: a child is never allowed more than its parent.
	Rules *permission.Ruleset

	MaxSteps  int           // model calls with tools before it must conclude; 0: 10
	TimeLimit time.Duration // 0: none
	Approver  Approver      // nil: the manager's
}

// Open stores a new session and publishes its first event. The caller ends it.
func (m *Manager) Open(ctx context.Context, spec Spec) (*Session, error) {
	tools, names, err := toolsByName(spec.Tools)
	if err != nil {
		return nil, fmt.Errorf("opening a session: %w", err)
	}
	s := &Session{
		m:          m,
		parent:     spec.Parent,
		id:         newID("ses"),
		agent:      spec.Agent,
		system:     spec.System,
		params:     spec.Params,
		accept:     spec.Accept,
		tools:      tools,
		toolNames:  names,
		maxSteps:   spec.MaxSteps,
		timeLimit:  spec.TimeLimit,
		approver:   spec.Approver,
		lasting:    spec.Lasting,
		done:       make(chan struct{}),
		callIDs:    make(map[string]bool),
		background: context.WithoutCancel(ctx),
	}
	s.life, s.kill = context.WithCancelCause(context.Background())
	if s.maxSteps == 0 {
		s.maxSteps = 10
	}
	if s.approver == nil {
		s.approver = m.approver
	}
	var modelName string
	if spec.Agent == "" {
		s.model = spec.CallerModel
	} else {
		if s.model, err = m.modelOf(spec); err != nil {
			return nil, fmt.Errorf("opening a session: %w", err)
		}
		modelName = s.model.Name()
	}
	var parentID string
	if p := spec.Parent; p != nil {
		parentID = p.id
		s.path = p.path
		s.rulesets = slices.Clone(p.rulesets)
	}
	s.path = s.path.Child(s.id, spec.Agent)
	if spec.Agent != "" {
		s.rulesets = append(s.rulesets, spec.Rules)
	}
	if err := s.newStream(); err != nil {
		return nil, err
	}
	s.record = Record{
		Schema:          recordSchema,
		ID:              s.id,
		ParentID:        parentID,
		ParentMessageID: spec.ParentMessageID,
		Path:            s.path,
		Agent:           spec.Agent,
		Description:     spec.Description,
		Model:           modelName,
		Status:          Queued,
		Depth:           len(s.path) - 1,
		CreatedAt:       time.Now().UTC(),
		BootID:          m.bootID,
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("opening a session: %w", context.Cause(ctx))
	}
	// The end of ctx does not cut this short: of a record that is stored all the
	// same nobody would know, and it would stay queued.
	err = s.storing(func(ctx context.Context) error {
		s.rev, err = m.store.create(ctx, &s.record)
		return err
	})
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.live[s.id] = s
	m.mu.Unlock()
	s.publish(event.SessionStart{
		SessionID:       s.id,
		AgentType:       spec.Agent,
		ParentID:        parentID,
		ParentMessageID: spec.ParentMessageID,
		Description:     spec.Description,
		Model:           modelName,
		Depth:           s.record.Depth,
	})
	s.status(event.StatusQueued)
	if err := s.brokenBy(); err != nil {
		return nil, errors.Join(err, s.End(Failed, err))
	}
	return s, nil
}

// modelOf returns the model of a session that is to be opened.
func (m *Manager) modelOf(spec Spec) (model.Model, error) {
	if p := spec.Parent; spec.Model == "" && p != nil && p.model != nil {
		return p.model, nil
	}
	return m.model(spec.Model)
}

// Live returns a session that runs in this process.
func (m *Manager) Live(id string) (*Session, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.live[id]
	return s, ok
}

// Store returns the stored sessions.
func (m *Manager) Store() *Store { return m.store }

func (m *Manager) forget(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.live, id)
}

// RuleHint begins what is said at the end of a refusal where a rule would allow
// the call: the file and the rule follow.
const RuleHint = " To allow it, add to"

// ruleHint says which rule would allow a value that nobody could be asked
// about; nothing where no rule can.
func (m *Manager) ruleHint(value permission.Value) string {
	patterns := shell.AlwaysPatterns(value.Tool, []permission.Value{value})
	if len(patterns) == 0 {
		return ""
	}
	return fmt.Sprintf(RuleHint+" %s: %q: {%q: \"allow\"}", m.rulesFile, value.Tool, patterns[0])
}
