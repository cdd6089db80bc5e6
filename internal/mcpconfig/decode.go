package mcpconfig

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// entry is a server as files of all forms have it. What one of them calls otherwise is in a
// field of its own.
type entry struct {
	Type      string          `json:"type"`
	Transport string          `json:"transport"`
	Command   json.RawMessage `json:"command"` // a text, or the whole command line as a list
	Args      []any           `json:"args"`    // texts, numbers or booleans
	Env       map[string]any  `json:"env"`
	EnvFile   string          `json:"envFile"`
	Cwd       string          `json:"cwd"`

	Environment map[string]any `json:"environment"` // opencode
	EnvVars     []any          `json:"env_vars"`    // Codex: names, or {name, source}

	URL       string `json:"url"`
	HTTPURL   string `json:"httpUrl"`   // Gemini: streamable HTTP, where url is SSE
	ServerURL string `json:"serverUrl"` // Windsurf, Antigravity

	Headers        map[string]any    `json:"headers"`
	HTTPHeaders    map[string]any    `json:"http_headers"`     // Codex
	EnvHTTPHeaders map[string]string `json:"env_http_headers"` // Codex: the names of variables
	BearerVariable string            `json:"bearer_token_env_var"`
	HeadersHelper  string            `json:"headersHelper"`

	Timeout        float64 `json:"timeout"`          // in milliseconds, or the form's unit
	ToolTimeoutSec float64 `json:"tool_timeout_sec"` // Codex

	Tools         any      `json:"tools"` // ["*"], names, or objects with names
	IncludeTools  []string `json:"includeTools"`
	EnabledTools  []string `json:"enabled_tools"`
	ExcludeTools  []string `json:"excludeTools"`
	DisabledTools []string `json:"disabled_tools"`

	Enabled  *bool `json:"enabled"`
	Disabled bool  `json:"disabled"`
}

// serverName is what a server may be called.
var serverName = regexp.MustCompile(`^[\p{L}\p{N}_.@/ -]{1,64}$`)

// variableName is the name of a variable of the environment.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// maxTexts bounds the arguments, variables and headers of a server.
const maxTexts = 200

// decode reads one server. remote is what a URL without a type is.
func decode(name string, raw json.RawMessage, f *Form) (*Server, error) {
	if !serverName.MatchString(name) {
		return nil, fmt.Errorf("%.70q can't be the name of a server", name)
	}
	var e entry
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, fmt.Errorf("the MCP server %s can't be read: %w", name, plain(err))
	}
	s := &Server{Name: name, Cwd: e.Cwd, HeadersHelper: e.HeadersHelper, Off: e.Disabled || e.Enabled != nil && !*e.Enabled}
	if err := s.command(&e); err != nil {
		return nil, fmt.Errorf("the MCP server %s: %w", name, err)
	}
	s.tools(&e)
	s.Timeout = max(time.Duration(e.Timeout*float64(f.unit())), time.Duration(e.ToolTimeoutSec*float64(time.Second)))
	if s.Timeout < time.Second {
		s.Timeout = 0
	}
	if err := s.reached(&e, f); err != nil {
		return nil, fmt.Errorf("the MCP server %s: %w", name, err)
	}
	if len(s.Args)+len(s.Env)+len(s.Headers) > maxTexts {
		return nil, fmt.Errorf("the MCP server %s has more than %d arguments, variables and headers", name, maxTexts)
	}
	_ = s.walk(func(text string) (string, error) { return f.Syntax.rewrite(text), nil })
	return s, nil
}

// command sets what a program is started with.
func (s *Server) command(e *entry) error {
	if len(e.Command) > 0 && json.Unmarshal(e.Command, &s.Command) != nil {
		var line []string
		if err := json.Unmarshal(e.Command, &line); err != nil || len(line) == 0 {
			return errors.New("command is neither a text nor a list of texts")
		}
		s.Command, s.Args = line[0], line[1:]
	}
	for _, arg := range e.Args {
		text, ok := textOf(arg)
		if !ok {
			return errors.New("args has what is no text")
		}
		s.Args = append(s.Args, text)
	}
	if e.EnvFile != "" {
		return errors.New("envFile is not read: name the variables in env, as ${NAME}")
	}
	var err error
	if s.Env, err = texts(e.Env, e.Environment); err != nil {
		return fmt.Errorf("env: %w", err)
	}
	for _, v := range e.EnvVars {
		if o, ok := v.(map[string]any); ok {
			v = o["name"]
		}
		if name, ok := v.(string); ok {
			s.set(&s.Env, name, "${"+name+"}")
		}
	}
	for name, text := range s.Env {
		if !variableName.MatchString(name) || strings.ContainsRune(text, 0) {
			return fmt.Errorf("env: %q can't be a variable", name)
		}
	}
	if strings.ContainsRune(s.Command+strings.Join(s.Args, ""), 0) {
		return errors.New("the command has a NUL character in it")
	}
	return nil
}

// reached sets the transport, and what a remote server is called with.
func (s *Server) reached(e *entry, f *Form) (err error) {
	if s.Headers, err = texts(e.Headers, e.HTTPHeaders); err != nil {
		return fmt.Errorf("headers: %w", err)
	}
	for header, name := range e.EnvHTTPHeaders {
		s.set(&s.Headers, header, "${"+name+"}")
	}
	if e.BearerVariable != "" {
		s.set(&s.Headers, "Authorization", "Bearer ${"+e.BearerVariable+"}")
	}
	for name, text := range s.Headers {
		if name == "" || strings.ContainsAny(name+text, "\r\n\x00") || strings.ContainsAny(name, " :\t") {
			return fmt.Errorf("headers: %q can't be a header", name)
		}
	}
	switch {
	case e.HTTPURL != "":
		s.URL, s.Transport = e.HTTPURL, HTTP
	case e.URL != "":
		s.URL, s.Transport = e.URL, f.remote()
	case e.ServerURL != "":
		s.URL, s.Transport = e.ServerURL, HTTP
	}
	switch kind := strings.ToLower(e.Type + e.Transport); kind {
	case "stdio", "local":
		s.Transport = Stdio
	case "http", "streamable-http", "streamable_http", "streamablehttp", "remote":
		s.Transport = HTTP
	case "sse":
		s.Transport = SSE
	case "":
		if s.URL == "" {
			s.Transport = Stdio
		}
	default:
		return fmt.Errorf("the type %.40q is none of stdio, http and sse", kind)
	}
	switch {
	case s.Transport == Stdio && (s.Command == "" || s.URL != ""):
		return errors.New("a server of the type stdio has a command, and no url")
	case s.Transport == Stdio:
		return nil
	case s.Command != "" || len(s.Args)+len(s.Env) > 0:
		return errors.New("a server with a url has no command, args or env")
	case strings.Contains(s.URL, "$") || strings.Contains(s.URL, "{"):
		return nil // what it is, its variables say
	}
	return CheckURL(s.URL)
}

// CheckURL returns what is wrong with the URL of a server: it is https, or http on this machine.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("%.200q is no http or https URL", text)
	case u.User != nil:
		return errors.New("the URL has a name or password in it: use headers, with ${NAME}")
	case u.Scheme == "http" && !slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname()):
		return fmt.Errorf("%.200q is http: a server on another machine is called by https", text)
	}
	return nil
}

// tools sets which tools are offered.
func (s *Server) tools(e *entry) {
	s.Only = slices.Concat(e.IncludeTools, e.EnabledTools)
	s.Not = slices.Concat(e.ExcludeTools, e.DisabledTools)
	list, _ := e.Tools.([]any)
	for _, item := range list {
		switch item := item.(type) {
		case string:
			if item == "*" {
				s.Only = nil
				return
			}
			s.Only = append(s.Only, item)
		case map[string]any: // {name, permission_policy}: what it denies is not offered
			if name, ok := item["name"].(string); ok && item["permission_policy"] == "always_deny" {
				s.Not = append(s.Not, name)
			}
		}
	}
}

func (s *Server) set(in *map[string]string, name, text string) {
	if *in == nil {
		*in = map[string]string{}
	}
	(*in)[name] = text
}

// texts returns the values of objects, whose numbers and booleans are texts, too.
func texts(objects ...map[string]any) (map[string]string, error) {
	var all map[string]string
	for _, o := range objects {
		for _, name := range slices.Sorted(maps.Keys(o)) {
			if all == nil {
				all = make(map[string]string)
			}
			text, ok := textOf(o[name])
			if !ok {
				return nil, fmt.Errorf("%s is no text", name)
			}
			all[name] = text
		}
	}
	return all, nil
}

// textOf returns a text, or a number or boolean as one.
func textOf(value any) (text string, ok bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// plain is an error of package json in fewer words.
func plain(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Errorf("%s has a value of another kind", wrong.Field)
	}
	return err
}
