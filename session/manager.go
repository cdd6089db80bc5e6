package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/model/price"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/tool"
)

// Options configures a [Manager].
type Options struct {
	Bus       *eventbus.Bus
	Workspace permission.Workspace
	Static    StaticRules
	RulesFile string // where Static is stored, for people

	// Model returns the model of a name; the empty name is the default's.
	Model func(name string) (model.Model, error)

	// Own returns the model of a name for an agent that has credentials of its own for
	// it; false: it has none, and gets that of Model. nil means no agent has any.
	Own func(agent, name string) (model.Model, bool, error)

	EndNotes store.EndNotes // of sessions that this process ends in place of others; nil means there are none

	Window func(name string) int64 // tokens of the context window of a model; 0 means not known. nil means of none

	// Approver answers what the rules ask, as does whoever calls [store.Store.Answer],
	// from whatever process; nil means only they do.
	Approver Approver

	// Unattended says that nobody can answer: without an Approver a
	// call that the rules ask about is refused at once.
	Unattended bool

	// Audit takes every decision of the gate; nil means only the log does.
	Audit *audit.Log

	// TakesOver says that this process goes on with sessions whose process has gone
	// ([Manager.AdoptWith]). Others then leave these to it.
	TakesOver bool

	// Retention says when ended sessions are deleted; the zero value: never.
	Retention store.Retention

	// Prices are those of the models. If it is nil, no price is known.
	Prices *price.Table

	Limits Limits
	Logger *slog.Logger // nil discards them
}

// Manager opens sessions and knows those that run in this process.
type Manager struct {
	bus        *eventbus.Bus
	store      *store.Store
	paths      permission.Workspace
	static     StaticRules
	rulesFile  string
	model      func(string) (model.Model, error)
	own        func(agent, name string) (model.Model, bool, error) // nil means none
	window     func(string) int64
	approver   Approver
	unattended bool
	audit      *audit.Log
	limits     Limits
	prices     *price.Table
	gates      gates
	retention  store.Retention
	log        *slog.Logger
	bootID     string
	keeper     *lease.Keeper
	index      *store.Index
	rechecks   rechecks
	requests   *requests
	recovering sync.Mutex // held while the sessions of others are ended
	adoption

	mu   sync.Mutex
	live map[string]*Session
	lost map[string]*eventbus.Publisher // see Manager.sweep

	rulesSaid string // what was logged of the static rules; empty means nothing is wrong
}

// OpenManager opens the session store of the bus's workspace, and takes a lease
// there: as long as this process renews it, its sessions are its own. It wants
// Close before the bus is closed.
func OpenManager(ctx context.Context, opts Options) (*Manager, error) {
	limits := opts.Limits.withDefaults()
	if err := limits.check(); err != nil {
		return nil, err
	}
	sessions, err := store.Open(ctx, opts.Bus)
	if err != nil {
		return nil, err
	}
	sessions.NoteEnds(opts.EndNotes)
	m := &Manager{
		bus:        opts.Bus,
		store:      sessions,
		paths:      opts.Workspace,
		static:     opts.Static,
		rulesFile:  opts.RulesFile,
		model:      opts.Model,
		own:        opts.Own,
		window:     opts.Window,
		approver:   opts.Approver,
		unattended: opts.Unattended,
		audit:      opts.Audit,
		limits:     limits,
		prices:     opts.Prices,
		retention:  opts.Retention,
		adoption:   adoption{takesOver: opts.TakesOver, adopts: make(chan struct{})},
		log:        opts.Logger,
		bootID:     store.NewID("boot"),
		live:       make(map[string]*Session),
		lost:       make(map[string]*eventbus.Publisher),
	}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	m.index = sessions.StartIndex(m.log)
	if m.keeper, err = startKeeper(ctx, m); err != nil {
		return nil, errors.Join(err, m.index.Close(ctx))
	}
	if m.requests, err = startRequests(m); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// Close returns when the records of its sessions are stored, and gives the lease
// back. Other processes then take this one for gone, so end its sessions first.
// Without Close that happens after [lease.Time].
func (m *Manager) Close() error {
	if m.requests != nil {
		m.requests.close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), store.WriteTimeout)
	defer cancel()
	// The records before the lease: without it their sessions count as lost.
	err := m.index.Close(ctx)
	m.mu.Lock()
	left := len(m.live) > 0 || len(m.lost) > 0
	m.mu.Unlock()
	return errors.Join(err, m.keeper.Close(ctx, left))
}

// Report has load's answer stored with the lease, now and at each renewal, for
// who lists workers.
func (m *Manager) Report(ctx context.Context, load func() lease.Load) { m.keeper.Report(ctx, load) }

// Params say how an agent's model is to answer.
type Params = model.Params

// Model is what answers a session.
type Model = model.Model

// Spec says what session to open.
type Spec struct {
	ID              string   // one of [store.NewID] or [store.NextRun]; empty means a new one
	Parent          *Session // nil means a root
	ParentMessageID string
	Agent           string // empty means the session stands for a caller, and has no model
	Description     string
	System          string // the system prompt
	Label           string // names it in lists, in place of the description; may be empty

	// Metadata is a JSON object from the caller, which is kept with the session. It may
	// be nil.
	Metadata json.RawMessage

	// Models are names of models, the best first. The first that can be had is the
	// session's: a warning says of those before why they can't. Where none can: the
	// parent's, or the default where that has none.
	Models []string

	// Router picks the model before the first call, in place of the parent's or of the
	// default. It is not asked where one of Models counts; nil means nobody is.
	Router Router

	Params Params

	Warnings []string // what is not as it was asked for: see [store.Record]

	// Lasting says that the session's caller makes call after call, as a connected
	// host does, or prompts it again and again. Where it is stopped, its calls are, and it is ended once they are
	// over; all others end with what they do.
	Lasting bool

	// CallerModel is the model that a caller brings along: that of its children
	// which name none. It is for sessions without an agent; may be nil.
	CallerModel Model

	// Nested is as in [store.Record].
	Nested bool

	// Fork is the conversation that the session goes on from, in place of System; nil means
	// it begins a new one.
	Fork *Fork

	Tools []tool.Tool

	// ToolSet is the same, made once for many sessions, in place of Tools.
	ToolSet *ToolSet

	Compaction *Helper // nil means the conversation is not compacted near the end of [Options.Window]

	// Accept takes an answer of the model and returns what of it is the result
	// of a turn. With an error the model is told why, and answers again, twice
	// at most and within the turn's limits; then the turn fails with an
	// [UnacceptedError]. nil means any answer is the result.
	Accept func(answer string) (result string, err error)

	// AllowedTools are the names of the tools that the session has, and no others of
	// its set; those that follow one of them come with it. They hold for its
	// descendants, too. nil means all of the set.
	AllowedTools []string

	// Checks are made by the session once the model has given an answer that is
	// accepted: it is the result if they hold. The model gets one turn to repair what
	// does not, within the limits of the session; then the turn fails with an
	// [UnacceptedError] of a [ChecksError].
	Checks []Check

	// Rules is the agent's ruleset. It is judged together with those of the session's
	// ancestors: a child is never allowed more than its parent.
	Rules *permission.Ruleset

	// Paths is what paths of the session's tools are relative to, and Worktree the
	// git worktree that this is. nil means those of the parent, at last the workspace.
	Paths    *permission.Workspace
	Worktree *store.Worktree

	// ResidentFile stands before the first prompt: a file that read_file shows whole, by
	// its slash-separated path relative to Paths, without links. Other sessions with the
	// same one are warned of. Empty means none.
	ResidentFile string

	// Background says that the parent is told of the session's end by a message: by
	// [Session.Notify] or, where their process is killed before, by who ends them.
	Background bool

	// Detached says that the session goes on when its parent ends: whoever runs it
	// ends it, or a stop of its own.
	Detached bool

	// Resumes is what the session goes on with; nil means it begins anew. Terms is how it
	// is called, for who resumes it: its log has it ([store.State]).
	Resumes *Resumed
	Terms   json.RawMessage

	// Within are further rulesets that hold for the session, besides its agent's and
	// those of its ancestors.
	Within []*permission.Ruleset

	// Budget bounds the session and those below it; nil means what bounds the parent does.
	Budget Budget

	MaxSteps  int           // model calls with tools before it must conclude; 0 means 10
	TimeLimit time.Duration // 0 means no limit

	// Stall is after what time without an event the session is said to have stalled,
	// and after what time more it is stopped. 0 means never.
	Stall time.Duration

	Approver Approver // nil means the manager's

	Mover Mover // runs the session for a call that waits for its end; nil means none does
}

// Open begins a new session and publishes its first event. The caller ends it.
// [store.ErrResumed] is returned where another session resumes the same one.
func (m *Manager) Open(ctx context.Context, spec Spec) (*Session, error) {
	s, err := m.newSession(ctx, spec)
	if err != nil {
		return nil, err
	}
	if spec.Resumes != nil {
		if err := m.store.Reserve(ctx, &s.record); err != nil {
			return nil, fmt.Errorf("resuming a session: %w", err)
		}
	}
	if err := m.bus.Begin(s.path); err != nil {
		return nil, fmt.Errorf("opening a session: %w", err)
	}
	if err := s.newStream(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("opening a session: %w", context.Cause(ctx))
	}
	m.enlist(s)
	s.append(s.record.OpenedEntry(spec.Terms))
	if spec.Budget != nil {
		spec.Budget.Own(s.id, s)
	}
	s.publish(s.record.StartEvent())
	s.status(event.StatusQueued)
	for _, text := range s.record.Warnings {
		s.publish(event.Warning{Message: text})
	}
	if err := s.brokenBy(); err != nil {
		return nil, errors.Join(err, s.End(store.Failed, err))
	}
	return s, nil
}

// enlist adds a session to those that run here, and its record to the index.
func (m *Manager) enlist(s *Session) {
	m.mu.Lock()
	m.live[s.id] = s
	m.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	m.index.Put(indexed{s}, s.record)
}

// newSession returns the session that a spec is about. Nothing is stored of it.
func (m *Manager) newSession(ctx context.Context, spec Spec) (_ *Session, err error) {
	if spec.ToolSet == nil {
		if spec.ToolSet, err = NewToolSet(spec.Tools...); err != nil {
			return nil, fmt.Errorf("opening a session: %w", err)
		}
	}
	allowed := spec.allowedTools()
	s := &Session{
		m:        m,
		identity: identity{parent: spec.Parent, id: cmp.Or(spec.ID, store.NewID("ses")), agent: spec.Agent},
		behavior: behavior{
			system: spec.System, model: spec.CallerModel, params: spec.Params, accept: spec.Accept, checks: spec.Checks, tools: spec.ToolSet.only(allowed), allowed: allowed,
			maxSteps: cmp.Or(spec.MaxSteps, 10), timeLimit: spec.TimeLimit, stall: spec.Stall, approver: spec.Approver, paths: m.paths,
		},
		conversation: conversation{callIDs: make(map[string]bool), compaction: spec.Compaction},
		beside:       beside{news: make(chan struct{}, 1)},
		lifecycle:    lifecycle{lasting: spec.Lasting, caller: ctx, background: context.WithoutCancel(ctx), done: make(chan struct{}), mover: spec.Mover},
	}
	if s.approver == nil {
		s.approver = m.approver
	}
	s.record = store.Record{
		Schema:          store.RecordSchema,
		ID:              s.id,
		ParentMessageID: spec.ParentMessageID,
		Agent:           spec.Agent,
		Description:     spec.Description,
		Label:           spec.Label,
		Metadata:        spec.Metadata,
		Status:          store.Queued,
		CreatedAt:       time.Now().UTC(),
		BootID:          m.bootID,
		Worktree:        spec.Worktree,
		Background:      spec.Background,
		Detached:        spec.Detached,
		Nested:          spec.Nested,
	}
	if p := spec.Parent; p != nil {
		s.behavior.paths = p.behavior.paths
		s.record.ParentID = p.id
		s.path = p.path
		s.rulesets = slices.Clone(p.rulesets)
	}
	if spec.Budget != nil {
		s.budget = spec.Budget
	} else if spec.Parent != nil {
		s.budget = spec.Parent.budget
	}
	if spec.Paths != nil {
		s.behavior.paths = *spec.Paths
	}
	if spec.Resumes != nil {
		s.record.Resumes = spec.Resumes.ID
		s.rulesets = append(s.rulesets, spec.Resumes.Within...)
	}
	s.resident = spec.ResidentFile
	s.record.Resident = s.residentName()
	s.rulesets = append(s.rulesets, spec.Within...)
	if spec.Resumes != nil && spec.Resumes.Before != nil { // behind those of others: see ownRules
		s.rulesets, s.ownRules = append(s.rulesets, spec.Resumes.Before), 1
	}
	s.path = s.path.Child(s.id, spec.Agent)
	s.record.Path, s.record.Depth = s.path, len(s.path)-1
	if spec.Agent != "" {
		if s.model, s.record.Warnings, err = m.modelOf(spec); err != nil {
			return nil, fmt.Errorf("opening a session: %w", err)
		}
		s.record.Warnings = append(s.record.Warnings, spec.Warnings...)
		s.record.Model = s.model.Name()
		if len(spec.Models) == 0 && spec.Fork == nil && spec.Resumes == nil {
			s.router = spec.Router
		}
		s.rulesets = append(s.rulesets, spec.Rules)
		s.ownRules++
		switch {
		case spec.Fork != nil:
			s.goOn(spec.Fork)
		case spec.Resumes != nil:
			s.recall(spec.Resumes)
		}
	}
	return s, nil
}
