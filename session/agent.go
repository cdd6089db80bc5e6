package session

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/agentworker/worker/model"
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
	accept    func(answer string) (string, error) // nil means any answer
	checks    []Check
	maxSteps  int
	timeLimit time.Duration
	window    int64 // of the model, in tokens; 0 means not asked for yet, below 0 that it is not known

	mu    sync.Mutex
	model model.Model // of a caller: what it brings along; nil means nothing
	next  *successor  // the agent after the step that runs; nil means the same
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
	spec := &s.spec
	a.model, a.system, a.params, a.accept, a.checks = s.model, spec.System, spec.Params, spec.Accept, spec.Checks
	a.maxSteps, a.window = step+max(1, spec.MaxSteps), 0
	if !spec.WholeTime {
		a.timeLimit = spec.TimeLimit
	}
	return s, newModel
}

// successor is the agent that a session becomes after the step that runs.
type successor struct {
	spec  Spec
	model model.Model
}
