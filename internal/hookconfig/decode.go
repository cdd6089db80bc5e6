package hookconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"
)

// maxHooks bounds the hooks of a file.
const maxHooks = 200

// eventOf returns the event of a key, and whose dialect it is.
func eventOf(key string) (Event, Dialect, bool) {
	for _, e := range Events {
		switch key {
		case string(e):
			return e, Claude, true
		case strings.ToLower(string(e[:1])) + string(e[1:]):
			return e, Copilot, true
		}
	}
	return "", "", false
}

// Parse reads the value of "hooks": an object of events, each with a list of matchers with
// hooks, or of hooks. Events that do not happen here are left out.
func Parse(raw json.RawMessage) ([]*Hook, error) {
	var events map[string]json.RawMessage
	if err := json.Unmarshal(raw, &events); err != nil {
		return nil, errors.New("hooks: write an object with a list for each event")
	}
	var hooks []*Hook
	for _, key := range slices.Sorted(maps.Keys(events)) {
		event, dialect, known := eventOf(key)
		if !known {
			continue
		}
		var groups []json.RawMessage
		if err := json.Unmarshal(events[key], &groups); err != nil {
			return nil, fmt.Errorf("hooks.%s: write a list", key)
		}
		for i, group := range groups {
			made, err := parseGroup(group)
			if err != nil {
				return nil, fmt.Errorf("hooks.%s[%d]: %w", key, i, err)
			}
			for _, h := range made {
				h.Event, h.Dialect = event, dialect
				h.compile()
			}
			if hooks = append(hooks, made...); len(hooks) > maxHooks {
				return nil, fmt.Errorf("there are more than %d hooks", maxHooks)
			}
		}
	}
	return hooks, nil
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
		if err := checkURL(h.URL); err != nil {
			h.Wrong = err.Error()
		}
	default:
		h.Wrong = "hooks of the type " + h.Type + " do not run here"
	}
	return h, nil
}

// checkURL returns why a URL is not called.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "":
		return fmt.Errorf("the URL %q names no host", text)
	case u.User != nil:
		return errors.New("its URL has a password: give it in a header, by the name of a variable")
	case u.Scheme == "https":
		return nil
	}
	ip := net.ParseIP(u.Hostname())
	if u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()) {
		return nil
	}
	return fmt.Errorf("the URL %q is neither https nor of this machine", text)
}
