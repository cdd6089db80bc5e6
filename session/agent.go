package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/eventbus/event"
	"github.com/agentworker/worker/internal/hookconfig"
	"github.com/agentworker/worker/internal/termtext"
	"github.com/agentworker/worker/model"
	"github.com/agentworker/worker/permission"
	"github.com/agentworker/worker/session/conversation"
	"github.com/agentworker/worker/session/models"
	"github.com/agentworker/worker/session/toolset"
)

// Params say how an agent's model is to answer.
type Params = model.Params

// Model is what answers a session.
type Model = model.Model

// agent is how a session works: its model, prompt and limits. It changes between two steps
// only, when the session becomes its successor. Lock mu guards what others read meanwhile.
type agent struct {
	system    string
	params    Params
	accept    func(answer string) (string, error)   // nil means any answer
	about     func(path string) []conversation.Note // as in [Spec]
	checks    []Check
	maxSteps  int
	timeLimit time.Duration
	replaced  bool  // the default has taken the place of a model that its provider does not know
	window    int64 // of the model, in tokens; 0 means not asked for yet, below 0 that it is not known

	mu    sync.Mutex
	model model.Model // of a caller: what it brings along; nil means nothing
	rest  []string    // names of models that answer once the model has failed, the best first
	next  *successor  // the agent after the step that runs; nil means the same
}

// inherit returns what a child has of the agent's model.
func (a *agent) inherit() models.Inherited {
	a.mu.Lock()
	defer a.mu.Unlock()
	return models.Inherited{Model: a.model, Rest: a.rest}
}

// current returns the agent's model.
func (a *agent) current() model.Model {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.model
}

// UnacceptedError says that a turn ended with an answer that [Spec.Accept] refused.
type UnacceptedError struct {
	Answer string // the last one, as the model gave it
	Err    error  // of Accept
}

func (e *UnacceptedError) Error() string { return e.Err.Error() }
func (e *UnacceptedError) Unwrap() error { return e.Err }

// result returns the result of a turn from the model's last message.
func (a *agent) result(text string, stop model.StopReason) (string, error) {
	switch {
	case stop == model.StopRefusal:
		return "", fmt.Errorf("the model refused to answer: %s", strings.TrimSpace(text))
	case a.accept != nil && stop == model.StopMaxTokens:
		return "", &UnacceptedError{Answer: text, Err: errors.New("it was cut off at the model's output limit")}
	case a.accept != nil:
		result, err := a.accept(text)
		if err != nil {
			return "", &UnacceptedError{Answer: text, Err: err}
		}
		return result, nil
	case strings.TrimSpace(text) == "":
		return "", errors.New("the agent ended without an answer")
	case stop == model.StopMaxTokens:
		return text + "\n\n[The answer was cut off here: it reached the model's output limit.]", nil
	default:
		return text, nil
	}
}

// room returns the tokens of the model's context window; 0 means that it is not known.
func (a *agent) room(window func(model string) int64) int64 {
	if window == nil {
		return 0
	}
	if a.window == 0 {
		a.window = cmp.Or(window(a.model.Name()), -1)
	}
	return max(0, a.window)
}

// become makes the agent its successor after a step. It reports whether it has one, and
// whether that one has another model.
func (a *agent) become(step int) (s *successor, newModel bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, a.next = a.next, nil
	if s == nil {
		return nil, false
	}
	newModel = a.model.Name() != s.model.Name()
	a.model, a.system, a.params, a.accept, a.checks, a.about = s.model, s.system, s.params, s.accept, s.checks, s.about
	a.maxSteps, a.window, a.rest, a.replaced = step+max(1, s.maxSteps), 0, s.rest, false
	if !s.wholeTime {
		a.timeLimit = s.timeLimit
	}
	return s, newModel
}

// successor is the agent that a session becomes after the step that runs. Its fields are as in
// [agent] and [Spec].
type successor struct {
	system    string
	model     model.Model
	rest      []string // as in [agent]
	params    Params
	accept    func(answer string) (string, error)
	checks    []Check
	about     func(path string) []conversation.Note
	rules     *permission.Ruleset
	hooks     []*hookconfig.Hook
	tools     *toolset.Set
	maxSteps  int
	timeLimit time.Duration
	wholeTime bool
}

// Check is what has to hold for an answer to be accepted. The session makes it, not its model.
type Check struct {
	// Path must exist: a file or folder, slash-separated and relative to the session's
	// paths. The check fails for a path that the session may not read.
	Path string

	// Command must end with status 0, if Path is empty. The session calls shell_exec itself:
	// the same rules, questions and sandbox hold as for calls of the model.
	Command string

	// Timeout bounds the command; 0 means as shell_exec does.
	Timeout time.Duration
}

// maxCheckOutput bounds what is kept of the end of a check's output, in bytes.
const maxCheckOutput = 4 << 10

// ChecksError says that a turn ended with an answer whose checks failed.
type ChecksError struct {
	Failed []event.Check
	Of     int // how many there are
}

func (e *ChecksError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %s failed:", len(e.Failed), termtext.Plural(e.Of, "check"))
	for _, c := range e.Failed {
		what := "path " + termtext.OneLine(c.Path, termtext.MaxLabel)
		if c.Path == "" {
			what = "command " + termtext.OneLine(c.Command, termtext.MaxLabel)
		}
		fmt.Fprintf(&b, "\n- %s: %s", what, c.Output)
	}
	return b.String()
}

// Helper is an agent that does small work for others in one call of a model, without tools.
type Helper struct {
	System string
	Model  string // empty means that of the session for which it works
	Params Params
}

// Router picks the model of a session that names none. It is safe for concurrent use.
type Router interface {
	// Pick returns the name of the model for an agent's task. ask has a helper answer a
	// prompt, which counts as a model call of the session. After an error the session keeps
	// the model that it has.
	Pick(ctx context.Context, agent, task string, ask func(ctx context.Context, h *Helper, prompt string) (string, error)) (name string, err error)
}
