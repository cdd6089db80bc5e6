package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/askuser"
	"github.com/agentworker/worker/session/audit"
	"github.com/agentworker/worker/session/gate"
	"github.com/agentworker/worker/session/index"
	"github.com/agentworker/worker/session/journal"
	"github.com/agentworker/worker/session/lease"
	"github.com/agentworker/worker/session/log"
	"github.com/agentworker/worker/session/models"
	"github.com/agentworker/worker/session/notes"
	"github.com/agentworker/worker/session/record"
	"github.com/agentworker/worker/session/recovery"
	"github.com/agentworker/worker/session/requests"
	"github.com/agentworker/worker/session/store"
	"github.com/agentworker/worker/session/toolcall"
	"github.com/agentworker/worker/tool"
	"github.com/agentworker/worker/tool/commands"
)

// Manager opens sessions, and has all sessions that run in this process. It is safe for
// concurrent use; mu guards live.
type Manager struct {
	p        *process
	requests *requests.Listener
	cleans   atomic.Bool // this process has begun a session that is deleted once its result was delivered

	mu   sync.Mutex
	live map[string]*Session
}

// OpenManager opens the session store of the bus's workspace, and takes a lease there: as long
// as this process renews it, its sessions are its own. It wants Close before the bus is closed.
func OpenManager(ctx context.Context, opts Options) (*Manager, error) {
	limits := opts.Limits.withDefaults()
	if err := limits.check(); err != nil {
		return nil, err
	}
	sessions, err := store.Open(ctx, opts.Bus)
	if err != nil {
		return nil, err
	}
	sessions.Notices.EndNotes = opts.EndNotes
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	m := &Manager{live: make(map[string]*Session)}
	r := newRecovery(sessions, &opts, log)
	p := &process{
		Process: journal.Process{Bus: opts.Bus, Store: sessions, BootID: record.NewID("boot"), Log: log, Lost: r.lose},
		calls: toolcall.Process{
			Policy: gate.Policy{Above: opts.Policy, Static: opts.Static, Repository: opts.Repository, Settings: opts.Settings, File: opts.RulesFile, ByFlag: opts.RulesByFlag, Log: log},
			Hooks:  opts.Hooks,
			Audit:  audit.Recorder{Log: opts.Audit, Logger: log}, Approver: opts.Approver, Unattended: opts.Unattended, Present: opts.Present, Alone: opts.Alone,
			ToolTime: limits.ToolCall, AnswerTime: limits.Approval, Parallel: limits.StepCalls, Live: m.liveRecord, Store: sessions, Log: log,
		},
		models:   &models.Models{Named: opts.Model, Own: opts.Own, Defaults: opts.Defaults, Prices: opts.Prices},
		window:   opts.Window,
		masks:    opts.MaskForModel,
		trained:  opts.Trained,
		reviewer: reviewerHelper(opts.Reviewer),
		limits:   limits,
		paths:    opts.Workspace,
		recovery: r,
		commands: commands.NewTable(),
		forget:   m.forget,
	}
	p.calls.BootID, p.calls.Counted = p.BootID, p.totals.addToolCall
	m.p = p
	sessions.Recovery.Ended = func(r *record.Record) { _ = p.calls.Audit.Note(EndRecord(r)) }
	p.Index = sessions.Index.StartWriter(log)
	if err := m.startKeeper(ctx); err != nil {
		return nil, errors.Join(err, p.Index.Close(ctx))
	}
	if m.requests, err = requests.Listen(p.Bus.Conn(), sessions.Requests, p.BootID, requested{m}, log); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// startKeeper takes the lease of this process and keeps it until m is closed, or the connection
// is.
func (m *Manager) startKeeper(ctx context.Context) error {
	p, r := m.p, m.p.recovery
	return p.Bus.Election().Opening(ctx, func(ctx context.Context) (err error) {
		p.Keeper, err = lease.Start(ctx, p.Store.Leases, lease.Options{
			BootID: p.BootID, Resumes: r.takesOver, Duration: r.lease, Claimed: m.dropClaimed, Sweep: r.sweep, Upkeep: r.deleteOld, Logger: p.Log,
		})
		r.keeper = p.Keeper
		return err
	})
}

// dropClaimed stops the sessions of this process that another one has claimed; all of them if
// the other is about to.
func (m *Manager) dropClaimed(ctx context.Context, all bool) error {
	m.mu.Lock()
	live := slices.Collect(maps.Values(m.live))
	m.mu.Unlock()
	for _, s := range live {
		if all {
			s.log.LoseTo(record.Interrupted)
		} else if err := s.log.LoseIfClaimed(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Close returns when the records of its sessions are stored, and gives the lease back. Other
// processes then believe that this one has died, so end its sessions first. Without Close that
// happens after [Options.Lease].
func (m *Manager) Close() error {
	if m.requests != nil {
		m.requests.Close()
	}
	m.p.commands.Close(event.WorkerEnd)
	ctx, cancel := context.WithTimeout(context.Background(), index.WriteTimeout)
	defer cancel()
	if m.cleans.Load() { // the rest is for the sweeps of others
		if _, err := m.p.Store.Retention.CleanUp(ctx); err != nil {
			m.p.Log.Warn("deleting sessions whose results were delivered", "err", err)
		}
	}
	// The records before the lease: without it their sessions count as lost.
	err := m.p.Index.Close(ctx)
	m.mu.Lock()
	left := len(m.live) > 0
	m.mu.Unlock()
	return errors.Join(err, m.p.Keeper.Close(ctx, left || m.p.recovery.left()))
}

// AdoptWith begins to resume sessions whose process has died, by a. It returns when those run
// that can be resumed now. It is called once, on a manager with [Options.TakesOver], which ends
// no sessions of others before.
func (m *Manager) AdoptWith(ctx context.Context, a recovery.Adopter) { m.p.recovery.adoptWith(ctx, a) }

// Report has load's answer stored with the lease, now and at each renewal, for lists of
// workers.
func (m *Manager) Report(ctx context.Context, load func() lease.Load) { m.p.Keeper.Report(ctx, load) }

// Live returns a session that runs in this process.
func (m *Manager) Live(id string) (*Session, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, ok := m.live[id]
	return s, ok
}

func (m *Manager) liveRecord(id string) (record.Record, bool) {
	s, ok := m.Live(id)
	if !ok {
		return record.Record{}, false
	}
	return s.Record(), true
}

// enlist adds a session to the running ones, and its record to the index.
func (m *Manager) enlist(s *Session) {
	m.mu.Lock()
	m.live[s.id] = s
	m.mu.Unlock()
	s.log.Index()
}

func (m *Manager) forget(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.live, id)
}

// Store returns the stored sessions.
func (m *Manager) Store() *store.Store { return m.p.Store }

// Totals returns what the sessions of this process have used.
func (m *Manager) Totals() Totals {
	t := &m.p.totals
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sum
}

// Running returns how many sessions run in this process, by their agents. Callers' sessions are
// under the empty name.
func (m *Manager) Running() map[string]int {
	m.mu.Lock()
	live := slices.Collect(maps.Values(m.live))
	m.mu.Unlock()
	agents := make(map[string]int)
	for _, s := range live {
		if r := s.Record(); !r.Status.Ended() {
			agents[r.Agent]++
		}
	}
	return agents
}

// Notes are the tools by which a session notes what it has to do: [notes.Tools].
func (m *Manager) Notes() []tool.Tool {
	return notes.Tools(func(id string) (notes.Session, bool) {
		s, ok := m.Live(id)
		return noter{s}, ok
	})
}

// Questions is the tool by which an agent asks a person a question: [askuser.Tool].
func (m *Manager) Questions() tool.Tool { return m.questions(false) }

// QuestionsOrStop is Questions for an agent that stops where nobody answers.
func (m *Manager) QuestionsOrStop() tool.Tool { return m.questions(true) }

func (m *Manager) questions(stops bool) tool.Tool {
	return askuser.Tool(func(id string) (askuser.Session, bool) {
		s, ok := m.Live(id)
		if !ok {
			return nil, false
		}
		return asker{s.calls, s}, true
	}, stops)
}

// asker is a session that asks questions.
type asker struct {
	*toolcall.Calls
	s *Session
}

// GiveUp implements [askuser.Session].
func (a asker) GiveUp(why error) { a.s.life.CancelTurn(why) }

// noter is a session that takes notes of its model.
type noter struct{ s *Session }

// NoteTodo implements [notes.Session].
func (n noter) NoteTodo(todo event.Todo) {
	n.s.log.PublishNoted(todo, func(r *record.Record) {
		n.s.notes.SetTodo(todo)
		r.Todo = record.ProgressOf(todo)
	})
}

// NotePlan implements [notes.Session].
func (n noter) NotePlan(plan event.Plan) {
	n.s.log.PublishNoted(plan, func(*record.Record) { n.s.notes.SetPlan(plan) })
}

// commander is a session as its commands in the background see it.
type commander struct{ s *Session }

// CommandStarted implements [commands.Session].
func (c commander) CommandStarted(info commands.Info) {
	c.s.log.Publish(event.CommandStart{CommandID: info.ID, ToolCallID: info.CallID, Command: info.Line, TTY: info.Terminal})
}

// CommandEnded implements [commands.Session].
func (c commander) CommandEnded(info commands.Info, end commands.End) {
	ev := event.CommandEnd{CommandID: info.ID, Signal: end.Signal, StoppedBy: end.Stopped, Bytes: end.Bytes, DurationMs: end.Duration.Milliseconds()}
	if end.Status >= 0 {
		ev.ExitStatus = &end.Status
	}
	c.s.log.Publish(ev)
}

// CommandProgressed implements [commands.Session].
func (c commander) CommandProgressed(info commands.Info, p commands.Progress) {
	c.s.log.Publish(event.CommandProgress{CommandID: info.ID, Line: p.Line, Bytes: p.Bytes, Waits: p.Waits})
}

// CommandMatched implements [commands.Session]: the model gets a message between two steps.
func (c commander) CommandMatched(info commands.Info, n commands.Notice) {
	c.s.Notify(fmt.Sprintf("msg_%s_%s_%d", c.s.id, info.ID, n.Number), n.Message(info))
}

// lost tells of the commands that a process of the session has left when it ended.
func (c commander) lost(all []log.Command) {
	for _, lost := range all {
		if !lost.Lost {
			c.s.log.Publish(event.CommandEnd{CommandID: lost.CommandID, Signal: "signal: killed", StoppedBy: event.WorkerEnd})
		}
		name := lost.CommandID + " (" + termtext.OneLine(lost.Command, termtext.MaxTitle) + ")"
		c.s.Notify("msg_"+c.s.id+"_"+lost.CommandID+"_lost", "The command "+name+" in the background has ended with the worker that ran it. Another worker goes on with your task: start it again if you need it.")
	}
}

// Judge implements [commands.Session].
func (c commander) Judge(ctx context.Context, callID string, value permission.Value) error {
	return c.s.calls.DecideAlone(ctx, callID, value)
}

// requested answers the requests about sessions that run in this process.
type requested struct{ m *Manager }

// Stop implements [requests.Sessions].
func (r requested) Stop(ctx context.Context, req requests.StopRequest) error {
	s, ok := r.m.Live(req.SessionID)
	if !ok {
		return nil
	}
	return s.stop(ctx, &StoppedError{By: req.By})
}

// Send implements [requests.Sessions].
func (r requested) Send(req requests.SendRequest) requests.RequestAnswer {
	s, ok := r.m.Live(req.SessionID)
	if !ok {
		return requests.RequestAnswer{}
	}
	err := s.Send(req)
	return requests.RequestAnswer{Taken: err == nil, Concludes: errors.Is(err, requests.ErrConcludes)}
}

// MoveToBackground implements [requests.Sessions].
func (r requested) MoveToBackground(req requests.BackgroundRequest) (answer requests.RequestAnswer) {
	s, ok := r.m.Live(req.SessionID)
	if !ok {
		return answer
	}
	move := s.MoveToBackground
	switch {
	case req.Command && s.commands == nil:
		answer.Refused = noCommands
		return answer
	case req.Command:
		move = s.commands.Move
	}
	err := move(req.By)
	if answer.Taken = err == nil; err != nil && !errors.Is(err, ErrNotWaiting) && !errors.Is(err, record.ErrEnded) {
		answer.Refused = errtext.Of(err)
	}
	return answer
}

// noCommands refuses what is asked of the commands of a session without a model.
const noCommands = "it stands for a caller, and runs no commands"

// StopCommand implements [requests.Sessions].
func (r requested) StopCommand(req requests.CommandRequest) (answer requests.RequestAnswer) {
	s, ok := r.m.Live(req.SessionID)
	if !ok {
		return answer
	}
	if s.commands == nil {
		answer.Refused = noCommands
		return answer
	}
	err := s.commands.Stop(req.CommandID, req.By)
	if answer.Taken = err == nil; err != nil {
		answer.Refused = errtext.Of(err)
	}
	return answer
}
