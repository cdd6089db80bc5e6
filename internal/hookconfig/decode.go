package hookconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentworker/worker/internal/hostport"
)

// maxHooks bounds the hooks of a file.
const maxHooks = 200

// Parse reads the value of "hooks": an object of events, each with a list of matchers with
// hooks, or of hooks. Events that do not happen here are left out.
func Parse(raw json.RawMessage) ([]*Hook, error) {
	if bytes.Equal(bytes.TrimSpace(raw), []byte("null")) {
		return nil, nil
	}
	var all list
	in := json.NewDecoder(bytes.NewReader(raw))
	if open, err := in.Token(); err != nil || open != json.Delim('{') {
		return nil, errShape
	}
	for in.More() { // in the order of the file, as lines are
		key, err := in.Token()
		if err != nil {
			return nil, errShape
		}
		var groups json.RawMessage
		if err := in.Decode(&groups); err != nil {
			return nil, errShape
		}
		if err := all.add(fmt.Sprint(key), groups); err != nil {
			return nil, err
		}
	}
	return all, nil
}

var errShape = errors.New("hooks: write an object with a list for each event")

// list is the hooks of a file.
type list []*Hook

// add adds the hooks of an event.
func (l *list) add(key string, raw json.RawMessage) error {
	event, dialect, known := eventOf(key)
	if !known {
		return nil
	}
	var groups []json.RawMessage
	if err := json.Unmarshal(raw, &groups); err != nil {
		return fmt.Errorf("hooks.%s: write a list", key)
	}
	for i, group := range groups {
		made, err := parseGroup(group)
		if err != nil {
			return fmt.Errorf("hooks.%s[%d]: %w", key, i, err)
		}
		for _, h := range made {
			h.Event, h.Dialect = event, dialect
			h.compile()
		}
		if *l = append(*l, made...); len(*l) > maxHooks {
			return fmt.Errorf("there are more than %d hooks", maxHooks)
		}
	}
	return nil
}

// handler is a hook as files have it, in all dialects.
type handler struct {
	Type           string            `json:"type"`
	Command        string            `json:"command"`
	Bash           string            `json:"bash"`
	Exec           string            `json:"exec"`
	Args           []string          `json:"args"`
	Cwd            string            `json:"cwd"`
	Env            map[string]string `json:"env"`
	URL            string            `json:"url"`
	Headers        map[string]string `json:"headers"`
	AllowedEnvVars []string          `json:"allowedEnvVars"`
	Timeout        *float64          `json:"timeout"`
	TimeoutSec     *float64          `json:"timeoutSec"`
	If             string            `json:"if"`
	Async          bool              `json:"async"`
	OnFailure      string            `json:"onFailure"`
	Matcher        string            `json:"matcher"`
}

// parseGroup reads a matcher with hooks, or a hook.
func parseGroup(raw json.RawMessage) ([]*Hook, error) {
	var group struct {
		Matcher string            `json:"matcher"`
		Hooks   []json.RawMessage `json:"hooks"`
	}
	if err := json.Unmarshal(raw, &group); err != nil {
		return nil, errors.New("want {matcher, hooks: [...]}")
	}
	if group.Hooks == nil {
		group.Hooks = []json.RawMessage{raw}
	}
	var hooks []*Hook
	for _, raw := range group.Hooks {
		var in handler
		if err := json.Unmarshal(raw, &in); err != nil {
			return nil, fmt.Errorf("a hook can't be read: %w", err)
		}
		h, err := in.hook()
		if err != nil {
			return nil, err
		}
		if h.Matcher == "" {
			h.Matcher = group.Matcher
		}
		hooks = append(hooks, h)
	}
	return hooks, nil
}

// maxTimeout bounds the time of a hook.
const maxTimeout = time.Hour

func (in *handler) hook() (*Hook, error) {
	h := &Hook{
		Type: in.Type, Command: in.Command, Args: in.Args, Env: in.Env, Cwd: in.Cwd, URL: in.URL, Headers: in.Headers, EnvVars: in.AllowedEnvVars,
		If: in.If, Async: in.Async, OnFailure: in.OnFailure, Matcher: in.Matcher, Exec: in.Args != nil,
	}
	if h.Command == "" {
		h.Command = in.Bash
	}
	if in.Exec != "" {
		h.Command, h.Exec = in.Exec, true
	}
	if h.Type == "" {
		h.Type = Command
	}
	for _, seconds := range []*float64{in.Timeout, in.TimeoutSec} {
		if seconds == nil {
			continue
		}
		if !(*seconds > 0) || *seconds > maxTimeout.Seconds() {
			return nil, fmt.Errorf("a timeout of %v seconds is not within 0 and %v", *seconds, maxTimeout.Seconds())
		}
		h.Timeout = time.Duration(*seconds * float64(time.Second))
	}
	switch h.OnFailure {
	case "", "block", "continue":
	case "deny":
		h.OnFailure = "block"
	default:
		return nil, fmt.Errorf("onFailure is %q: write block or continue", h.OnFailure)
	}
	switch h.Type {
	case Command:
		if h.Command == "" {
			h.Wrong = "it has no command for this system"
		}
	case HTTP:
		if err := hostport.CheckURL(h.URL); err != nil {
			h.Wrong = err.Error()
		}
	default:
		h.Wrong = "hooks of the type " + h.Type + " do not run here"
	}
	return h, nil
}
