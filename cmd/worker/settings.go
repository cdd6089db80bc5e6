package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"github.com/tailscale/hujson"

	"github.com/agentworker/worker/agentdefs"
	"github.com/agentworker/worker/eventbus"
	"github.com/agentworker/worker/internal/errtext"
	"github.com/agentworker/worker/internal/workspace"
)

// settings are the flags that all commands share. Each has an environment
// variable (--state-dir: WORKER_STATE_DIR) and a key in the config file
// (stateDir). A flag beats the environment, which beats the file.
type settings struct {
	dir       string
	workspace string
	stateDir  string
	model     string

	modelAliases modelAliases
	agentsDirs   folders
	agentsFrom   sources

	anthropic, openai provider

	nats     string
	access   eventbus.Access // to nats
	replicas int             // there
	logLevel slog.Level
	maxDepth int
	timeout  time.Duration

	modelTimeout time.Duration

	// approvalTimeout is how long a call waits for approval. 0: the default
	// where somebody may answer, and no waiting where nobody is.
	approvalTimeout time.Duration

	retention
	mcp mcpSettings
}

func (s *settings) register(flags *pflag.FlagSet) {
	s.logLevel = slog.LevelError
	flags.StringVar(&s.dir, "dir", "", "start in this folder; the workspace is its git top level, else the folder (default: the current folder)")
	flags.StringVar(&s.workspace, "workspace", "", "name of the workspace (default: the folder's name and a hash of its path)")
	flags.StringVar(&s.stateDir, "state-dir", "", "folder for sessions, events and permissions.jsonc (default: $XDG_STATE_HOME/agentworker/<workspace>)")
	flags.StringVar(&s.model, "model", "", "offline, host (the MCP host's own), anthropic/NAME, openai/NAME, replay/FILE or an alias (default: by the API key that is set, else offline)")
	s.modelAliases = modelAliases{}
	flags.Var(s.modelAliases, "model-alias", "a name for a model, as agent files may use it; can be given more than once")
	flags.Var(&s.agentsDirs, "agents-dir", "a further folder of agent files, read after the workspace's; can be given more than once")
	flags.Var(&s.agentsFrom, "agents-from", "tools whose folders of agent files are read too, with commas between, or all ("+strings.Join(agentdefs.Sources(), ", ")+")")
	s.registerProviders(flags)
	flags.StringVar(&s.nats, "nats", "", "URL of a NATS server with JetStream, several with commas between (default: a server within this process)")
	s.registerAccess(flags)
	flags.TextVar(&s.logLevel, "log-level", s.logLevel, "debug, info, warn or error")
	flags.IntVar(&s.maxDepth, "max-depth", 1, "how deep agents may call agents, 1 to 5; 1: subagents call none")
	flags.DurationVar(&s.timeout, "timeout", 5*time.Minute, "how long a subagent may run, 1s to 24h")
	flags.DurationVar(&s.modelTimeout, "model-timeout", 2*time.Minute, "how long one model call may take, its tries and the waits between them included, 1s to 30m")
	s.retention.register(flags)
	s.mcp.register(flags)
	flags.DurationVar(&s.approvalTimeout, "approval-timeout", 0, "how long a tool call waits for approval, 1s to 24h (default: 10m; without a terminal, 'task' and 'run' refuse it at once)")
}

// names are the settings' flags.
var settingNames = []string{"dir", "workspace", "state-dir", "model", "model-alias", "agents-dir", "agents-from", "anthropic-api-key-file", "anthropic-api-key-command", "anthropic-base-url", "openai-api-key-file", "openai-api-key-command", "openai-base-url", "nats", "nats-creds", "nats-nkey", "nats-token-file", "nats-tls-ca", "nats-tls-cert", "nats-tls-key", "replicas", "log-level", "max-depth", "timeout", "model-timeout", "approval-timeout", "archive-after", "retain-age", "retain-size", "mcp-call-limit", "mcp-result-limit", "mcp-read-only", "mcp-cancel-grace"}

// resolve fills in, from the environment and the config file, what no flag has set.
func (s *settings) resolve(flags *pflag.FlagSet, getenv func(string) string) error {
	file, path, err := readConfig(getenv)
	if err != nil {
		return usageError{err}
	}
	for _, name := range settingNames {
		flag := flags.Lookup(name)
		if flag == nil {
			continue
		}
		_, adds := flag.Value.(modelAliases) // to those of a flag, and these to those of the file
		byFlag, byEnv := s.given(name, flags, getenv)
		env := variable(name)
		if text := getenv(env); text != "" && (adds || !byFlag) {
			if err := setEnv(flag.Value, text); err != nil {
				return usageError{fmt.Errorf("%s: %q: %w", env, text, err)}
			}
		}
		if value, ok := file[configKey(name)]; ok && (adds || !byFlag && !byEnv) {
			if err := setConfig(flag.Value, value, filepath.Dir(path)); err != nil {
				return usageError{fmt.Errorf("%s: %s: %s: %w", path, configKey(name), value, err)}
			}
		}
	}
	if err := s.modelAliases.check(); err != nil {
		return usageError{err}
	}
	if err := s.checkProviders(); err != nil {
		return usageError{err}
	}
	if err := s.checkAccess(); err != nil {
		return usageError{err}
	}
	if err := s.retention.check(); err != nil {
		return usageError{err}
	}
	if err := s.mcp.check(); err != nil {
		return usageError{err}
	}
	switch {
	case s.timeout < time.Second || s.timeout > 24*time.Hour:
		return usageError{fmt.Errorf("timeout %s is not within 1s and 24h", errtext.Duration(s.timeout))}
	case s.modelTimeout < time.Second || s.modelTimeout > 30*time.Minute:
		return usageError{fmt.Errorf("model-timeout %s is not within 1s and 30m", errtext.Duration(s.modelTimeout))}
	case s.approvalTimeout != 0 && (s.approvalTimeout < time.Second || s.approvalTimeout > 24*time.Hour):
		return usageError{fmt.Errorf("approval-timeout %s is not within 1s and 24h", errtext.Duration(s.approvalTimeout))}
	case s.maxDepth < 1 || s.maxDepth > 5:
		return usageError{fmt.Errorf("max-depth %d is not within 1 and 5", s.maxDepth)}
	}
	return nil
}

// given reports whether a setting, or one in its place, is on the command line,
// and whether it is in the environment.
func (s *settings) given(name string, flags *pflag.FlagSet, getenv func(string) string) (byFlag, byEnv bool) {
	rivals, own := s.rivals(name)
	for _, rival := range rivals {
		flag := flags.Lookup(rival)
		byFlag = byFlag || flag != nil && flag.Changed
		byEnv = byEnv || getenv(variable(rival)) != ""
	}
	return byFlag, byEnv || own != "" && getenv(own) != ""
}

// variable returns a flag's variable: state-dir is WORKER_STATE_DIR.
func variable(flag string) string {
	return "WORKER_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// setEnv sets a flag to what its environment variable says.
func setEnv(flag pflag.Value, text string) error {
	if own, ok := flag.(interface{ setEnv(list string) error }); ok {
		return own.setEnv(text)
	}
	return flag.Set(text)
}

// setConfig sets a flag to what the config file, in dir, says: a text, which may
// be empty for the default, or a number.
func setConfig(flag pflag.Value, value json.RawMessage, dir string) error {
	type listed interface {
		setConfig(value json.RawMessage, dir string) error
	}
	if own, ok := flag.(listed); ok {
		return own.setConfig(value, dir)
	}
	var text string
	if json.Unmarshal(value, &text) != nil {
		text = string(value)
	}
	if text == "" {
		return nil
	}
	return flag.Set(text)
}

// configKey returns a flag's key in the config file: state-dir is stateDir.
func configKey(flag string) string {
	if flag == "model-alias" {
		return "modelAliases" // an object
	}
	parts := strings.Split(flag, "-")
	for i := range parts[1:] {
		parts[i+1] = strings.ToUpper(parts[i+1][:1]) + parts[i+1][1:]
	}
	return strings.Join(parts, "")
}

// readConfig reads the config file, JSON with comments, if there is one.
func readConfig(getenv func(string) string) (values map[string]json.RawMessage, path string, err error) {
	dir, err := workspace.ConfigDir(getenv)
	if err != nil {
		return nil, "", err
	}
	path = filepath.Join(dir, "config.jsonc")
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, path, nil
	}
	if err != nil {
		return nil, path, fmt.Errorf("reading the config file: %w", err)
	}
	plain, err := hujson.Standardize(data)
	if err != nil {
		return nil, path, fmt.Errorf("%s: %w", path, err)
	}
	if err := json.Unmarshal(plain, &values); err != nil {
		return nil, path, fmt.Errorf("%s: %w", path, err)
	}
	for key := range values {
		if !slices.ContainsFunc(settingNames, func(name string) bool { return configKey(name) == key }) {
			return nil, path, fmt.Errorf("%s: unknown key %q (known: %s)", path, key, strings.Join(configKeys(), ", "))
		}
	}
	return values, path, nil
}

func configKeys() []string {
	var keys []string
	for _, name := range settingNames {
		keys = append(keys, configKey(name))
	}
	return keys
}
