package taskt

import (
	"cmp"
	"log/slog"
	"slices"
	"sync"

	"github.com/agentworker/worker/agentdefs/instructions"
	"github.com/agentworker/worker/internal/toolcatalog"
	"github.com/agentworker/worker/session/outcome"
	"github.com/agentworker/worker/session/toolset"
	"github.com/agentworker/worker/taskt/control"
	"github.com/agentworker/worker/taskt/memory"
	"github.com/agentworker/worker/taskt/offer"
	"github.com/agentworker/worker/taskt/slots"
	"github.com/agentworker/worker/taskt/workdir"
	"github.com/agentworker/worker/tool"
)

// New returns a service. It fails if a limit is out of its range.
func New(opts Options) (*Service, error) {
	if err := opts.Limits.Check(); err != nil {
		return nil, err
	}
	log := opts.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	limits, sessions := opts.Limits.withDefaults(), opts.Sessions.Store()
	s := &Service{
		sessions: opts.Sessions,
		control:  control.New(sessions),
		agents:   opts.Agents,
		offers:   offer.NewSource(opts.Agents.Snapshot),
		budgets:  &budgets{sessions, opts.Agents, opts.Budget, opts.Above, opts.Prices},
		limits:   limits,
		router:   opts.Router,
		slots:    slots.New(limits.Depth, limits.Running, limits.PerParent),
		log:      log,
	}
	s.plans = &planner{
		agents: opts.Agents, root: opts.Root, files: workdir.FilesOf(opts.Root, opts.LocalStore, opts.SharedFiles), shell: opts.Shell, text: cmp.Or(opts.Instructions, instructions.NewReader(opts.Root, &instructions.Options{Logger: log})), rules: opts.Rules, limits: limits, log: log,
		models: opts.AgentModels, efforts: opts.AgentEfforts,
		tools: slices.Clone(opts.Tools), servers: opts.Servers, in: opts.In, withTask: s.withTask, subagent: s.forSkill, planExit: s.planExit,
		skills: opts.Skills, sessions: opts.Sessions,
	}
	s.places = workdir.NewPlaces(s.plans.home, opts.Isolate)
	if opts.Memory != "" {
		s.plans.memory = memory.New(opts.Memory, opts.Logger)
	}
	s.forHosts = sync.OnceValues(func() (*toolset.Set, error) { return toolset.New(s.withTask(s.plans.tools, offer.Host)...) })
	return s, nil
}

// withTask returns tools, and those by which a caller makes subagents and works with them.
func (s *Service) withTask(tools []tool.Tool, by offer.Caller) []tool.Tool {
	return slices.Concat(tools, []tool.Tool{&taskTool{s, by}, &agentsTool{s, by}}, s.sessions.Notes(), s.control.Tools(toolcatalog.Task, control.Hooks{
		Offered: func() bool { return len(s.offers.Current().Of(by).Agents) > 0 },
		Told:    s.noteKnown,
		Resume:  s.resumeFor(by),
	}))
}

// noteKnown notes that a session knows of the ends of children by the result of a call.
func (s *Service) noteKnown(made *tool.Call, children []string) {
	parent, ok := s.sessions.Live(made.SessionID)
	if !ok {
		return
	}
	ids := make([]string, len(children))
	for i, id := range children {
		ids[i] = outcome.NoticeID(id)
	}
	parent.Knows(made.ID, ids...)
}
